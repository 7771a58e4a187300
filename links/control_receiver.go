package links

import (
	"sync"
	"sync/atomic"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
)

// ControlReceiverOptions are what a ControlReceiver is made from.
type ControlReceiverOptions struct {
	// Credit is the number of deliveries that the peer may send and that the
	// control plane is not done with, at least 1. It comes back with
	// ControlMessage.Done, in batches: a control plane that is slow costs its
	// peers credit.
	Credit uint32
	// MaxMessageSize is the size of the largest message in bytes. A larger one
	// ends the link with amqp:link:message-size-exceeded. Memory is bounded by
	// this times Credit. The attach should announce it.
	MaxMessageSize int64
	// Deliver takes each message that is complete, under the lock of the
	// connection. It must not block.
	Deliver func(ControlMessage)

	ControlEvents
}

// A ControlReceiver is a link on which the peer sends to the control plane. But
// for Done of its messages it is guarded by the lock of its connection.
type ControlReceiver struct {
	controlEnd
	o    ControlReceiverOptions
	mode amqp.ReceiverSettleMode

	deliveryCount amqp.SequenceNo // deliveries that have begun to arrive
	limit         amqp.SequenceNo // first delivery that has not been granted
	open          uint32          // deliveries that have begun and are not done

	current *controlDelivery // between its first and last frame
	bytes   []byte           // of current

	mu     sync.Mutex    // a leaf lock; guards the fields below
	done   []controlDone // what the control plane is done with
	posted bool          // somebody will look at done
}

// A ControlMessage is a message for the control plane.
type ControlMessage struct {
	// Bytes are the whole message. They belong to whoever gets it.
	Bytes []byte
	// Settled tells that the sender wants no outcome.
	Settled bool
	// Format is the message-format.
	Format uint32

	d *controlDelivery
}

// controlDelivery is a delivery that the control plane is not done with.
type controlDelivery struct {
	r        *ControlReceiver
	id       amqp.DeliveryNumber
	format   uint32
	finished atomic.Bool // Done has been called
	// Guarded by the lock of the connection.
	settled  bool // the sender has settled, or wants no outcome
	resolved bool // the outcome has been sent, and the sender settles second
}

type controlDone struct {
	d     *controlDelivery
	state messaging.DeliveryState
}

// NewControlReceiver returns a link that gets messages for the control plane. a
// is the attach of a peer that begins the link; nil where this router does.
func NewControlReceiver(a *frames.Attach, o ControlReceiverOptions) *ControlReceiver {
	r := &ControlReceiver{o: o}
	r.events = o.ControlEvents
	r.o.Credit = min(max(o.Credit, 1), 1<<30)
	if a != nil {
		r.accept(a)
	}
	return r
}

func (r *ControlReceiver) accept(a *frames.Attach) {
	r.mode = a.ReceiverSettleMode
	r.deliveryCount, r.limit = a.InitialDeliveryCount, a.InitialDeliveryCount
}

// Bind implements transport.Link.
func (r *ControlReceiver) Bind(e *transport.Endpoint) { r.ep = e }

// Begin is called when the peer's attach has been answered: it grants credit.
func (r *ControlReceiver) Begin() { r.grant() }

// Answered implements transport.Initiated.
func (r *ControlReceiver) Answered(a *frames.Attach) {
	r.accept(a)
	r.answered(a)
	r.grant()
}

// grant tops the credit up when half of it has come back, or the peer has none.
func (r *ControlReceiver) grant() {
	left := uint32(r.limit.Sub(r.deliveryCount))
	room := r.o.Credit - r.open - left
	if r.gone || room == 0 || left > 0 && room < (r.o.Credit+1)/2 {
		return
	}
	r.limit += amqp.SequenceNo(room)
	r.ep.WantFlow()
}

// Flow implements transport.Link.
func (r *ControlReceiver) Flow(f *frames.Flow) error {
	if f.HasDeliveryCount && r.deliveryCount.Less(f.DeliveryCount) && !r.limit.Less(f.DeliveryCount) {
		r.deliveryCount = f.DeliveryCount // the sender has given up credit
		r.grant()
	}
	return nil
}

// FlowState implements transport.Link.
func (r *ControlReceiver) FlowState(f *frames.Flow) {
	f.HasDeliveryCount, f.DeliveryCount = true, r.deliveryCount
	f.HasLinkCredit, f.LinkCredit = true, uint32(r.limit.Sub(r.deliveryCount))
}

// Transfer implements transport.Receiving. Frames never wait in stage one: their
// bytes are collected here.
func (r *ControlReceiver) Transfer(t *frames.Transfer, payload buffers.Slice) error {
	defer payload.Release()
	s := r.ep.Session()
	s.Pulled(1)
	if r.ep.FirstTransfer() {
		if err := r.begin(t); err != nil {
			return err
		}
	}
	d := r.current
	if t.Settled && !d.settled {
		d.settled = true
		s.Unsettle(d.id)
	}
	if t.Aborted {
		r.abort()
		return nil
	}
	if size := int64(len(r.bytes)) + int64(payload.Len()); size > r.o.MaxMessageSize {
		return r.oversize(d)
	}
	r.bytes = append(r.bytes, payload.Bytes()...)
	if t.More {
		return nil
	}
	m := ControlMessage{Bytes: r.bytes, Settled: d.settled, Format: d.format, d: d}
	r.current, r.bytes = nil, nil
	r.deliver(m)
	return nil
}

func (r *ControlReceiver) begin(t *frames.Transfer) error {
	switch {
	case r.deliveryCount == r.limit:
		return r.fail(amqp.Errorf(amqp.CondTransferLimitExceeded, "delivery %d was sent without credit", t.DeliveryID))
	case t.Resume:
		return r.fail(amqp.Errorf(amqp.CondNotImplemented, "deliveries are not resumed here"))
	case t.State.Kind == messaging.StateTransactional:
		return r.fail(amqp.Errorf(amqp.CondNotImplemented, "transactions are not supported"))
	}
	r.deliveryCount++
	r.open++
	r.current = &controlDelivery{r: r, id: t.DeliveryID, format: t.MessageFormat, settled: t.Settled}
	if !t.Settled {
		r.ep.Session().Received(t.DeliveryID, r.current)
	}
	return nil
}

// fail makes an error that ends the link.
func (r *ControlReceiver) fail(err *amqp.Error) error {
	r.err = err
	return &transport.LinkError{Wire: err}
}

// abort forgets the current delivery, which is settled by that (§2.7.5).
func (r *ControlReceiver) abort() {
	d := r.current
	r.current, r.bytes = nil, nil
	if !d.settled {
		r.ep.Session().Unsettle(d.id)
	}
	r.open--
	r.grant()
}

// oversize ends the link because of a message beyond max-message-size (§2.7.3).
func (r *ControlReceiver) oversize(d *controlDelivery) error {
	err := amqp.Errorf(amqp.CondMessageSizeExceeded, "the message is larger than the max-message-size of %d bytes", r.o.MaxMessageSize)
	if !d.settled {
		r.ep.Session().Unsettle(d.id)
		r.ep.Session().Dispose(amqp.RoleReceiver, d.id, true, messaging.Rejected(err))
	}
	return r.fail(err)
}

// deliver hands m over. Messages that are done within the call need no post.
func (r *ControlReceiver) deliver(m ControlMessage) {
	r.mu.Lock()
	mine := !r.posted
	r.posted = true
	r.mu.Unlock()
	r.o.Deliver(m)
	if mine {
		r.take()
	}
	r.grant() // the message may have used the last of the credit
}

// Done tells that the control plane is done with the message: its credit goes
// back to the peer, and if the message is not settled state is its outcome, which
// is taken. The first call counts. It may come from any goroutine, from within
// Deliver, and after the link is gone.
func (m ControlMessage) Done(state messaging.DeliveryState) {
	d := m.d
	if d.finished.Swap(true) {
		return
	}
	r := d.r
	r.mu.Lock()
	r.done = append(r.done, controlDone{d, state})
	first := !r.posted
	r.posted = true
	r.mu.Unlock()
	if first {
		c := r.ep.Conn()
		c.Post(transport.Post{To: r})
		kick(nil, c)
	}
}

// HandlePost implements transport.PostHandler.
func (r *ControlReceiver) HandlePost(*transport.Post) { r.take() }

// take handles what the control plane is done with.
func (r *ControlReceiver) take() {
	r.mu.Lock()
	list := r.done
	r.done, r.posted = nil, false
	r.mu.Unlock()
	for _, e := range list {
		r.resolve(e.d, e.state)
	}
	if len(list) > 0 {
		r.grant()
	}
}

func (r *ControlReceiver) resolve(d *controlDelivery, state messaging.DeliveryState) {
	if !d.settled {
		second := r.mode == amqp.ReceiverSettleSecond
		r.ep.Session().Dispose(amqp.RoleReceiver, d.id, !second, state)
		if second { // the sender settles (§2.6.12), and then it is over
			d.resolved = true
			return
		}
		d.settled = true
		r.ep.Session().Unsettle(d.id)
	}
	r.open--
}

// Link implements transport.Unsettled.
func (d *controlDelivery) Link() transport.Link { return d.r }

// Disposed implements transport.Unsettled: the sender may settle at any time.
func (d *controlDelivery) Disposed(p *transport.Disposition) bool {
	if !p.Settled {
		return false
	}
	d.settled = true
	if d.resolved {
		d.r.open--
		d.r.grant()
	}
	return true
}

// Resolved implements transport.Unsettled. Outcomes come from the control plane
// and not from other connections.
func (d *controlDelivery) Resolved(*transport.Disposition) bool { return false }

// Lost implements transport.Unsettled.
func (d *controlDelivery) Lost() { d.settled = true }

// Gone implements transport.Link.
func (r *ControlReceiver) Gone(bool) {
	r.gone = true
	r.current, r.bytes = nil, nil
	r.ended()
}
