package links

import "sluice/amqp/transport"

// Dropped is the number of deliveries that the peer had settled and that found
// no destination. It may be called from anywhere.
func (r *Receiver) Dropped() uint64 { return r.dropped.Load() }

// Limits are the limits of the link's connection.
func (s *Sender) Limits() *Limits { return &s.limits }

// Pending is the number of messages that are bound to the link and not begun.
func (s *Sender) Pending() int32 { return s.Dest.Pending() }

// A Tally counts what the receiver of a link has not settled.
type Tally struct {
	Deliveries int
	Old        int   // those that were sent before the time in question
	Oldest     int64 // when the first of all was sent, in UnixNano
}

// Tallies counts what the receivers of a session's links have not settled; old
// is what was sent before a time in UnixNano. A link that is not in the map has
// nothing unsettled. One pass counts for all links.
func Tallies(s *transport.Session, before int64) map[*Sender]Tally {
	var all map[*Sender]Tally
	s.Unsettled(func(u transport.Unsettled) {
		c, ok := u.(*Copy)
		if !ok {
			return
		}
		if all == nil {
			all = make(map[*Sender]Tally)
		}
		t := all[c.to]
		t.Deliveries++
		if c.sentAt < before {
			t.Old++
		}
		if t.Oldest == 0 || c.sentAt < t.Oldest {
			t.Oldest = c.sentAt
		}
		all[c.to] = t
	})
	return all
}

// Priority is the priority of the messages that the link carries to another
// router; false if it carries those of any.
func (s *Sender) Priority() (int, bool) { return s.priority, s.router && !s.stream }
