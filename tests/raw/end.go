package raw

import "sluice/amqp/frames"

// End ends the session in order.
func (s *Session) End() error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.flushAccepts()
	s.leaving = true
	s.c.append(s.channel, &frames.End{})
	return s.c.wait(func() bool { return s.ended })
}
