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
