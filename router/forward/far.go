package forward

import (
	"hash/fnv"

	"sluice/links"
)

// SetFar makes the receivers behind a next hop a destination of the address, or
// changes what it costs to reach them, whose messages may take that way, and at
// which routers they are, which it keeps. Each destination counts as a link of the
// address until DropFar.
func (a *Address) SetFar(hop *links.Hop, cost uint32, origins links.Origins, routers []string) (added bool) {
	a.mu.Lock()
	if s := a.farTo(hop); s != nil {
		s.Cost, s.Origins, s.Routers = cost, origins, routers
		a.settle(nil) // some may go now, others nowhere any more
		return false
	}
	h := fnv.New32a()
	h.Write([]byte(a.Key))
	s := links.NewFar(a, hop, h.Sum32())
	s.Cost, s.Origins, s.Routers = cost, origins, routers
	a.add(s, nil)
	a.match(nil)
	a.unlock(nil)
	return true
}

// DropFar ends a destination that SetFar has made. What is under way to it
// keeps its outcome.
func (a *Address) DropFar(hop *links.Hop) {
	a.mu.Lock()
	s := a.farTo(hop)
	a.mu.Unlock()
	if s != nil {
		s.Close()
	}
}

func (a *Address) farTo(hop *links.Hop) *links.Dest {
	for _, s := range a.dests {
		if s.Hop() == hop {
			return s
		}
	}
	return nil
}

// FarView is what management shows of a destination behind another router.
type FarView struct {
	Hop         string
	Routers     []string // that have the receivers; not to be changed
	Cost        uint32
	Pending     int32 // messages without an outcome
	Outstanding int64 // bytes of those
}

// Far returns the destinations behind other routers.
func (a *Address) Far() (views []FarView) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.dests {
		if s.Far() {
			views = append(views, FarView{s.Hop().ID, s.Routers, s.Cost, s.Pending(), s.Outgoing()})
		}
	}
	return views
}

// Near is the number of destinations that other routers may send to by this one.
func (a *Address) Near() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.near
}
