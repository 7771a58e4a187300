package links

import (
	"sync"
	"sync/atomic"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
)

// A Sender is a link on which the router sends: stage three.
type Sender struct {
	limits Limits
	conn   *transport.Conn
	ep     *transport.Endpoint
	mode   amqp.SenderSettleMode
	second bool // the receiver settles when the sender has (§2.8.3)
	info   Info
	watch  *Watch
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
	prefix        []byte // reused by compose

	passFrom  *Receiver // passed, not yet told
	passN     int64
	passBytes int64

	// Dest is the address's view of the link. A link to another router has
	// messages of many addresses; of its own it only has the account of a
	// stream's bytes.
	Dest  Dest
	begun int32 // messages begun and not counted down yet

	router   bool // leads to another router: annotations are added, and outcomes wanted
	stream   bool // carries one message at a time
	way      *Way // the connection to the other router
	busy     bool // carries a stream; guarded by way.mu
	priority int  // of the messages it carries, if whole ones

	mu     sync.Mutex // a leaf lock; guards the fields below
	queue  []Item     // bound and not yet taken
	closed bool
	posted atomic.Bool // a post about new work is under way

	Counters Counters
}

// NewSender returns a link that is fed by src.
func NewSender(a *frames.Attach, limits Limits, src Source, info Info) *Sender {
	s := &Sender{limits: limits, mode: a.SenderSettleMode, second: a.ReceiverSettleMode == amqp.ReceiverSettleSecond, info: info, most: int64(min(a.MaxMessageSize, 1<<62))}
	s.Dest.init(s, src)
	if a.Source != nil && a.Source.DefaultOutcome != nil {
		s.defaultOutcome = decodeOutcome(a.Source.DefaultOutcome)
	}
	return s
}

// Bind implements transport.Link.
func (s *Sender) Bind(e *transport.Endpoint) {
	s.ep = e
	if s.conn == nil { // one for a stream has it from the beginning, and is known to others
		s.conn = e.Conn()
	}
}

// Endpoint is the session's part of the link.
func (s *Sender) Endpoint() *transport.Endpoint { return s.ep }

// Session is the session that the link is attached to.
func (s *Sender) Session() *transport.Session { return s.ep.Session() }

// Conn is the connection that the link is on.
func (s *Sender) Conn() *transport.Conn { return s.conn }

// Info is what the link was made with.
func (s *Sender) Info() Info { return s.info }

// Begin is called when the attach has been answered: the link is a destination.
func (s *Sender) Begin() {
	if s.Dest.source != nil {
		s.Dest.source.AddDestination(&s.Dest, s.Conn())
	}
}

// Join makes a link of this end's a destination of its address, after Answered,
// and again after Leave.
func (s *Sender) Join() {
	if !s.gone {
		s.Dest.source.AddDestination(&s.Dest, s.Conn())
		s.Dest.source.Resupply(&s.Dest, s.Conn())
	}
}

// Leave ends what Begin or Join has begun, without the end of the link: what has
// not been sent goes back to the address, and what has been keeps its outcome.
func (s *Sender) Leave() {
	if s.gone {
		return
	}
	s.Dest.source.RemoveDestination(&s.Dest, s.Conn())
	s.take()
	unsent := append([]Item(nil), s.taken[s.next:]...)
	clear(s.taken)
	s.taken, s.next = s.taken[:0], 0
	if first := s.current; first != nil && !first.started {
		unsent = append([]Item{{C: first}}, unsent...)
		s.current = nil
		s.begun-- // it is counted down with the others
	}
	s.giveBack(unsent)
	if len(unsent) == 0 {
		s.Dest.source.Return(&s.Dest, s.Conn(), nil)
	}
	s.flushPassed()
}

// slowAbove is the number of outgoing bytes from which on new messages probably
// wait, and had better not pin the memory that they were read into.
const slowAbove = 128 << 10

// Outgoing is the number of bytes in stage three.
func (s *Sender) Outgoing() int64 { return s.Dest.Outgoing() }

// Load is the number of deliveries bound to the link and without an outcome.
func (s *Sender) Load() uint32 { return s.Dest.Load() }

// Written implements transport.Sending.
func (s *Sender) Written(n int64) { s.Dest.credit(n, s.conn) }

// enqueue takes what has been bound to the link, unless it has gone.
func (s *Sender) enqueue(items []Item, by *transport.Conn) bool {
	s.mu.Lock()
	if s.closed && s.Dest.source == nil {
		s.mu.Unlock()
		return false
	}
	s.queue = append(s.queue, items...)
	s.mu.Unlock()
	s.wake(by)
	return true
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
		if !s.gone && s.ep != nil {
			s.Session().Ready(s.ep)
		}
	default:
		s.handleStream(p.Kind)
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
	if s.Dest.source != nil {
		s.Dest.source.Supply(&s.Dest, s.Conn(), s.limit)
	}
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
	s.giveBack(excess)
}

// giveBack returns what was not begun to where it comes from.
func (s *Sender) giveBack(items []Item) {
	for len(items) > 0 {
		d, n := s.destOf(items[0]), 1
		for n < len(items) && s.destOf(items[n]) == d {
			n++
		}
		for _, it := range items[:n] {
			d.release(it, s.Conn())
		}
		d.counts(s, -int32(n))
		d.source.Return(d, s.Conn(), items[:n])
		items = items[n:]
	}
}

func (s *Sender) destOf(it Item) *Dest {
	if it.C == nil {
		return &s.Dest
	}
	return it.C.dest
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
	if !s.drainAsked || s.current != nil || s.Dest.source != nil && !s.Dest.source.Exhausted(&s.Dest, s.deliveryCount) {
		return
	}
	s.deliveryCount = s.limit
	s.drainAsked = false
	s.ep.WantFlow()
}

// outcome counts an outcome of the receiver: the one that the sender has been told,
// if there is one.
func (s *Sender) outcome(c *Copy, kind messaging.StateKind) {
	if c.told != 0 {
		kind = c.told
	}
	c.dest.conclude(c, s.Conn())
	s.Counters.ended(c.d.Arrived, s.Conn().Now)
	switch kind {
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
	if s.conn == nil {
		return
	}
	s.watch.leaving()
	defer s.watch.ended()
	if s.way != nil {
		// Before the queue is closed, so that whoever finds it closed finds no
		// way to it again.
		s.way.drop(s)
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
	if s.Dest.source != nil {
		s.Dest.source.RemoveDestination(&s.Dest, s.Conn())
		if s.Dest.apart != nil {
			s.Dest.apart.forget(&s.Dest)
		}
	}
	s.take()
	var unsent []Item
	if first != nil { // it was waiting for its first byte
		unsent = append(unsent, Item{C: first})
	}
	unsent = append(unsent, s.taken[s.next:]...)
	s.taken, s.next = nil, 0
	s.giveBack(unsent)
	if s.Dest.source != nil && len(unsent) == 0 {
		s.Dest.source.Return(&s.Dest, s.Conn(), nil)
	}
	switch {
	case cut == nil:
	case cut.over:
		cut.finish()
	default:
		cut.Lost() // its sender may want an outcome all the same
	}
	s.Dest.shut(s.Conn())
	s.flushPassed()
	s.info.Past.add(&s.Counters)
	if s.Dest.source != nil {
		s.Dest.source.Released(&s.Dest)
	}
}

// retire ends a link that carries one message at a time.
func (s *Sender) retire(by *transport.Conn) {
	if s.stream {
		s.way.retire(s, by)
	}
}

// free gives a link that carries one message at a time back.
func (s *Sender) free(by *transport.Conn) {
	if s.stream {
		s.way.free(s, by)
	}
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
