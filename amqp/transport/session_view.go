package transport

import "sluice/amqp"

// Unsettled calls f for the deliveries of the session that are not settled, in
// both directions.
func (s *Session) Unsettled(f func(Unsettled)) {
	each := func(_ amqp.DeliveryNumber, u Unsettled) bool {
		f(u)
		return false
	}
	s.sent.All(each)
	s.received.All(each)
}

// OldestSent is the outgoing delivery that has been unsettled for longest, nil if
// there is none.
func (s *Session) OldestSent() Unsettled { return s.sent.Oldest() }
