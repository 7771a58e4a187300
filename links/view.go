package links

import "sluice/amqp/transport"

// Dropped is the number of deliveries that the peer had settled and that found
// no destination. It may be called from anywhere.
func (r *Receiver) Dropped() uint64 { return r.dropped.Load() }

// Limits are the limits of the link's connection.
func (s *Sender) Limits() *Limits { return &s.limits }

// Pending is the number of messages that are bound to the link and not begun.
func (s *Sender) Pending() int32 { return s.Dest.Pending() }

// A Tally counts the deliveries of a link that are not settled.
type Tally struct {
	Deliveries int
	Old, Stuck int   // those that were sent, or have arrived, before the times in question
	Oldest     int64 // when the first of all was sent or has arrived, in UnixNano
	// Of is the address of that one, a Source or a Waiter; nil if it has none yet.
	// A link between routers has no other.
	Of any
}

// Tallies counts what is not settled on a session's links, and of it what was
// sent, or on links into the router has arrived, before each of two times in
// UnixNano. A link that is not in the map has nothing unsettled. One pass counts
// for all links.
func Tallies(s *transport.Session, old, stuck int64) map[transport.Link]Tally {
	var all map[transport.Link]Tally
	add := func(l transport.Link, at int64, of any) {
		if all == nil {
			all = make(map[transport.Link]Tally)
		}
		t := all[l]
		t.Deliveries++
		if at < old {
			t.Old++
		}
		if at < stuck {
			t.Stuck++
		}
		if t.Oldest == 0 || at < t.Oldest {
			t.Oldest, t.Of = at, of
		}
		all[l] = t
	}
	s.Unsettled(func(u transport.Unsettled) {
		switch u := u.(type) {
		case *Copy:
			add(u.to, u.sentAt, u.dest.source)
		case *Delivery:
			add(u.from, u.Arrived, u.Waiter)
		}
	})
	return all
}

// Priority is the priority of the messages that the link carries to another
// router; false if it carries those of any.
func (s *Sender) Priority() (int, bool) { return s.priority, s.router && !s.stream }
