package links

import "sluice/amqp/transport"

// OldestSent returns when the delivery was sent that the receivers of a session
// have left unsettled for longest, in UnixNano; 0 if there is none.
func OldestSent(s *transport.Session) int64 {
	if c, ok := s.OldestSent().(*Copy); ok {
		return c.sentAt
	}
	return 0
}
