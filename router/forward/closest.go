package forward

import "sluice/links"

// closest returns a destination with capacity among those of the lowest cost
// that is there. If none of them has capacity the delivery waits for one: it
// does not take a longer way. Equals take turns.
func (a *Address) closest(l *lane) *links.Dest {
	n := len(a.dests)
	cost := ^uint32(0)
	for _, s := range a.dests {
		if a.may(l, s) {
			cost = min(cost, s.Cost)
		}
	}
	for i := range n {
		j := a.turn + i
		if j >= n {
			j -= n
		}
		if s := a.dests[j]; s.Cost == cost && a.may(l, s) && capable(s) {
			if a.turn = j + 1; a.turn >= n {
				a.turn = 0
			}
			return s
		}
	}
	return nil
}
