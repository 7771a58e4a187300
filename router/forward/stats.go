package forward

import (
	"sync/atomic"

	"sluice/links"
)

// Stats count deliveries since the address came into being.
type Stats struct {
	Ingress, Egress                                   atomic.Uint64
	FromRouters                                       atomic.Uint64 // of Ingress: from other interior routers
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
		{&s.Ingress, &o.Ingress}, {&s.Egress, &o.Egress}, {&s.FromRouters, &o.FromRouters},
		{&s.DroppedNoDestination, &o.DroppedNoDestination}, {&s.DroppedExpired, &o.DroppedExpired},
		{&s.DroppedSlow, &o.DroppedSlow}, {&s.DroppedAstray, &o.DroppedAstray}, {&s.Redelivered, &o.Redelivered}, {&s.GateClosed, &o.GateClosed},
		{&s.Accepted, &o.Accepted}, {&s.Rejected, &o.Rejected}, {&s.Released, &o.Released},
		{&s.Modified, &o.Modified}, {&s.Presettled, &o.Presettled}, {&s.TimedOut, &o.TimedOut},
		{&s.Delayed, &o.Delayed}, {&s.VeryDelayed, &o.VeryDelayed}, {&s.DroppedPresettled, &o.DroppedPresettled},
	} {
		c.to.Add(c.from.Load())
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
