package links

import (
	"sluice/amqp"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
)

// TimeOut resolves the deliveries that the receiver has had since before limit
// (UnixNano) and not settled: their senders get modified with delivery-failed,
// and their slots back. It returns how many there were. Where the receiver has
// said an outcome, and neither end has settled, both are told that it is.
func (s *Sender) TimeOut(limit int64) (n int) {
	s.Session().SentOn(s, func(u transport.Unsettled) bool {
		c := u.(*Copy)
		if !c.sent || c.over || c.sentAt > limit {
			return false
		}
		state := messaging.Modified(true, false, nil)
		if c.told != 0 {
			state = messaging.DeliveryState{}
		} else {
			n++
		}
		s.Session().Dispose(amqp.RoleSender, c.id, true, state)
		c.conclude(state)
		return true
	})
	s.Counters.TimedOut += uint64(n)
	return n
}

// Oldest returns when the oldest delivery that the receiver has not settled was
// sent, in UnixNano, 0 if there is none.
func (s *Sender) Oldest() (at int64) {
	s.Session().SentOn(s, func(u transport.Unsettled) bool {
		if c := u.(*Copy); at == 0 || c.sentAt < at {
			at = c.sentAt
		}
		return false
	})
	return at
}
