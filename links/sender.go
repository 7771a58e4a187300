package links

import (
	"slices"
	"sync"
	"sync/atomic"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
)

// A Source is what a Sender's deliveries come from: an address. Methods with
// by are called under the lock of that connection.
type Source interface {
	AddDestination(s *Sender, by *transport.Conn)
	// RemoveDestination tells that nothing may be bound to the link any more;
	// Return and then Released follow.
	RemoveDestination(s *Sender, by *transport.Conn)
	Released(s *Sender)
	// Supply tells that the link's credit reaches to limit now, and gets
	// deliveries bound as far as it may take them.
	Supply(s *Sender, by *transport.Conn, limit amqp.SequenceNo)
	// Resupply tells that the link is below its low mark again.
	Resupply(s *Sender, by *transport.Conn)
	// Return gives back copies that the link has not begun to send.
	Return(s *Sender, by *transport.Conn, unsent []Item)
	// Unbound tells that n deliveries that were bound will not be sent: their
	// credit is free again.
	Unbound(s *Sender, by *transport.Conn, n uint32)
	// Exhausted uses up the credit to its limit, which completes a drain,
	// unless something is bound that the link has not sent.
	Exhausted(s *Sender, deliveryCount amqp.SequenceNo) bool
	// Retry takes a delivery that a lost link had been sent, for another attempt.
	Retry(d *Delivery, by *transport.Conn)
	// Kept counts bytes that are kept for another attempt.
	Kept(n int64)
	// Expired counts a delivery whose time ran out before it was sent.
	Expired()
}

// A Sender is a link on which the router sends: stage three.
type Sender struct {
	limits Limits
	source Source
	ep     *transport.Endpoint
	mode   amqp.SenderSettleMode
	info   Info
	most   int64 // the receiver's max-message-size in bytes; 0 for any
	// defaultOutcome is used when the peer settles without an outcome (§3.5.3).
	defaultOutcome messaging.DeliveryState

	// Guarded by the connection's lock.
	deliveryCount amqp.SequenceNo
	limit         amqp.SequenceNo // deliveryCount may not reach it
	drain         bool
	taken         []Item // from the queue, in order
	next          int    // index into taken
	current       *Copy  // being written
	tag           uint64
	transfer      frames.Transfer
	tagBytes      [8]byte
	gone          bool
	drainAsked    bool

	passFrom  *Receiver // passed, not yet told
	passN     int64
	passBytes int64

	// Dest is the address's view of the link, guarded by the address's lock.
	Dest Dest

	budget    buffers.Budget // stage three
	concluded atomic.Uint32  // copies that have an outcome, for load balancing
	unsent    atomic.Int32   // messages bound and not begun
	begun     int32          // of those, begun and not counted down yet

	mu      sync.Mutex  // a leaf lock; guards the fields below
	queue   []Item      // bound and not yet taken
	held    []*Receiver // links held off until the low mark
	starved bool        // the address waits for the low mark
	closed  bool
	posted  atomic.Bool // a post about new work is under way

	Counters Counters
}

// Dest is what an address keeps about a destination.
type Dest struct {
	Limit   amqp.SequenceNo // as of the last flow
	Bound   amqp.SequenceNo // delivery-count when all that is bound has been sent
	Given   uint32          // deliveries bound so far
	Cost    uint32
	Index   int // among the address's destinations
	Batch   []Item
	Backlog []*Copy // multicast copies that wait for capacity
}

// Credit is the number of deliveries that may still be bound.
func (d *Dest) Credit() int32 { return d.Limit.Sub(d.Bound) }

// NewSender returns a link that is fed by src.
func NewSender(a *frames.Attach, limits Limits, src Source, info Info) *Sender {
	s := &Sender{limits: limits, source: src, mode: a.SenderSettleMode, info: info, most: int64(min(a.MaxMessageSize, 1<<62))}
	s.budget.High, s.budget.Low = limits.OutgoingHigh, limits.OutgoingLow
	if a.Source != nil && a.Source.DefaultOutcome != nil {
		s.defaultOutcome = decodeOutcome(a.Source.DefaultOutcome)
	}
	return s
}

// Bind implements transport.Link.
func (s *Sender) Bind(e *transport.Endpoint) { s.ep = e }

// Endpoint is the session's part of the link.
func (s *Sender) Endpoint() *transport.Endpoint { return s.ep }

// Session is the session that the link is attached to.
func (s *Sender) Session() *transport.Session { return s.ep.Session() }

// Conn is the connection that the link is on.
func (s *Sender) Conn() *transport.Conn { return s.ep.Conn() }

// Info is what the link was made with.
func (s *Sender) Info() Info { return s.info }

// Begin is called when the attach has been answered.
func (s *Sender) Begin() { s.source.AddDestination(s, s.Conn()) }

// Over tells whether the link is at its high mark, and if so has the address
// told when it is below the low mark again. It is called under the lock of the
// address.
func (s *Sender) Over() bool {
	if !s.budget.Over() && !s.crowded() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.budget.Over() && !s.crowded() {
		return false
	}
	s.starved = true
	return true
}

// crowded tells whether maxUnsent messages are bound, those counted that the
// address has not put into the queue yet.
func (s *Sender) crowded() bool { return int(s.unsent.Load())+len(s.Dest.Batch) >= maxUnsent }

// countDown counts messages that have been begun; when fewer than half of the
// most are left the address is told, if it waits for that. Not at half: the
// count may have been there while as many were on their way into the queue, and
// would not pass the mark then.
func (s *Sender) countDown(n int32) {
	if n == 0 {
		return
	}
	if after := s.unsent.Add(-n); after >= maxUnsent/2 || after+n < maxUnsent/2 {
		return
	}
	s.mu.Lock()
	starved := s.starved && !s.budget.Over()
	if starved {
		s.starved = false
	}
	s.mu.Unlock()
	if starved && !s.gone {
		s.source.Resupply(s, s.Conn())
	}
}

// slowAbove is the number of outgoing bytes from which on new messages probably
// wait, and had better not pin the memory that they were read into.
const slowAbove = 128 << 10

// Slow tells whether a message that is bound now will probably wait.
func (s *Sender) Slow() bool { return s.Conn().Blocked.Load() || s.budget.Used() >= slowAbove }

// Outgoing is the number of bytes in stage three.
func (s *Sender) Outgoing() int64 { return s.budget.Used() }

// Load is the number of deliveries bound to the link and without an outcome.
func (s *Sender) Load() uint32 { return s.Dest.Given - s.concluded.Load() }

// hold holds r off until the low mark, unless that has just been reached.
func (s *Sender) hold(r *Receiver) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.budget.Over() {
		return false
	}
	for _, h := range s.held {
		if h == r {
			return false
		}
	}
	s.held = append(s.held, r)
	return true
}

// feed lets r go. It has the next bytes of the message that is being written:
// what fills the link then are messages behind it, which cannot be written
// before it is complete, and to hold r off would hold off all of them for ever;
// a frame that it adds holds it again. Or the link takes no more of its message.
func (s *Sender) feed(r *Receiver) {
	s.mu.Lock()
	i := slices.Index(s.held, r)
	if i >= 0 {
		s.held = slices.Delete(s.held, i, i+1)
	}
	s.mu.Unlock()
	if i >= 0 {
		r.post(s.Conn(), transport.Post{To: r, Kind: postRelease})
	}
}

// credit takes n bytes off stage three; at the low mark those that were held off
// are let go.
func (s *Sender) credit(n int64) {
	if n == 0 || !s.budget.Credit(n) {
		return
	}
	s.mu.Lock()
	held, starved := s.held, s.starved
	s.held, s.starved = nil, false
	s.mu.Unlock()
	for _, r := range held {
		r.post(s.Conn(), transport.Post{To: r, Kind: postRelease})
	}
	if starved && !s.gone {
		s.source.Resupply(s, s.Conn())
	}
}

// Written implements transport.Sending.
func (s *Sender) Written(n int64) { s.credit(n) }

// Enqueue takes what have been bound to the link. It may be called from
// any connection; the address's lock keeps the order.
func (s *Sender) Enqueue(items []Item, by *transport.Conn) {
	s.unsent.Add(int32(len(items)))
	s.mu.Lock()
	s.queue = append(s.queue, items...)
	s.mu.Unlock()
	s.wake(by)
}

// wake sees to it that the link writes what it has.
func (s *Sender) wake(by *transport.Conn) {
	if !s.posted.Load() && s.posted.CompareAndSwap(false, true) {
		s.post(by, transport.Post{To: s, Kind: postActive})
	}
}

func (s *Sender) post(by *transport.Conn, p transport.Post) {
	c := s.Conn()
	c.Post(p)
	kick(by, c)
}

// HandlePost implements transport.PostHandler.
func (s *Sender) HandlePost(p *transport.Post) {
	switch p.Kind {
	case postActive:
		s.posted.Store(false)
		if !s.gone {
			s.Session().Ready(s.ep)
		}
	}
}

// Flow implements transport.Link: the receiver's credit (§2.6.7).
func (s *Sender) Flow(f *frames.Flow) error {
	if !f.HasLinkCredit {
		return nil
	}
	// A receiver that has not seen the initial delivery-count leaves it out.
	from := amqp.SequenceNo(0)
	if f.HasDeliveryCount {
		from = f.DeliveryCount
	}
	// Serial numbers reach half way round (RFC 1982); more credit than that
	// is as good as that much.
	s.limit = from + amqp.SequenceNo(min(f.LinkCredit, 1<<31-1))
	if s.limit.Less(s.deliveryCount) {
		s.limit = s.deliveryCount
	}
	s.drain, s.drainAsked = f.Drain, f.Drain
	s.source.Supply(s, s.Conn(), s.limit)
	s.unbind()
	if s.next == len(s.taken) {
		s.tryDrain() // for which no window is needed
	}
	if s.drain || s.current != nil || s.next < len(s.taken) {
		s.Session().Ready(s.ep)
	}
	return nil
}

// unbind gives back what was bound for credit that the receiver has taken back.
func (s *Sender) unbind() {
	s.take()
	unsent := s.taken[s.next:]
	keep := max(s.limit.Sub(s.deliveryCount), 0)
	if int(keep) >= len(unsent) {
		return
	}
	excess := append([]Item(nil), unsent[keep:]...)
	clear(unsent[keep:])
	s.taken = s.taken[:s.next+int(keep)]
	for _, it := range excess {
		s.release(it)
	}
	s.unsent.Add(-int32(len(excess)))
	s.source.Return(s, s.Conn(), excess)
}

// release takes the bytes of what was not sent off the link.
func (s *Sender) release(it Item) {
	c := it.C
	if c == nil {
		s.credit(int64(it.Payload.Len()))
		return
	}
	c.d.mu.Lock()
	n := c.charged
	c.charged, c.dead = 0, true
	c.d.mu.Unlock()
	s.feed(c.d.from)
	s.credit(n)
}

// Reclaim charges the link again for a copy that it has returned and that stays
// with it.
func (s *Sender) Reclaim(c *Copy) {
	c.d.mu.Lock()
	c.charged, c.dead = c.d.Content.Size(), false
	s.budget.Charge(c.charged)
	c.d.mu.Unlock()
}

// take moves the queue to where the connection's lock guards it.
func (s *Sender) take() {
	if s.next == len(s.taken) {
		clear(s.taken)
		s.taken, s.next = s.taken[:0], 0
	}
	s.mu.Lock()
	if len(s.queue) > 0 {
		if len(s.taken) == 0 {
			s.taken, s.queue = s.queue, s.taken
		} else {
			s.taken = append(s.taken, s.queue...)
			clear(s.queue)
			s.queue = s.queue[:0]
		}
	}
	s.mu.Unlock()
}

// FlowState implements transport.Link.
func (s *Sender) FlowState(f *frames.Flow) {
	f.HasDeliveryCount, f.DeliveryCount = true, s.deliveryCount
	f.HasLinkCredit, f.LinkCredit = true, uint32(max(s.limit.Sub(s.deliveryCount), 0))
	f.HasAvailable, f.Available = true, uint32(len(s.taken)-s.next)
	f.Drain = s.drain
}

// Credit is what the receiver will take now.
func (s *Sender) Credit() uint32 { return uint32(max(s.limit.Sub(s.deliveryCount), 0)) }

// tryDrain completes a drain if nothing is left to send: the credit is used up
// without deliveries (§2.6.7).
func (s *Sender) tryDrain() {
	if !s.drainAsked || s.current != nil || !s.source.Exhausted(s, s.deliveryCount) {
		return
	}
	s.deliveryCount = s.limit
	s.drainAsked = false
	s.ep.WantFlow()
}

// outcome counts an outcome of the receiver.
func (s *Sender) outcome(c *Copy, state messaging.DeliveryState) {
	s.concluded.Add(1)
	switch state.Kind {
	case messaging.StateAccepted:
		s.Counters.Accepted++
	case messaging.StateRejected:
		s.Counters.Rejected++
	case messaging.StateReleased:
		s.Counters.Released++
	case messaging.StateModified:
		s.Counters.Modified++
	}
}

// Gone implements transport.Link.
func (s *Sender) Gone(closed bool) {
	if s.gone {
		return
	}
	s.gone = true
	if s.ep == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	first := s.current
	var cut *Copy
	if first != nil && first.started {
		// The message that is being written cannot be completed. If it was sent
		// settled, or has its outcome, nobody else will finish the copy.
		cut, first = first, nil
		cut.stop()
		if !cut.settled && !cut.over {
			cut = nil // it is in the session's table
		}
	}
	s.current = nil
	s.source.RemoveDestination(s, s.Conn())
	s.take()
	var unsent []Item
	if first != nil { // it was waiting for its first byte
		unsent = append(unsent, Item{C: first})
	}
	unsent = append(unsent, s.taken[s.next:]...)
	s.taken, s.next = nil, 0
	for _, it := range unsent {
		s.release(it)
	}
	s.source.Return(s, s.Conn(), unsent)
	switch {
	case cut == nil:
	case cut.over:
		cut.finish()
	default:
		cut.Lost() // its sender may want an outcome all the same
	}
	s.mu.Lock()
	held := s.held
	s.held = nil
	s.mu.Unlock()
	for _, r := range held {
		r.post(s.Conn(), transport.Post{To: r, Kind: postRelease})
	}
	s.flushPassed()
	s.source.Released(s)
}

// Forget drops a copy that the link has not begun to send.
func (s *Sender) Forget(c *Copy, state messaging.DeliveryState) {
	s.release(Item{C: c})
	c.over, c.sent = true, true
	c.detach(false)
	c.unsent()
	c.resolve(true, state)
	c.finish()
}

// decodeOutcome reads the default-outcome of a source; what cannot be read
// counts as none.
func decodeOutcome(raw []byte) messaging.DeliveryState {
	d := encoding.NewDecoder(raw)
	state, err := messaging.DecodeDeliveryState(&d)
	if err != nil {
		return messaging.DeliveryState{}
	}
	return state.Clone()
}
