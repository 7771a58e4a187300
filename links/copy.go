package links

import (
	"sluice/amqp"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
)

// A Copy is a delivery on its way to one Sender. It is guarded by the lock of
// the Sender's connection once it is in the Sender's queue.
type Copy struct {
	d       *Delivery
	to      *Sender
	dest    *Dest               // what to is for: to's own, or a far destination
	account *Dest               // whose bytes it is: dest, or that of the stream's link
	id      amqp.DeliveryNumber // outgoing delivery-id
	cursor  buffers.Cursor
	rest    []byte // of what replaces the beginning of the message, not yet sent

	charged int64 // bytes charged to account; guarded by d.mu
	dead    bool  // takes no more bytes; guarded by d.mu
	encoded int64 // bytes of those that have gone into an output
	sentAt  int64 // UnixNano of the first transfer

	settled bool // sent settled: no outcome is expected
	started bool // at least one transfer has been written
	sent    bool // all transfers have been written
	over    bool // an outcome is known, or the copy has been given up
	keep    bool // bytes are kept so that the message can be sent again
	multi   bool // one of several copies
	flows   bool // a stream that its destination counts
	solo    bool // the only reader of a message in one piece, which need not be counted
	early   bool // the receiver settled before all was sent
	// told is the outcome that the receiver has not settled, and that the sender
	// has been told.
	told messaging.StateKind
}

const (
	postActive uint8 = iota
	postSenderSettled
	postRelease
	postBound
	postCredit
	postGate
	postAttach
	postRetire
)

// Delivery is what is copied.
func (c *Copy) Delivery() *Delivery { return c.d }

// Dest is the destination that the copy is for.
func (c *Copy) Dest() *Dest { return c.dest }

// Link implements transport.Unsettled.
func (c *Copy) Link() transport.Link { return c.to }

// HandlePost handles news from the sender's side.
func (c *Copy) HandlePost(p *transport.Post) {
	d := c.d
	switch p.Kind {
	case postSenderSettled:
		// Of a stream to another router the outcome is wanted all the same: it
		// tells that the link can be used again.
		if c.started && !c.settled && !c.over && (!c.to.stream || c.told != 0) {
			c.over = true
			s := c.to.Session()
			if c.sent {
				s.Dispose(amqp.RoleSender, c.id, true, messaging.DeliveryState{})
				s.Settled(c.id)
				c.to.outcome(c, c.told)
				c.finish()
			} else {
				c.settled, c.over = true, false // the remaining transfers say so
				s.Settled(c.id)
			}
		}
	}
	d.Release()
}

// Disposed handles what the receiver says about the copy.
func (c *Copy) Disposed(p *transport.Disposition) bool {
	if c.over {
		return true
	}
	state := p.State
	if !p.Settled {
		if !state.IsTerminal() {
			return false
		}
		if c.defers() {
			// The sender sees the outcome, once, however often the receiver says
			// it, and settles or waits until the receiver does.
			if c.told == 0 {
				c.told = state.Kind
				c.tell(state)
			}
			if !c.d.Settled() { // meanwhile
				return false
			}
		}
		// The receiver settles second: it is told so now (§2.6.12).
		c.to.Session().Dispose(amqp.RoleSender, c.id, true, messaging.DeliveryState{})
	}
	// What the standard does not define may be an outcome all the same (§3.4).
	if !state.IsTerminal() && state.Kind != messaging.StateOther {
		state = c.to.defaultOutcome
	}
	c.conclude(state)
	return true
}

// defers tells whether an outcome that the receiver does not settle is passed on
// like that: the receiver settles later, or when the sender has. Other routers
// pass on either, whatever their links say. Where the receiver waits for the
// sender (rcv-settle-mode second) and the sender for the receiver (first), both
// are told that it is settled (§2.8.3).
func (c *Copy) defers() bool {
	if c.d.Settled() {
		return false
	}
	from := c.d.from
	return !c.to.second || from.mode == amqp.ReceiverSettleSecond || from.info.Class != Endpoint
}

// tell passes on an outcome that is not settled.
func (c *Copy) tell(state messaging.DeliveryState) {
	d, by := c.d, c.to.Conn()
	if c.multi {
		d.resolveOne(by, false, false, state)
		return
	}
	state = state.Clone()
	d.mu.Lock()
	d.tally.state = state
	d.mu.Unlock()
	d.Resolve(by, false, state)
}

// conclude ends the copy with an outcome, settled.
func (c *Copy) conclude(state messaging.DeliveryState) {
	c.over = true
	c.to.outcome(c, state.Kind)
	c.resolve(c.to.Conn(), state)
	if c.sent {
		c.finish()
		return
	}
	// The receiver has seen enough; the rest is not sent.
	c.early = true
	c.to.Session().Ready(c.to.Endpoint())
}

// resolve reports that the copy is settled with an outcome; if the sender has
// been told one, with that.
func (c *Copy) resolve(by *transport.Conn, state messaging.DeliveryState) {
	if c.multi {
		c.d.resolveOne(by, true, c.told != 0, state)
		return
	}
	if c.told != 0 {
		c.d.mu.Lock()
		state = c.d.tally.state
		c.d.mu.Unlock()
	}
	c.d.Resolve(by, true, state.Clone())
}

// Lost handles the end of the receiver's link or session: what was sent and not
// settled has failed, unless the address keeps messages for another attempt.
func (c *Copy) Lost() {
	if c.over {
		return
	}
	c.over = true
	if c.keep && c.told == 0 && !c.d.Settled() {
		if !c.sent {
			c.stop()
		}
		c.dest.conclude(c, c.to.Conn())
		d, src := c.d, c.dest.source
		c.unkeep(true)
		d.unbound()
		src.Retry(d, c.to.Conn())
		return
	}
	state := messaging.Modified(true, false, nil)
	c.to.outcome(c, state.Kind)
	c.resolve(c.to.Conn(), state)
	if !c.sent {
		c.stop()
	}
	c.finish()
}

// stop gives up the bytes that have not been sent.
func (c *Copy) stop() {
	if c.sent {
		return
	}
	c.sent = true
	left := int64(0)
	c.d.mu.Lock()
	if !c.dead && !c.far() {
		left = c.charged - c.encoded
		c.encoded = c.charged
		c.dead = true
	}
	c.d.mu.Unlock()
	c.detach(false)
	c.unsent(c.to.Conn())
	c.account.feed(c.d.from, c.to.Conn())
	c.account.credit(left, c.to.Conn())
}

// uncharged takes the copy off its account and returns the bytes that it was
// charged for.
func (c *Copy) uncharged() (n int64) {
	if !c.d.whole { // else nobody adds to it
		c.d.mu.Lock()
		defer c.d.mu.Unlock()
	}
	n, c.charged, c.dead = c.charged, 0, true
	return n
}

// far tells whether the bytes count until the outcome is known and not until
// they have been written.
func (c *Copy) far() bool { return c.account.hop != nil }

// detach ends the reading of the message. With keep the bytes stay.
func (c *Copy) detach(keep bool) {
	switch {
	case !c.solo:
		c.d.Content.Detach(&c.cursor, keep)
	case !keep:
		c.d.Content.Discard()
	}
}

// unsent records that the copy will write no more. With the last copy of a
// message its bytes, and its place if it was sent settled, go back to the
// incoming link.
func (c *Copy) unsent(by *transport.Conn) {
	if n, bytes, last := c.left(by); last {
		c.d.from.passed(by, n, bytes)
	}
}

// left counts the copy as one that writes no more. For the last of a message it
// returns what the incoming link gets back.
func (c *Copy) left(by *transport.Conn) (n, bytes int64, last bool) {
	d := c.d
	if c.multi {
		if d.unsent.Add(-1) != 0 {
			return 0, 0, false
		}
		d.Waiter.Spread(d.spread, by)
	}
	if d.pre {
		n = 1
	}
	return n, d.due(), true
}

// unkeep ends the keeping of the bytes for another attempt. With keep they stay
// for the reader of that attempt.
func (c *Copy) unkeep(keep bool) {
	c.keep = false
	var start buffers.Cursor
	c.d.Content.Detach(&start, keep)
	c.dest.source.Kept(-c.d.Size())
}

// finish drops the copy. It is the last thing done to it.
func (c *Copy) finish() {
	if c.keep {
		c.unkeep(false)
	}
	c.d.Release()
}

// Resolved implements transport.Unsettled. Copies are outgoing: outcomes come
// from their peers and not from elsewhere.
func (c *Copy) Resolved(*transport.Disposition) bool { return c.over }
