package forward

import (
	"sluice/amqp"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
)

// copyToAll makes a copy of d for every destination. The copy of one without
// credit waits in that destination's own backlog: the others go ahead, until
// the sender's credit, which counts a message until its last copy has left,
// makes it wait for the slowest. Bytes already shared cost nothing more, so the
// high mark does not keep a copy from its queue; it holds the sender instead.
func (a *Address) copyToAll(d *links.Delivery, by *transport.Conn) {
	late := false
	for _, s := range a.dests {
		if s.Dest.Credit() <= 0 || s.Slow() {
			late = true
			break
		}
	}
	if late {
		d.Park()
	}
	a.copies = d.BindAll(a.dests, by, a.copies[:0])
	a.spread.Add(1)
	a.spreadBytes.Add(d.Size())
	a.watermark(nil)
	for i, c := range a.copies {
		s := a.dests[i]
		if s.Dest.Credit() > 0 && len(s.Dest.Backlog) == 0 {
			a.hand(s, links.Item{C: c})
		} else {
			s.Dest.Backlog = append(s.Dest.Backlog, c)
			a.backlog++
		}
		a.copies[i] = nil
	}
}

// keepCopies puts copies that s has returned, because its credit was taken back,
// before those that wait in its backlog. It returns false if s has left.
func (a *Address) keepCopies(s *links.Sender, unsent []links.Item) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := s.Dest.Index; i >= len(a.dests) || a.dests[i] != s {
		return false
	}
	back := make([]*links.Copy, len(unsent), len(unsent)+len(s.Dest.Backlog))
	for i, it := range unsent {
		back[i] = it.C
		s.Reclaim(it.C)
	}
	s.Dest.Bound -= amqp.SequenceNo(len(unsent))
	s.Dest.Given -= uint32(len(unsent))
	s.Dest.Backlog = append(back, s.Dest.Backlog...)
	a.backlog += len(unsent)
	return true
}

// fillCopies moves copies for which s has credit now from its backlog.
func (a *Address) fillCopies(s *links.Sender, by *transport.Conn) {
	n := min(len(s.Dest.Backlog), int(max(s.Dest.Credit(), 0)))
	if n == 0 {
		return
	}
	for _, c := range s.Dest.Backlog[:n] {
		a.hand(s, links.Item{C: c})
	}
	clear(s.Dest.Backlog[:n])
	if s.Dest.Backlog = s.Dest.Backlog[n:]; len(s.Dest.Backlog) == 0 {
		s.Dest.Backlog = nil
	}
	a.backlog -= n
	a.flush(by)
}

// impatient takes from s the copies in its backlog that have waited longer than
// the address has patience. It is called under the lock of s's connection.
func (a *Address) impatient(s *links.Sender, by *transport.Conn) {
	limit := now(by) - a.Patience
	a.mu.Lock()
	n := 0
	for n < len(s.Dest.Backlog) && s.Dest.Backlog[n].Delivery().Arrived < limit {
		n++
	}
	slow := append([]*links.Copy(nil), s.Dest.Backlog[:n]...)
	s.Dest.Backlog = s.Dest.Backlog[n:]
	a.backlog -= n
	a.mu.Unlock()
	for _, c := range slow {
		a.Stats.DroppedSlow.Add(1)
		s.Forget(c, messaging.Modified(true, false, nil))
	}
}

// Spread implements links.Waiter: a message counts towards the marks until its
// last copy has left.
func (a *Address) Spread(bytes int64, by *transport.Conn) {
	n, b := a.spread.Add(-1), a.spreadBytes.Add(-bytes)
	if links.Gate(a.gate.Load()) != links.GateFull || b > a.LowBytes || n > int64(a.LowCount) {
		return
	}
	a.mu.Lock()
	a.watermark(by)
	a.mu.Unlock()
}
