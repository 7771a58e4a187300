package links

import (
	"encoding/binary"
	"sync"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
)

// ControlSenderOptions are what a ControlSender is made from.
type ControlSenderOptions struct {
	// QueueBytes bounds what the link holds: the bytes of messages that have
	// not left for the socket, and controlOverhead for each message that has no
	// outcome. The bound is hard.
	QueueBytes int64

	ControlEvents
}

// controlOverhead is what a message counts for besides its bytes, so that the
// bound holds for those that have none, and for peers that never settle.
const controlOverhead = 64

// A ControlSender is a link on which the control plane sends. But for Send and
// Queued it is guarded by the lock of its connection.
type ControlSender struct {
	controlEnd
	o              ControlSenderOptions
	mode           amqp.SenderSettleMode
	most           uint64 // the receiver's max-message-size in bytes; 0 for any
	defaultOutcome messaging.DeliveryState

	deliveryCount amqp.SequenceNo
	limit         amqp.SequenceNo // deliveryCount may not reach it
	drain         bool            // as the receiver's last flow says
	draining      bool            // and not answered yet
	current       *controlCopy    // being written
	tag           uint64
	tagBytes      [8]byte
	transfer      frames.Transfer

	mu     sync.Mutex      // a leaf lock; guards the fields below
	conn   *transport.Conn // once the link is bound
	queue  []*controlCopy
	used   int64 // of QueueBytes
	closed bool
	posted bool // news about the queue is under way
}

// controlCopy is a message that a ControlSender has accepted.
type controlCopy struct {
	s       *ControlSender
	id      amqp.DeliveryNumber
	rest    []byte // not yet written
	outcome func(messaging.DeliveryState)
	settled bool // wanted so; from the first transfer on, sent so
	started bool
	sent    bool // nothing more will be written
	over    bool // the outcome has been reported
}

// NewControlSender returns a link on which the control plane sends. a is the
// attach of a peer that begins the link; nil where this router does.
func NewControlSender(a *frames.Attach, o ControlSenderOptions) *ControlSender {
	s := &ControlSender{o: o, mode: amqp.SenderSettleMixed}
	s.events = o.ControlEvents
	if a != nil {
		s.accept(a)
	}
	return s
}

func (s *ControlSender) accept(a *frames.Attach) {
	s.mode, s.most = a.SenderSettleMode, a.MaxMessageSize
	if a.Source != nil && a.Source.DefaultOutcome != nil {
		s.defaultOutcome = decodeOutcome(a.Source.DefaultOutcome)
	}
}

// Bind implements transport.Link.
func (s *ControlSender) Bind(e *transport.Endpoint) {
	s.ep = e
	s.mu.Lock()
	s.conn = e.Conn()
	s.mu.Unlock()
}

// Answered implements transport.Initiated.
func (s *ControlSender) Answered(a *frames.Attach) {
	s.accept(a)
	s.answered(a)
}

// Queued is what the link holds of QueueBytes now. It may be called from
// anywhere.
func (s *ControlSender) Queued() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Send has a message sent, when the peer's credit and window allow, in the order
// of the calls. It may be called from any goroutine, and before the link is
// attached. The message is taken.
//
// Without an error outcome, if not nil, is called exactly once, under the lock
// of the connection: with the receiver's outcome; for messages that are sent
// settled with accepted, when they are written; with released or modified if
// the link ends before, for those that it has not begun and those that it has;
// with rejected for those that the receiver has said to be too large. Its state
// is owned. The error is ErrQueueFull or ErrLinkGone.
func (s *ControlSender) Send(message []byte, settled bool, outcome func(messaging.DeliveryState)) error {
	c := &controlCopy{s: s, rest: message, settled: settled, outcome: outcome}
	cost := int64(len(message)) + controlOverhead
	s.mu.Lock()
	switch {
	case s.closed:
		s.mu.Unlock()
		return ErrLinkGone
	case s.used+cost > s.o.QueueBytes:
		s.mu.Unlock()
		return ErrQueueFull
	}
	s.used += cost
	s.queue = append(s.queue, c)
	conn := s.conn
	first := conn != nil && !s.posted
	if first {
		s.posted = true
	}
	s.mu.Unlock()
	if first {
		conn.Post(transport.Post{To: s})
		kick(nil, conn)
	}
	return nil
}

// HandlePost implements transport.PostHandler.
func (s *ControlSender) HandlePost(*transport.Post) {
	s.mu.Lock()
	s.posted = false
	s.mu.Unlock()
	if !s.gone {
		s.ep.Session().Ready(s.ep)
	}
}

// free takes n off what the link holds.
func (s *ControlSender) free(n int64) {
	s.mu.Lock()
	s.used -= n
	s.mu.Unlock()
}

// Written implements transport.Sending.
func (s *ControlSender) Written(n int64) { s.free(n) }

// Flow implements transport.Link (§2.6.7).
func (s *ControlSender) Flow(f *frames.Flow) error {
	if !f.HasLinkCredit {
		return nil
	}
	from := amqp.SequenceNo(0) // a receiver that has not seen our count leaves it out
	if f.HasDeliveryCount {
		from = f.DeliveryCount
	}
	s.limit = from + amqp.SequenceNo(min(f.LinkCredit, 1<<31-1))
	if s.limit.Less(s.deliveryCount) {
		s.limit = s.deliveryCount
	}
	s.drain, s.draining = f.Drain, f.Drain
	s.tryDrain() // for which no window is needed
	s.ep.Session().Ready(s.ep)
	return nil
}

// FlowState implements transport.Link.
func (s *ControlSender) FlowState(f *frames.Flow) {
	f.HasDeliveryCount, f.DeliveryCount = true, s.deliveryCount
	f.HasLinkCredit, f.LinkCredit = true, uint32(s.limit.Sub(s.deliveryCount))
	f.HasAvailable, f.Available = true, uint32(s.waiting())
	f.Drain = s.drain
}

func (s *ControlSender) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// tryDrain answers a drain when nothing is left that could be sent: the credit
// is used up (§2.6.7).
func (s *ControlSender) tryDrain() {
	if !s.draining || s.current != nil || s.deliveryCount != s.limit && s.waiting() > 0 {
		return
	}
	s.deliveryCount, s.draining = s.limit, false
	s.ep.WantFlow()
}

// WriteTransfers implements transport.Sending.
func (s *ControlSender) WriteTransfers(o *transport.Output, room int) (again bool) {
	for room > 0 && !o.Full() && s.ep.Session().RemoteWindow() > 0 {
		if s.gone {
			return false
		}
		if s.current == nil {
			if s.current = s.pop(); s.current == nil {
				s.tryDrain()
				return false
			}
		}
		room -= s.write(o, s.current)
	}
	return true
}

// pop returns the next message, if there is credit for it.
func (s *ControlSender) pop() *controlCopy {
	for s.deliveryCount.Less(s.limit) {
		s.mu.Lock()
		if len(s.queue) == 0 {
			s.queue = nil
			s.mu.Unlock()
			return nil
		}
		c := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		s.mu.Unlock()
		if s.most == 0 || uint64(len(c.rest)) <= s.most {
			return c
		}
		c.drop()
		c.conclude(messaging.Rejected(amqp.Errorf(amqp.CondMessageSizeExceeded, "the receiver takes no messages of more than %d bytes", s.most)))
	}
	return nil
}

// write writes one frame of c and returns about how large it is.
func (s *ControlSender) write(o *transport.Output, c *controlCopy) int {
	t := &s.transfer
	*t = frames.Transfer{Handle: uint32(s.ep.Handle())}
	if c.over { // the receiver has settled and wants no more of it
		t.Aborted, t.Settled, t.HasSettled = true, true, true
		s.ep.Session().Send(o, s.ep, t, nil)
		s.current = nil
		c.drop()
		return controlOverhead
	}
	if !c.started {
		c.started = true
		s.deliveryCount++
		s.tag++
		c.settled = s.mode == amqp.SenderSettleSettled || c.settled && s.mode == amqp.SenderSettleMixed
		if c.settled {
			c.id = s.ep.Session().NextDelivery(nil)
		} else {
			c.id = s.ep.Session().NextDelivery(c)
		}
		t.HasDeliveryID, t.DeliveryID = true, c.id
		t.HasDeliveryTag, t.DeliveryTag = true, binary.BigEndian.AppendUint64(s.tagBytes[:0], s.tag)
		t.HasMessageFormat = true
	}
	t.HasSettled, t.Settled = true, c.settled
	t.More = true // as far as the size of the frame depends on it
	n := min(len(c.rest), s.ep.Session().Room(t))
	t.More = n < len(c.rest)
	s.ep.Session().Send(o, s.ep, t, c.rest[:n])
	c.rest = c.rest[n:]
	if n > 0 {
		o.Charge(s, int64(n))
	}
	if !t.More {
		s.current = nil
		c.sent = true
		if c.settled {
			c.conclude(messaging.Accepted)
		}
	}
	return n + controlOverhead
}

// drop gives up what has not been written.
func (c *controlCopy) drop() {
	c.sent = true
	c.s.free(int64(len(c.rest)))
	c.rest = nil
}

// conclude reports the outcome, which is taken.
func (c *controlCopy) conclude(state messaging.DeliveryState) {
	if c.over {
		return
	}
	c.over = true
	c.s.free(controlOverhead)
	if c.outcome != nil {
		c.outcome(state)
	}
}

// Link implements transport.Unsettled.
func (c *controlCopy) Link() transport.Link { return c.s }

// Disposed implements transport.Unsettled.
func (c *controlCopy) Disposed(p *transport.Disposition) bool {
	state := p.State
	if !p.Settled {
		if !state.IsTerminal() {
			return false
		}
		// The receiver settles second: it is told so now (§2.6.12).
		c.s.ep.Session().Dispose(amqp.RoleSender, c.id, true, messaging.DeliveryState{})
	}
	if !state.IsTerminal() {
		state = c.s.defaultOutcome
	}
	c.conclude(state.Clone())
	if !c.sent && !c.s.gone {
		c.s.ep.Session().Ready(c.s.ep) // to abort the rest
	}
	return true
}

// Resolved implements transport.Unsettled. Outcomes come from the peer only.
func (c *controlCopy) Resolved(*transport.Disposition) bool { return c.over }

// Lost implements transport.Unsettled.
func (c *controlCopy) Lost() { c.conclude(messaging.Modified(true, false, nil)) }

// Gone implements transport.Link: what has not been begun is released; what has
// and is not settled has failed.
func (s *ControlSender) Gone(bool) {
	s.gone = true
	s.mu.Lock()
	s.closed = true
	queue := s.queue
	s.queue = nil
	s.mu.Unlock()
	if c := s.current; c != nil {
		s.current = nil
		c.drop()
		if c.settled {
			c.conclude(messaging.Modified(true, false, nil))
		}
	}
	for _, c := range queue {
		c.drop()
		c.conclude(messaging.Released)
	}
	s.ended()
}
