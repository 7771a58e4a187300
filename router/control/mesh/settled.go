package mesh

// Unknown is the number of routers with a path of which something is still to be learnt: their link state, or their
// addresses, which count only once the router has confirmed them. It is 0 in a mesh that is at rest.
func (e *Engine) Unknown() (n int) {
	for _, r := range e.sorted {
		if r.reachable && (!r.hasLS || r.lsr.want || r.mar.want || !r.mobile.exposed) {
			n++
		}
	}
	return n
}
