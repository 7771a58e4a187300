package forward

import (
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
	targets := a.dests
	if a.picky > 0 {
		l := lane{origin: d.Origin, echo: d.Echo}
		targets = a.targets[:0]
		for _, s := range a.dests {
			if l.may(s) {
				targets = append(targets, s)
			}
		}
		a.targets = targets
	}
	if a.hooks.Beyond != nil && d.From().Anonymous() && d.Echo == nil {
		targets = a.withBeyond(targets)
	}
	for _, s := range targets {
		if s.Credit() <= 0 || s.Slow() {
			d.Park()
			break
		}
	}
	a.copies = d.BindAll(targets, by, a.copies[:0])
	if len(a.copies) == 0 {
		a.lose(d, by)
		return
	}
	a.Stats.DroppedNoDestination.Add(uint64(len(targets) - len(a.copies))) // there is no way to them now
	a.spread.Add(1)
	a.spreadBytes.Add(d.Size())
	a.watermark(nil)
	for i, c := range a.copies {
		s := c.Dest()
		if s.Credit() > 0 && len(s.Backlog) == 0 {
			a.hand(s, links.Item{C: c})
		} else {
			s.Backlog = append(s.Backlog, c)
			a.backlog++
			if s.Far() {
				s.Over() // has the address told when it takes something
			}
		}
		a.copies[i] = nil
	}
	clear(a.targets)
}

// keepCopies puts copies that s has returned, because its credit was taken back,
// before those that wait in its backlog. It returns false if s has left.
func (a *Address) keepCopies(s *links.Dest, unsent []links.Item) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.has(s) {
		return false
	}
	back := make([]*links.Copy, len(unsent), len(unsent)+len(s.Backlog))
	for i, it := range unsent {
		back[i] = it.C
		s.Reclaim(it.C)
	}
	a.unbound(s, unsent)
	s.Backlog = append(back, s.Backlog...)
	a.backlog += len(unsent)
	return true
}

// fillCopies moves copies for which s has credit now from its backlog.
func (a *Address) fillCopies(s *links.Dest, by *transport.Conn) {
	for len(s.Backlog) > 0 {
		n := min(len(s.Backlog), int(max(s.Credit(), 0)))
		if n == 0 {
			if s.Far() && !s.Over() {
				continue // there is room by now
			}
			break
		}
		for _, c := range s.Backlog[:n] {
			a.hand(s, links.Item{C: c})
		}
		clear(s.Backlog[:n])
		if s.Backlog = s.Backlog[n:]; len(s.Backlog) == 0 {
			s.Backlog = nil
		}
		a.backlog -= n
	}
	a.flush(by)
}

// impatient takes from s the copies in its backlog that have waited longer than
// the address has patience. It is called under the lock of s's connection.
func (a *Address) impatient(s *links.Dest, by *transport.Conn) {
	limit := now(by) - a.Patience
	a.mu.Lock()
	n := 0
	for n < len(s.Backlog) && s.Backlog[n].Delivery().Arrived < limit {
		n++
	}
	slow := append([]*links.Copy(nil), s.Backlog[:n]...)
	s.Backlog = s.Backlog[n:]
	a.backlog -= n
	a.mu.Unlock()
	for _, c := range slow {
		a.Stats.DroppedSlow.Add(1)
		s.Forget(c, by, messaging.Modified(true, false, nil))
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
