package transport

import "sluice/amqp"

// Unsettled calls f for the outgoing deliveries of the session that are not
// settled.
func (s *Session) Unsettled(f func(Unsettled)) {
	s.sent.All(func(_ amqp.DeliveryNumber, u Unsettled) bool {
		f(u)
		return false
	})
}

// OldestSent is the outgoing delivery that has been unsettled for longest, nil if
// there is none.
func (s *Session) OldestSent() Unsettled { return s.sent.Oldest() }
