package forward

import "sluice/links"

// balanced returns the destination with capacity that has the least on its
// hands: deliveries without an outcome, plus the cost of the way there. Equals
// take turns.
func (a *Address) balanced(l *lane) *links.Dest {
	n := len(a.dests)
	if n == 1 {
		if s := a.dests[0]; a.may(l, s) && capable(s) {
			return s
		}
		return nil
	}
	var best *links.Dest
	var least uint32
	at := 0
	for i := range n {
		j := a.turn + i
		if j >= n {
			j -= n
		}
		s := a.dests[j]
		if !s.Far() && s.Credit() <= 0 || !a.may(l, s) {
			continue
		}
		load := s.Load() + s.Cost
		if best != nil && load >= least || s.Over() {
			continue
		}
		best, least, at = s, load, j
		if load == 0 {
			break
		}
	}
	if best != nil {
		if a.turn = at + 1; a.turn >= n {
			a.turn = 0
		}
	}
	return best
}
