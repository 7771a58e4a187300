package links

import (
	"sync"
	"sync/atomic"

	"sluice/amqp"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
)

// A Delivery is one message on its way through the router.
type Delivery struct {
	Content buffers.Content

	// Set by the Receiver before the delivery is forwarded; constant then.
	from     *Receiver
	session  *transport.Session
	id       amqp.DeliveryNumber // incoming delivery-id
	format   uint32              // message-format
	Priority uint8
	Deadline int64  // UnixNano after which the message is of no use; 0 for never
	Arrived  int64  // UnixNano
	to       []byte // the address in its properties; with an anonymous terminus
	// Origin is the number of the router where the message entered the network;
	// 0 if that is this one.
	Origin uint32
	// Echo is where the message must not go back to, if anywhere.
	Echo    *Side
	notes   notes            // annotations
	header  messaging.Header // as received; zero where there is none
	headLen int              // bytes of the header section in the content
	whole   bool             // arrived in one frame
	pre     bool             // sent settled
	// sure says that a router has sent the message unsettled although its sender
	// had sent it settled, so that it is not lost on the way: receivers get it
	// settled, and it is accepted when it has left for one.
	sure bool

	// Failures counts earlier attempts that failed, for the header's
	// delivery-count. It is guarded by the address's lock.
	Failures uint32
	// Parked is the number of bytes that the address counts while the delivery
	// waits, and Compact whether those pin no more memory than they need. Both
	// are guarded likewise.
	Parked  int64
	Compact bool
	// Waits tells whether the address holds it; guarded likewise.
	Waits bool
	// Waiter is the address that the delivery was forwarded to, for what comes
	// of it later. It is set under the lock of the sender's connection.
	Waiter Waiter

	// Guarded by the lock of the sender's connection.
	resolved bool                    // an outcome has been passed on; the rest is discarded
	listed   bool                    // in the session's table of unsettled deliveries
	late     bool                    // is to be settled when it has arrived (Limits.SettleLate)
	outcome  messaging.DeliveryState // then

	// settled is set when the sender has settled or is gone: no outcome is
	// wanted any more.
	settled atomic.Bool

	// counted is what the delivery adds to its link's count of bytes, if it
	// arrives in several frames. A message in one frame adds its size until
	// given is set, by whoever alone has the delivery then.
	counted atomic.Int64
	given   bool
	spread  int64 // bytes that the address counts until the last of several copies has left

	refs   atomic.Int32 // see release
	unsent atomic.Int32 // copies that have not been written completely

	mu      sync.Mutex // a leaf lock; guards the fields below
	bound   bool       // destinations are known
	rebound bool       // for not the first time
	copies  []*Copy
	tally   tally

	one Copy // the copy of a message that goes one way
}

// A Waiter holds deliveries that have no destination yet.
type Waiter interface {
	// Grew tells that n more bytes of d have arrived, if it still waits.
	Grew(d *Delivery, n int64, by *transport.Conn)
	// Withdraw gives up d if it still waits.
	Withdraw(d *Delivery, by *transport.Conn)
	// Spread tells that the last copy of d, which went to several, has left.
	Spread(bytes int64, by *transport.Conn)
}

var deliveryPool = sync.Pool{New: func() any { return new(Delivery) }}

func newDelivery(r *Receiver, id amqp.DeliveryNumber) *Delivery {
	d := deliveryPool.Get().(*Delivery)
	d.from, d.session, d.id = r, r.Session(), id
	d.Priority = defaultPriority
	d.refs.Store(1)
	return d
}

// defaultPriority is that of messages that say none (§3.2.1).
const defaultPriority = 4

// retain adds a reference for a copy, or for the table of unsettled deliveries.
func (d *Delivery) retain(n int32) { d.refs.Add(n) }

// Release gives one reference back. With the last one the bytes are released
// and the object is used again.
func (d *Delivery) Release() {
	if d.refs.Add(-1) != 0 {
		return
	}
	d.Content.Discard()
	if n := d.due(); n != 0 {
		d.from.passed(nil, 0, n)
	}
	d.reset()
	deliveryPool.Put(d)
}

func (d *Delivery) reset() {
	d.Content.Reset()
	d.from, d.session = nil, nil
	d.Origin, d.Echo = 0, nil
	d.format, d.Deadline, d.Arrived = 0, 0, 0
	d.headLen = 0
	d.notes = notes{}
	d.header = messaging.Header{}
	d.to = d.to[:0]
	d.whole, d.pre, d.sure, d.resolved, d.listed = false, false, false, false, false
	d.late, d.outcome = false, messaging.DeliveryState{}
	d.bound, d.rebound = false, false
	d.Failures, d.Parked, d.Compact, d.Waits, d.Waiter = 0, 0, false, false, nil
	d.settled.Store(false)
	d.given = false
	for i, c := range d.copies {
		if c.multi {
			*c = Copy{}
			copyPool.Put(c)
		}
		d.copies[i] = nil
	}
	d.copies = d.copies[:0]
	d.tally = tally{}
	d.one = Copy{}
}

// due returns the bytes that the delivery still adds to its link's count, and
// ends that.
func (d *Delivery) due() int64 {
	if !d.whole {
		if d.counted.Load() == 0 {
			return 0
		}
		return d.counted.Swap(0)
	}
	if d.given {
		return 0
	}
	d.given = true
	return d.Content.Size()
}

// From is the link that the delivery arrived on.
func (d *Delivery) From() *Receiver { return d.from }

// Settled tells whether the sender wants no outcome: the message was sent
// settled, or has been settled since, or its sender is gone.
func (d *Delivery) Settled() bool { return d.settled.Load() }

// Size is the number of bytes that have arrived so far.
func (d *Delivery) Size() int64 { return d.Content.Size() }

// Link implements transport.Unsettled.
func (d *Delivery) Link() transport.Link { return d.from }

// Disposed handles what the sender itself says: settling early frees the slot
// (§2.7.6), and the receivers are told.
func (d *Delivery) Disposed(p *transport.Disposition) bool {
	if !p.Settled {
		return false
	}
	d.abandon()
	d.from.Counters.ended(d.Arrived, d.from.Conn().Now)
	d.from.done(1)
	d.Release()
	return true
}

// Lost handles the end of the sender's link: outcomes have nowhere to go. A
// message that arrived completely goes on. Receivers that wait for the sender to
// settle wait no longer.
func (d *Delivery) Lost() {
	d.settled.Store(true)
	d.listed = false
	d.mu.Lock()
	told := d.tally.told()
	d.mu.Unlock()
	if told {
		d.settleCopies()
	}
	d.from.done(1)
	d.Release()
}

// abandon passes on that the sender has settled.
func (d *Delivery) abandon() {
	d.listed = false
	if !d.settled.Swap(true) {
		d.settleCopies()
	}
}

// settleCopies tells the copies that nobody waits for their outcome.
func (d *Delivery) settleCopies() {
	d.mu.Lock()
	copies := append([]*Copy(nil), d.copies...)
	d.mu.Unlock()
	for _, c := range copies {
		d.retain(1) // for the post
		c.to.post(d.from.Conn(), transport.Post{To: c, Kind: postSenderSettled})
	}
}

// Resolved passes an outcome on to the sender.
func (d *Delivery) Resolved(p *transport.Disposition) bool {
	r := d.from
	if !d.resolved {
		d.resolved = true
		r.count(p.State.Kind)
	}
	settled := p.Settled
	if settled && r.current == d && r.limits.SettleLate {
		d.late, d.outcome, settled = true, p.State.Clone(), false
	}
	d.session.Dispose(amqp.RoleReceiver, d.id, settled, p.State)
	if !settled {
		return false
	}
	d.over()
	return true
}

// settleLate settles a delivery that has arrived and has had its outcome before.
func (d *Delivery) settleLate() {
	d.session.Unsettle(d.id)
	d.session.Dispose(amqp.RoleReceiver, d.id, true, d.outcome)
	d.over()
}

// over ends a delivery in the table of unsettled ones, which is settled.
func (d *Delivery) over() {
	d.settled.Store(true)
	d.listed = false
	d.from.Counters.ended(d.Arrived, d.from.Conn().Now)
	d.from.done(1)
	d.Release()
}

// Resolve reports the outcome of the delivery as a whole to its sender. It may
// be called under the lock of any connection, which is by's, or under none.
func (d *Delivery) Resolve(by *transport.Conn, settled bool, state messaging.DeliveryState) {
	switch {
	case d.settled.Load():
	case by != nil:
		by.Settle(d.session, d.id, settled, state)
	default:
		c := d.session.Conn()
		c.Post(transport.Post{To: d.session, Settled: settled, First: d.id, Last: d.id, State: state})
		kick(nil, c)
	}
}

// DropBy resolves a delivery that has no destination, under the lock of by, and
// takes a reference.
func (d *Delivery) DropBy(by *transport.Conn, state messaging.DeliveryState) {
	n := int64(0)
	if d.pre {
		n = 1
		d.from.dropped.Add(1)
	}
	d.Content.Discard()
	d.from.passed(by, n, d.due())
	d.Resolve(by, true, state)
	d.mu.Lock()
	d.bound = true // nothing waits for a destination any more
	d.mu.Unlock()
	d.from.unholdIf(by, !d.whole)
	d.Release()
}

// New copies. They are called under the lock of the address.

// BindOne makes the delivery's only copy, for to. It takes the caller's
// reference to the delivery, unless it returns nil: then there is no way to to
// at present.
func (d *Delivery) BindOne(to *Dest, by *transport.Conn, keep bool) *Copy {
	flows := to.Streams() && d.streams()
	if flows && to.overflows() {
		return nil
	}
	s := to.route(d, by)
	if s == nil {
		return nil
	}
	c := &d.one
	if d.rebound {
		c = new(Copy) // news for the earlier copy may still be under way
	}
	*c = Copy{d: d, to: s, dest: to, account: d.account(to, s), keep: keep, flows: flows}
	if flows {
		to.flowing.Add(1)
	}
	d.bind(c, by)
	return c
}

// account is where the bytes of a copy for to count that goes over s: what is
// complete at its destination, a stream at its link. The former may count until
// the outcome is known, the latter must not.
func (d *Delivery) account(to *Dest, s *Sender) *Dest {
	if s.stream || to.hop != nil && d.streams() {
		return &s.Dest
	}
	return to
}

// BindAll makes a copy for each of to that there is a way to. It takes the
// caller's reference, unless there are no copies.
func (d *Delivery) BindAll(to []*Dest, by *transport.Conn, copies []*Copy) []*Copy {
	for _, dest := range to {
		s := dest.route(d, by)
		if s == nil && dest.hop != nil {
			s = dest.hop.shared(d, dest.lane) // better in the way of others than nowhere
		}
		if s == nil {
			continue
		}
		c := copyPool.Get().(*Copy)
		*c = Copy{d: d, to: s, dest: dest, account: d.account(dest, s), multi: true}
		copies = append(copies, c)
	}
	n := len(copies)
	if n == 0 {
		return copies
	}
	d.retain(int32(n) - 1)
	d.unsent.Store(int32(n))
	d.spread = d.Content.Size()
	d.Content.Attach(int32(n))
	d.mu.Lock()
	d.tally.left, d.tally.open = n, n
	for _, c := range copies {
		c.charged = d.Content.Size()
		c.account.budget.Charge(c.charged)
		d.copies = append(d.copies, c)
	}
	d.bound = true
	d.mu.Unlock()
	d.from.unholdIf(by, !d.whole)
	return copies
}

func (d *Delivery) bind(c *Copy, by *transport.Conn) {
	if c.keep {
		d.Content.Attach(2)
		c.dest.source.Kept(d.Content.Size())
	} else {
		if c.solo = d.whole; !c.solo {
			d.Content.Attach(1)
		}
	}
	d.mu.Lock()
	c.charged = d.Content.Size()
	c.account.budget.Charge(c.charged)
	d.copies = append(d.copies[:0], c)
	d.bound = true
	d.mu.Unlock()
	d.from.unholdIf(by, !d.whole)
}

// Unbind undoes BindOne for a copy that was not begun; the caller has its
// reference again.
func (d *Delivery) Unbind(c *Copy) {
	c.detach(true)
	if c.keep {
		c.unkeep(true)
	}
	d.unbound()
}

func (d *Delivery) unbound() {
	d.mu.Lock()
	d.copies = d.copies[:0]
	d.bound, d.rebound = false, true
	d.mu.Unlock()
}

// Park prepares the delivery for waiting: it is made not to pin more memory
// than it needs.
func (d *Delivery) Park() {
	d.Content.Compact()
	d.Compact = true
}

// Complete tells whether all of the message has arrived.
func (d *Delivery) Complete() bool { return d.Content.Complete() }

// Aborted tells whether the sender has given the message up.
func (d *Delivery) Aborted() bool { return !d.whole && d.Content.Aborted() }

var copyPool = sync.Pool{New: func() any { return new(Copy) }}
