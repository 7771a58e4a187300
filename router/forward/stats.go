package forward

import (
	"sync/atomic"

	"sluice/links"
)

// Stats count deliveries since the address came into being.
type Stats struct {
	Ingress     atomic.Uint64 // that have come in
	FromRouters atomic.Uint64 // of those, from other interior routers
	// Egress counts those that have left, or are bound to a destination. One that
	// comes back unsent is not counted any more. ToRouters are those of them that
	// go to other routers.
	Egress, ToRouters atomic.Uint64
	shown             atomic.Uint64

	DroppedNoDestination, DroppedExpired, DroppedSlow atomic.Uint64
	DroppedAstray                                     atomic.Uint64 // see Anonymous.Enter
	Redelivered                                       atomic.Uint64
	GateClosed                                        atomic.Uint64 // times that the high mark was reached

	// Of links that have left; those that are attached count themselves.
	Accepted, Rejected, Released, Modified, Presettled, TimedOut, Delayed, VeryDelayed atomic.Uint64
	DroppedPresettled                                                                  atomic.Uint64
}

// Add adds what an address has counted that is no more, so that totals never
// fall.
func (s *Stats) Add(o *Stats) {
	for _, c := range [...]struct{ to, from *atomic.Uint64 }{
		{&s.Ingress, &o.Ingress}, {&s.Egress, &o.Egress}, {&s.ToRouters, &o.ToRouters}, {&s.FromRouters, &o.FromRouters},
		{&s.DroppedNoDestination, &o.DroppedNoDestination}, {&s.DroppedExpired, &o.DroppedExpired},
		{&s.DroppedSlow, &o.DroppedSlow}, {&s.DroppedAstray, &o.DroppedAstray}, {&s.Redelivered, &o.Redelivered}, {&s.GateClosed, &o.GateClosed},
		{&s.Accepted, &o.Accepted}, {&s.Rejected, &o.Rejected}, {&s.Released, &o.Released},
		{&s.Modified, &o.Modified}, {&s.Presettled, &o.Presettled}, {&s.TimedOut, &o.TimedOut},
		{&s.Delayed, &o.Delayed}, {&s.VeryDelayed, &o.VeryDelayed}, {&s.DroppedPresettled, &o.DroppedPresettled},
	} {
		c.to.Add(c.from.Load())
	}
}

// bound counts n deliveries that are bound to d.
func (s *Stats) bound(d *links.Dest, n int) {
	s.Egress.Add(uint64(n))
	if d.Far() {
		s.ToRouters.Add(uint64(n))
	}
}

// Shown is Egress as something that never falls: the most that there has been at
// any call.
func (s *Stats) Shown() uint64 {
	for {
		now, before := s.Egress.Load(), s.shown.Load()
		if now <= before {
			return before
		}
		if s.shown.CompareAndSwap(before, now) {
			return now
		}
	}
}

// left keeps what a link has counted. It is called under the lock of its
// connection.
func (s *Stats) left(r *links.Receiver) {
	c := &r.Counters
	s.Accepted.Add(c.Accepted)
	s.Rejected.Add(c.Rejected)
	s.Released.Add(c.Released)
	s.Modified.Add(c.Modified)
	s.Presettled.Add(c.Presettled)
	s.Delayed.Add(c.Delayed)
	s.VeryDelayed.Add(c.VeryDelayed)
	s.DroppedPresettled.Add(r.Dropped())
}
