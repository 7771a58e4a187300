package forward

import "sluice/links"

// sides is what an address knows of where its destinations are, for links of
// edge connections. It is guarded by the lock of the address.
type sides struct {
	elsewhere int                      // destinations that are on no side
	on        map[*links.Side]int      // destinations of each side that has any; nil before the first
	tracked   map[*links.Receiver]bool // incoming links that want to know, and what they have been told
	needy     map[*links.Receiver]struct{}
	beyond    *links.Dest // to Hooks.Beyond; for messages for all, and not among the destinations
}

// reaches tells whether a message from side has a destination that is elsewhere.
func (s *sides) reaches(side *links.Side) bool {
	return s.elsewhere > 0 || len(s.on) > 1 || len(s.on) == 1 && s.on[side] == 0
}

// An extent is as much of sides as decides what links are told: nobody, those of
// one side only, or everybody reaches a destination.
type extent struct {
	sides int // up to 2
	only  *links.Side
}

func (s *sides) extent() extent {
	if s.elsewhere > 0 || len(s.on) > 1 {
		return extent{sides: 2}
	}
	for side := range s.on {
		return extent{1, side}
	}
	return extent{}
}

// join counts a destination that comes (n = 1) or goes (-1) where it is. Links
// are looked at only if that makes a difference to one of them.
func (a *Address) join(d *links.Dest, n int) {
	if d.Far() || d.Side != nil {
		a.picky += n
	}
	if d.Streams() {
		a.apart.Add(int32(n))
	}
	before := a.extent()
	if d.Side == nil {
		a.elsewhere += n
	} else {
		if a.on == nil {
			a.on = make(map[*links.Side]int)
		}
		if a.on[d.Side] += n; a.on[d.Side] == 0 {
			delete(a.on, d.Side)
		}
	}
	if len(a.tracked) == 0 || a.extent() == before {
		return
	}
	for r, told := range a.tracked {
		side := r.Limits().Side
		if has := a.reaches(side); has != told {
			a.tracked[r] = has
			side.Reach(r, has)
		}
	}
}

// feed counts a link that begins (n = 1) or ends (-1) to send to the address.
func (a *Address) feed(r *links.Receiver, n int) {
	l := r.Limits()
	if l.ByNeed {
		track(&a.needy, r, struct{}{}, n)
	}
	if l.Side != nil && l.Side.Reach != nil {
		has := a.reaches(l.Side)
		if track(&a.tracked, r, has, n); n > 0 {
			l.Side.Reach(r, has)
		}
	}
	if l.Private {
		return
	}
	before := a.fed
	a.fed += n
	if a.hooks.Fed != nil && (before == 0 || a.fed == 0) {
		a.hooks.Fed(a, a.fed > 0)
	}
}

// track puts r into a map that is made for the first, or takes it out.
func track[V any](m *map[*links.Receiver]V, r *links.Receiver, v V, n int) {
	switch {
	case n < 0:
		delete(*m, r)
	case *m == nil:
		*m = map[*links.Receiver]V{r: v}
	default:
		(*m)[r] = v
	}
}

// Fed is the number of links that send to the address and are not private.
func (a *Address) Fed() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fed
}

// Need implements links.Forwarder: the credit of the destinations that are not
// on side, without what waits for it already. A message for all does not use up
// what the receivers ask for, but waits for the slowest.
func (a *Address) Need(side *links.Side) int64 {
	if a.Distribution == Multicast {
		return 1 << 31
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := -int64(a.count)
	for _, d := range a.dests {
		if d.Side == side {
			continue
		}
		n += int64(max(d.Credit(), 0))
	}
	return n
}

// Holds implements links.Forwarder. If messages for all wait on either end of an
// edge connection for the other end, and neither grants credit because of that,
// they wait for ever. So the links of such a connection are bounded by their own
// capacity and bytes only: what they bring does not go back, and so waits for
// receivers that wait for nobody on that side.
func (a *Address) Holds(side *links.Side) bool {
	return side == nil || a.Distribution != Multicast
}

// withBeyond adds the rest of the network to those who get a message for all,
// unless a link of the address leads there already.
func (a *Address) withBeyond(targets []*links.Dest) []*links.Dest {
	side := a.hooks.Beyond.Side()
	if a.on[side] > 0 || !a.hooks.Beyond.Ready() {
		return targets
	}
	if a.beyond == nil {
		a.beyond = links.NewFar(a, a.hooks.Beyond, 0)
	}
	a.targets = append(append(a.targets[:0:0], targets...), a.beyond)
	return a.targets
}
