package links

import (
	"slices"
	"sync"
	"sync/atomic"

	"sluice/amqp"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
)

// A Source is what the deliveries of a Dest come from: an address. Methods with
// by are called under the lock of that connection.
type Source interface {
	AddDestination(d *Dest, by *transport.Conn)
	// RemoveDestination tells that nothing may be bound to the destination any
	// more; Return and then Released follow.
	RemoveDestination(d *Dest, by *transport.Conn)
	Released(d *Dest)
	// Supply tells that the credit reaches to limit now, and gets deliveries
	// bound as far as the destination may take them.
	Supply(d *Dest, by *transport.Conn, limit amqp.SequenceNo)
	// Resupply tells that the destination has room again.
	Resupply(d *Dest, by *transport.Conn)
	// Return gives back copies that have not been begun.
	Return(d *Dest, by *transport.Conn, unsent []Item)
	// Unbound tells that a delivery that was bound will not be sent, and whether
	// it had taken credit, which is free again.
	Unbound(d *Dest, by *transport.Conn, credit bool)
	// Exhausted uses up the credit to its limit, which completes a drain,
	// unless something is bound that the link has not sent.
	Exhausted(d *Dest, deliveryCount amqp.SequenceNo) bool
	// Retry takes a delivery that a lost link had been sent, for another attempt.
	Retry(d *Delivery, by *transport.Conn)
	// Kept counts bytes that are kept for another attempt.
	Kept(n int64)
	// Expired counts a delivery whose time ran out before it was sent.
	Expired()
}

// A Dest is a destination of an address, as the address sees it: one Sender, or
// the receivers behind the next router on the way to them (a far destination).
//
// Capacity. A Sender takes what its receiver's credit asks for, while fewer than
// maxUnsent messages wait in it and its bytes, bound and not yet written, are
// below the high mark. A far destination has no receiver whose credit is known
// here: it takes farWindow messages and as many bytes as the mark allows until
// their outcomes are known, so that what one address has on the other routers is
// bounded, and what is more waits here, at its senders' cost. Messages that are
// not complete when they are bound go on links of their own (Hop), which have
// the marks of Senders.
type Dest struct {
	// Guarded by the address's lock.
	Limit   amqp.SequenceNo // as of the last flow; Senders only
	Bound   amqp.SequenceNo // delivery-count when all that is bound has been sent
	Given   uint32          // deliveries bound so far
	Cost    uint32
	Index   int // among the address's destinations
	Batch   []Item
	Backlog []*Copy // multicast copies that wait for capacity
	// Origins are the routers whose messages may go this way. Far destinations
	// only.
	Origins Origins
	// Routers are those at which the receivers are. Far destinations only.
	Routers []string
	// Side is what lies behind; messages from there do not go back.
	Side *Side
	// Private keeps the link from other routers: it is a service of this one.
	Private bool

	source Source
	link   *Sender // nil for a far destination
	hop    *Hop    // nil for a Sender
	apart  *Hop    // where a Sender's messages go that are not complete; nil for the Sender itself
	lane   uint32  // which of several connections to the hop is taken

	budget    buffers.Budget // stage three
	concluded atomic.Uint32  // copies that have an outcome, for load balancing
	pending   atomic.Int32   // messages that count towards most
	most      int32
	flowing   atomic.Int32 // streams of one destination to the hop without an outcome

	mu      sync.Mutex  // a leaf lock; guards the fields below
	held    []*Receiver // links held off until the low mark
	starved bool        // the address waits for capacity
	closed  bool
}

// farWindow is the most messages of one address that may be under way to one
// next hop without an outcome.
const farWindow = 1000

// farStreams is the most streams of one address that may be under way to one next
// hop without an outcome: each may fill the window of a session there.
const farStreams = 16

// init prepares the Dest of a Sender.
func (d *Dest) init(s *Sender, src Source) {
	d.link, d.source, d.most = s, src, maxUnsent
	d.Side, d.Private, d.apart = s.limits.Side, s.limits.Private, s.limits.Streams
	d.budget.High, d.budget.Low = s.limits.OutgoingHigh, s.limits.OutgoingLow
}

// NewFar returns the destination of src that is reached through hop. Lane
// chooses among several connections to it; an address keeps to one, for the
// order of its messages.
func NewFar(src Source, hop *Hop, lane uint32) *Dest {
	d := &Dest{source: src, hop: hop, lane: lane, most: farWindow, Side: hop.limits.Side}
	if c := hop.limits.Capacity; c != 0 {
		d.most = int32(min(c, 1<<30))
	}
	d.budget.High, d.budget.Low = hop.limits.OutgoingHigh, hop.limits.OutgoingLow
	return d
}

// Link is the Sender that the destination is; nil for a far one.
func (d *Dest) Link() *Sender { return d.link }

// Hop is the next hop of a far destination; nil for a Sender.
func (d *Dest) Hop() *Hop { return d.hop }

// Far tells whether the destination is behind another router.
func (d *Dest) Far() bool { return d.hop != nil }

// Credit is the number of deliveries that may still be bound; that of a far
// destination is not bounded by credit, but see Over.
func (d *Dest) Credit() int32 {
	if d.hop != nil {
		return d.most - d.pending.Load() - int32(len(d.Batch))
	}
	return d.Limit.Sub(d.Bound)
}

// Over tells whether the destination takes nothing now, and if so has the
// address told when it does again. It is called under the lock of the address.
func (d *Dest) Over() bool {
	if d.hop != nil && d.stranded() {
		return true
	}
	if !d.budget.Over() && !d.crowded() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.budget.Over() && !d.crowded() {
		return false
	}
	d.starved = true
	return true
}

// stranded tells whether there is no way to the next hop, and if so has the
// address told when there is one.
func (d *Dest) stranded() bool {
	for !d.hop.Ready() {
		state := d.hop.state()
		if !d.hop.Ready() && d.hop.await(d, state) {
			return true
		}
	}
	return false
}

// crowded tells whether the most messages are bound, those counted that the
// address has not put into the queue yet.
func (d *Dest) crowded() bool { return d.pending.Load()+int32(len(d.Batch)) >= d.most }

// countDown counts messages that have been begun, or of a far destination that
// have an outcome; when fewer than half of the most are left the address is
// told, if it waits for that. Not at half: the count may have been there while
// as many were on their way into the queue, and would not pass the mark then.
func (d *Dest) countDown(n int32, by *transport.Conn) {
	if n == 0 {
		return
	}
	if after := d.pending.Add(-n); after >= d.most/2 || after+n < d.most/2 {
		return
	}
	if !d.budget.Over() {
		d.wake(by)
	}
}

// wake tells the address that there is room, if it waits for that.
func (d *Dest) wake(by *transport.Conn) {
	d.mu.Lock()
	wake := d.starved && !d.closed && d.source != nil
	if wake {
		d.starved = false
	}
	d.mu.Unlock()
	if wake {
		d.source.Resupply(d, by)
	}
}

// Slow tells whether a message that is bound now will probably wait.
func (d *Dest) Slow() bool {
	return d.budget.Used() >= slowAbove || d.link != nil && d.link.Conn().Blocked.Load()
}

// Outgoing is the number of bytes in stage three.
func (d *Dest) Outgoing() int64 { return d.budget.Used() }

// Pending is the number of messages that are bound and not begun, or of a far
// destination those without an outcome.
func (d *Dest) Pending() int32 { return d.pending.Load() }

// Load is the number of deliveries bound and without an outcome.
func (d *Dest) Load() uint32 { return d.Given - d.concluded.Load() }

// hold holds r off until the low mark, unless that has just been reached.
func (d *Dest) hold(r *Receiver) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || !d.budget.Over() || slices.Contains(d.held, r) {
		return false
	}
	d.held = append(d.held, r)
	return true
}

// feed lets r go. It has the next bytes of the message that is being written:
// what fills the link then are messages behind it, which cannot be written
// before it is complete, and to hold r off would hold off all of them for ever;
// a frame that it adds holds it again. Or the link takes no more of its message.
func (d *Dest) feed(r *Receiver, by *transport.Conn) {
	d.mu.Lock()
	i := slices.Index(d.held, r)
	if i >= 0 {
		d.held = slices.Delete(d.held, i, i+1)
	}
	d.mu.Unlock()
	if i >= 0 {
		r.post(by, transport.Post{To: r, Kind: postRelease})
	}
}

// credit takes n bytes off stage three; at the low mark those that were held off
// are let go.
func (d *Dest) credit(n int64, by *transport.Conn) {
	if n == 0 || !d.budget.Credit(n) {
		return
	}
	d.letGo(by)
	d.wake(by)
}

// letGo lets everybody go that the destination holds off.
func (d *Dest) letGo(by *transport.Conn) {
	d.mu.Lock()
	held := d.held
	d.held = nil
	d.mu.Unlock()
	for _, r := range held {
		r.post(by, transport.Post{To: r, Kind: postRelease})
	}
}

// shut lets everybody go that the destination holds off, and holds nobody off
// any more.
func (d *Dest) shut(by *transport.Conn) {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.letGo(by)
}

// Close ends a far destination: it returns to the address what has not been
// begun, and takes no more. What has been sent keeps its outcome.
func (d *Dest) Close() {
	d.source.RemoveDestination(d, nil)
	d.shut(nil)
	d.hop.forget(d)
	d.source.Return(d, nil, nil)
	d.source.Released(d)
}

// route returns the link that takes m: the only one, or that to the next hop for
// a message of this kind. If there is none now it returns nil, and the address
// is told when there may be one.
func (d *Dest) route(m *Delivery, by *transport.Conn) *Sender {
	h := d.hop
	if d.link != nil {
		if h = d.apart; h == nil || !m.streams() || !h.streaming() {
			return d.link
		}
	}
	if s := h.route(m, d.lane, by); s != nil {
		return s
	}
	for {
		state := h.state()
		if s := h.route(m, d.lane, by); s != nil {
			return s
		}
		if d.link != nil && !h.streaming() {
			return d.link
		}
		if h.await(d, state) {
			return nil
		}
	}
}

// overflows tells whether as many streams are under way as may be, and if so has
// the address told when they become fewer.
func (d *Dest) overflows() bool {
	if d.flowing.Load() < farStreams {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.flowing.Load() < farStreams {
		return false
	}
	d.starved = true
	return true
}

// ebb counts a stream that has an outcome, or is not sent.
func (d *Dest) ebb(c *Copy, by *transport.Conn) {
	if c.flows {
		c.flows = false
		d.flowing.Add(-1)
		d.wake(by)
	}
}

// Streams tells whether messages that are not complete go on links of their own.
func (d *Dest) Streams() bool { return d.hop != nil || d.apart != nil }

// Enqueue takes what has been bound. It may be called from any connection; the
// address's lock keeps the order. It returns what cannot be taken because its
// link has gone meanwhile.
func (d *Dest) Enqueue(items []Item, by *transport.Conn) (lost []Item) {
	if d.link != nil && d.apart == nil {
		d.pending.Add(int32(len(items)))
		d.link.enqueue(items, by)
		return nil
	}
	for len(items) > 0 {
		s, n := d.linkOf(items[0]), 1
		for n < len(items) && d.linkOf(items[n]) == s {
			n++
		}
		d.counts(s, int32(n))
		if !s.enqueue(items[:n], by) {
			d.counts(s, -int32(n))
			lost = append(lost, items[:n]...)
		}
		items = items[n:]
	}
	for _, it := range lost {
		d.uncharge(it.C, by)
	}
	return lost
}

// linkOf is the link that an item goes over.
func (d *Dest) linkOf(it Item) *Sender {
	if it.C == nil {
		return d.link
	}
	return it.C.to
}

// counts adds n to the messages that count towards the most: for a Sender those
// in its own queue.
func (d *Dest) counts(s *Sender, n int32) {
	if d.hop != nil || s == d.link {
		d.pending.Add(n)
	}
}

// Apart tells whether the item goes over another link than that of its
// destination, whose credit it does not take.
func (it Item) Apart() bool {
	return it.C != nil && it.C.dest.link != nil && it.C.to != it.C.dest.link
}

// uncharge is release under the lock of the address, which looks by itself
// whether there is room.
func (d *Dest) uncharge(c *Copy, by *transport.Conn) {
	n := c.uncharged()
	if c.flows {
		c.flows = false
		d.flowing.Add(-1)
	}
	if c.account.budget.Credit(n) {
		c.account.letGo(by)
	}
}

// release takes the bytes of what was not sent off the account.
func (d *Dest) release(it Item, by *transport.Conn) {
	c := it.C
	if c == nil {
		d.credit(int64(it.Payload.Len()), by)
		return
	}
	n := c.uncharged()
	c.account.feed(c.d.from, by)
	c.account.credit(n, by)
	c.to.free(by)
	d.ebb(c, by)
}

// Reclaim charges the destination again for a copy that was returned and that
// stays with it.
func (d *Dest) Reclaim(c *Copy) {
	c.d.mu.Lock()
	c.charged, c.dead = c.d.Content.Size(), false
	c.account.budget.Charge(c.charged)
	c.d.mu.Unlock()
}

// Forget drops a copy that has not been begun.
func (d *Dest) Forget(c *Copy, by *transport.Conn, state messaging.DeliveryState) {
	d.release(Item{C: c}, by)
	c.over, c.sent = true, true
	c.detach(false)
	c.unsent(by)
	c.resolve(by, state)
	c.finish()
}

// conclude counts a copy that has an outcome or will get none.
func (d *Dest) conclude(c *Copy, by *transport.Conn) {
	d.concluded.Add(1)
	if c.sent {
		c.to.free(by)
	}
	d.ebb(c, by)
	if d.hop == nil {
		return
	}
	if c.account == d {
		// What is on the next router counts until here.
		d.credit(c.uncharged(), by)
	}
	d.countDown(1, by)
}
