package forward

import (
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
)

// Sweep ends what has waited too long, as of now (UnixNano): deliveries whose
// ttl ran out, deliveries that a receiver does not settle, copies for slow
// receivers. It is called from a control goroutine, under no lock. Stuck,
// called under the lock of the link's connection, hears of receivers
// whose deliveries were resolved for them.
func (a *Address) Sweep(now int64, stuck func(s *links.Sender, n int)) {
	for _, d := range a.expired(now) {
		a.Stats.DroppedExpired.Add(1)
		d.DropBy(nil, messaging.Modified(false, true, nil))
	}
	if a.UnsettledTimeout == 0 && a.Patience == 0 {
		return
	}
	a.Destinations(func(s *links.Sender) {
		l, ok := s.Conn().Owner().(transport.Locker)
		if !ok {
			return
		}
		l.Do(func(c *transport.Conn) {
			c.Now = max(c.Now, now)
			if a.UnsettledTimeout > 0 {
				if n := s.TimeOut(now - a.UnsettledTimeout); n > 0 {
					stuck(s, n)
				}
			}
			if a.Patience > 0 && a.Distribution == Multicast {
				a.impatient(&s.Dest, c)
			}
		})
	})
}

// expired takes out the waiting deliveries whose time has run out.
func (a *Address) expired(now int64) []*links.Delivery {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == 0 {
		return nil
	}
	a.park()
	var out []*links.Delivery
	expire := func(l *lane) {
		for p, w := range l.waiting {
			kept := w[:0]
			for _, d := range w {
				if d.Deadline != 0 && now > d.Deadline {
					out = append(out, d)
					l.count--
					a.taken(d)
				} else {
					kept = append(kept, d)
				}
			}
			clear(w[len(kept):])
			l.waiting[p] = kept
		}
	}
	expire(&a.own)
	for _, l := range a.lanes {
		expire(l)
	}
	if len(out) > 0 {
		a.watermark(nil)
	}
	return out
}
