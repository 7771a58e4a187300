package links

import (
	"encoding/binary"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
)

// WriteTransfers implements transport.Sending. The messages of a link are
// written one after the other (§2.6.14), as many bytes of each as are there.
func (s *Sender) WriteTransfers(o *transport.Output, room int) (again bool) {
	if s.gone {
		return false
	}
	for room > 0 && !o.Full() && s.Session().RemoteWindow() > 0 {
		c := s.current
		if c == nil {
			it, ok := s.pop()
			if !ok {
				s.flushPassed()
				s.tryDrain()
				return false
			}
			if c = it.C; c == nil {
				if s.writeBare(o, it.Bare) {
					room -= it.Payload.Len() + 1
					continue
				}
				c = s.adopt(it.Bare)
			}
			s.current = c
		}
		if s.most != 0 && !c.over && c.d.Size() > s.most {
			s.tooLarge(c)
		}
		n, done := s.write(o, c)
		room -= n
		if !done {
			s.flushPassed()
			return false // more bytes will wake the link
		}
	}
	s.flushPassed()
	s.compact()
	return true
}

// compact copies what is left out of the memory that it was read into: a peer
// whose window is closed may leave it there for long. What has been copied is
// at the front, so looking from the back finds the rest.
func (s *Sender) compact() {
	for i := len(s.taken) - 1; i >= s.next; i-- {
		it := &s.taken[i]
		if it.compact || it.C != nil && it.C.multi {
			return
		}
		it.compact = true
		if it.C != nil {
			it.C.d.Content.Compact()
		} else {
			it.Payload = it.Payload.Compact()
		}
	}
}

// tooLarge gives up a message that the receiver has said it does not take.
func (s *Sender) tooLarge(c *Copy) {
	if c.started && !c.settled {
		s.Session().Settled(c.id)
	}
	c.over, c.early = true, true
	state := messaging.Rejected(amqp.Errorf(amqp.CondMessageSizeExceeded, "the receiver takes no messages of more than %d bytes", s.most))
	s.outcome(c, state.Kind)
	c.resolve(s.Conn(), state)
}

// pop returns the next message that may be sent.
func (s *Sender) pop() (it Item, ok bool) {
	for {
		if s.next == len(s.taken) {
			if s.take(); len(s.taken) == 0 {
				return Item{}, false
			}
		}
		if !s.deliveryCount.Less(s.limit) {
			return Item{}, false
		}
		it = s.taken[s.next]
		s.taken[s.next] = Item{}
		s.next++
		if it.C == nil || it.C.dest == &s.Dest {
			s.begun++
		}
		if it.C == nil || s.usable(it.C) {
			return it, true
		}
	}
}

// transferOf returns the fields of the only transfer of a settled message.
func transferOf(s *Sender, format uint32) frames.Transfer {
	return frames.Transfer{
		Handle:           uint32(s.ep.Handle()),
		HasDeliveryID:    true,
		HasDeliveryTag:   true,
		HasMessageFormat: true,
		MessageFormat:    format,
		Settled:          true,
		HasSettled:       true,
	}
}

// usable drops a copy that has become pointless before it was begun.
func (s *Sender) usable(c *Copy) bool {
	d := c.d
	if d.whole && d.Deadline == 0 {
		return true
	}
	var state messaging.DeliveryState
	switch {
	case d.Deadline != 0 && s.Conn().Now > d.Deadline:
		c.dest.source.Expired()
		state = messaging.Modified(false, true, nil)
	case d.Content.Aborted():
	default:
		return true
	}
	s.drop(c, state)
	return false
}

// drop gives up a copy that has not been begun.
func (s *Sender) drop(c *Copy, state messaging.DeliveryState) {
	d, apart := c.dest, Item{C: c}.Apart()
	d.Forget(c, s.Conn(), state)
	if d.hop != nil {
		d.countDown(1, s.Conn())
	}
	d.source.Unbound(d, s.Conn(), !apart)
}

// write writes one frame or more of c. It returns done = false when the message
// has no more bytes yet.
func (s *Sender) write(o *transport.Output, c *Copy) (n int, done bool) {
	d := c.d
	t := &s.transfer
	*t = frames.Transfer{Handle: uint32(s.ep.Handle())}
	if c.early || !d.whole && d.Content.Aborted() {
		return s.abort(o, c), true
	}
	prefix := c.rest
	if !c.started {
		var skip int
		if d.changes(s) {
			prefix, skip = d.compose(s, s.Conn().Now)
		}
		if skip > 0 && len(prefix) == 0 && d.Size() <= int64(skip) && !d.Complete() {
			c.account.feed(d.from, s.Conn())
			return 0, false // nothing to begin with is there yet
		}
		s.skip(o, c, skip)
	}
	t.HasSettled = true
	if s.router {
		// Settled messages cross unsettled too: what is under way is bounded by
		// outcomes.
		t.Settled = c.settled
		if (d.pre || d.sure) && s.limits.Sure && !c.started {
			t.State = messaging.Accepted
		}
	} else {
		t.Settled = c.settled || d.pre || d.sure || s.mode == amqp.SenderSettleSettled || d.settled.Load()
	}
	if !c.started {
		t.HasDeliveryTag, t.DeliveryTag = true, s.nextTag()
		t.HasMessageFormat, t.MessageFormat = true, d.format
		t.HasDeliveryID = true
	}
	// The overhead depends on which fields are there, not on their values.
	size := s.Session().Room(t)
	n = min(len(prefix), size)
	prefix, c.rest = prefix[:n], prefix[n:]
	var part buffers.Slice
	more := true
	if len(c.rest) == 0 {
		part, more = d.Content.Next(&c.cursor, size-n)
	}
	length := part.Len()
	if length == 0 && more && len(prefix) == 0 {
		c.account.feed(d.from, s.Conn())
		return 0, false
	}
	t.More = more
	if !c.started {
		c.started, c.sentAt = true, s.Conn().Now
		s.Conn().Carried = c.sentAt
		c.settled = t.Settled
		s.deliveryCount++
		s.Counters.Deliveries++
		if c.settled {
			t.DeliveryID = s.Session().NextDelivery(nil)
			if d.pre {
				s.Counters.Presettled++
			}
		} else {
			t.DeliveryID = s.Session().NextDelivery(c)
		}
		c.id = t.DeliveryID
	} else if t.Settled && !c.settled {
		c.settled = true
		s.Session().Settled(c.id)
	}
	s.Session().Send(o, s.ep, t, prefix, part)
	s.advance(o, c, length)
	if !more {
		s.complete(c)
	}
	return length + len(prefix) + 1, true
}

// skip passes over bytes that the prefix replaces.
func (s *Sender) skip(o *transport.Output, c *Copy, n int) {
	for n > 0 {
		part, _ := c.d.Content.Next(&c.cursor, n)
		if part.Len() == 0 {
			return
		}
		n -= part.Len()
		s.advance(o, c, part.Len())
	}
}

// advance moves c over n bytes that have gone into o.
func (s *Sender) advance(o *transport.Output, c *Copy, n int) {
	d := c.d
	d.Content.Advance(&c.cursor, n)
	s.Counters.Bytes += uint64(n)
	if c.account == &s.Dest {
		o.Charge(s, int64(n))
	}
	if d.whole {
		c.encoded += int64(n)
	} else {
		d.mu.Lock()
		c.encoded += int64(n)
		d.mu.Unlock()
	}
	if !c.multi && !d.whole {
		s.pass(d.from, 0, int64(n))
		d.counted.Add(-int64(n))
	}
}

// complete ends the writing of c.
func (s *Sender) complete(c *Copy) {
	d := c.d
	s.current = nil
	c.sent = true
	c.detach(false)
	if n, bytes, last := c.left(s.Conn()); last {
		s.pass(d.from, n, bytes)
	}
	switch {
	case c.over: // the outcome came before the end
		s.free(s.Conn())
		c.finish()
	case c.settled:
		// A receiver that wants settled deliveries gives no outcome: having
		// sent it all is as good as can be known (§2.6.12).
		c.over = true
		if d.settled.Load() {
			c.dest.conclude(c, s.Conn())
			s.Counters.ended(d.Arrived, s.Conn().Now)
		} else {
			s.outcome(c, messaging.StateAccepted)
			c.resolve(s.Conn(), messaging.Accepted)
		}
		c.finish()
	}
}

// abort ends a message that cannot be completed or is no longer wanted.
func (s *Sender) abort(o *transport.Output, c *Copy) int {
	s.current = nil
	by := s.Conn()
	if !c.started {
		// Nothing of it was sent: it takes no credit, has no delivery-id, and
		// counts as never given.
		over := c.over
		c.stop()
		if !over && c.dest.hop != nil {
			c.dest.conclude(c, by)
		}
		if over || c.dest.hop != nil {
			c.dest.concluded.Add(^uint32(0))
		}
		if c.over = true; !over && c.multi {
			c.resolve(by, messaging.Released)
		}
		c.dest.source.Unbound(c.dest, by, !Item{C: c}.Apart())
		s.free(by)
		c.finish()
		return 0
	}
	t := &s.transfer
	t.Aborted = true
	t.Settled, t.HasSettled = true, true
	s.Session().Send(o, s.ep, t, nil)
	s.retire(by) // what was sent of the message may stay unread for long
	c.stop()
	if !c.over {
		// §2.7.5: an aborted delivery is settled. Its sender aborted it and
		// wants to hear nothing.
		c.over = true
		if !c.settled {
			s.Session().Settled(c.id)
		}
		c.dest.conclude(c, by)
		if c.multi {
			c.resolve(by, messaging.Released)
		}
	}
	c.finish()
	return 64
}

// nextTag returns the delivery-tag of the next delivery: unique on the link,
// and as short as a number can be.
func (s *Sender) nextTag() []byte {
	s.tag++
	b := binary.BigEndian.AppendUint64(s.tagBytes[:0], s.tag)
	i := 0
	for i < 7 && b[i] == 0 {
		i++
	}
	return b[i:]
}

// pass collects what has left for each incoming link: news for runs of messages
// from the same link cost one step.
func (s *Sender) pass(r *Receiver, n, bytes int64) {
	if s.passFrom != r {
		s.flushPassed()
		s.passFrom = r
	}
	s.passN += n
	s.passBytes += bytes
}

func (s *Sender) flushPassed() {
	if n := s.begun; n != 0 {
		s.begun = 0
		s.Dest.countDown(n, s.Conn())
	}
	if r := s.passFrom; r != nil {
		r.passed(s.Conn(), s.passN, s.passBytes)
		s.passFrom, s.passN, s.passBytes = nil, 0, 0
	}
}
