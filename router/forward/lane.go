package forward

import (
	"slices"

	"sluice/links"
)

// A lane holds deliveries that wait and may go the same ways. Messages that
// entered the network here may go to every destination; those that another
// router has passed on only where the shortest paths from their first router
// lead (valid origins), so that none goes in circles; and those from an edge
// router not back to it.
type lane struct {
	origin  uint32                // of Delivery.Origin
	echo    *links.Side           // of Delivery.Echo
	waiting [10][]*links.Delivery // by priority
	count   int
}

// laneOf returns the lane of d.
func (a *Address) laneOf(d *links.Delivery) *lane {
	if d.Origin == 0 && d.Echo == nil {
		return &a.own
	}
	for _, l := range a.lanes {
		if l.origin == d.Origin && l.echo == d.Echo {
			return l
		}
	}
	l := &lane{origin: d.Origin, echo: d.Echo}
	a.lanes = append(a.lanes, l)
	return l
}

// sweepLanes forgets lanes in which nothing waits.
func (a *Address) sweepLanes() {
	if len(a.lanes) > 0 {
		a.lanes = slices.DeleteFunc(a.lanes, func(l *lane) bool { return l.count == 0 })
	}
}

// nowhere tells whether nothing in l can ever go to one of the destinations
// that are there.
func (a *Address) nowhere(l *lane) bool {
	return !slices.ContainsFunc(a.dests, func(s *links.Dest) bool { return a.may(l, s) })
}

// stranded takes out what waits and can go nowhere any more.
func (a *Address) stranded() (lost []*links.Delivery) {
	drain := func(l *lane) {
		if l.count == 0 || !a.nowhere(l) {
			return
		}
		for l.count > 0 {
			d := l.next()
			a.taken(d)
			lost = append(lost, d)
		}
	}
	drain(&a.own)
	for _, l := range a.lanes {
		drain(l)
	}
	a.sweepLanes()
	return lost
}

// may tells whether what is in the lane may go to s.
func (l *lane) may(s *links.Dest) bool {
	if s.Far() && l.origin != 0 && !s.Origins.Has(l.origin) {
		return false
	}
	return l.echo == nil || l.echo != s.Side
}

// ahead tells whether something waits that goes before a delivery of priority p.
func (l *lane) ahead(p uint8) bool {
	if l.count == 0 {
		return false
	}
	for q := len(l.waiting) - 1; q >= int(p); q-- {
		if len(l.waiting[q]) > 0 {
			return true
		}
	}
	return false
}

// next takes the delivery that has waited longest at the highest priority.
func (l *lane) next() *links.Delivery {
	for q := len(l.waiting) - 1; q >= 0; q-- {
		if w := l.waiting[q]; len(w) > 0 {
			d := w[0]
			w[0] = nil
			if l.waiting[q] = w[1:]; len(w) == 1 {
				l.waiting[q] = nil
			}
			l.count--
			return d
		}
	}
	return nil
}

func (l *lane) putLast(d *links.Delivery) {
	l.waiting[d.Priority] = append(l.waiting[d.Priority], d)
	l.count++
}

// putFirst puts what had been taken out before all others of priority p.
func (l *lane) putFirst(p uint8, back []*links.Delivery) {
	l.waiting[p] = slices.Insert(l.waiting[p], 0, back...)
	l.count += len(back)
}

// park copies what waits out of the memory that it was read into.
func (l *lane) park() {
	for _, w := range l.waiting {
		for i := len(w) - 1; i >= 0 && !w[i].Compact; i-- {
			w[i].Park()
		}
	}
}

// withdraw takes d out, which is among the last.
func (l *lane) withdraw(d *links.Delivery) bool {
	w := l.waiting[d.Priority]
	i := len(w) - 1
	for i >= 0 && w[i] != d {
		i--
	}
	if i < 0 {
		return false
	}
	l.waiting[d.Priority] = append(w[:i], w[i+1:]...)
	w[len(w)-1] = nil
	l.count--
	return true
}
