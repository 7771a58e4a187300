package raw

import (
	"fmt"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
)

// A Receiver is a link to receive on.
type Receiver struct {
	s    *Session
	l    *link
	name string
	o    ReceiverOptions

	deliveryCount amqp.SequenceNo
	limit         amqp.SequenceNo // first delivery without credit
	inDelivery    bool
	id            amqp.DeliveryNumber
	settled       bool
	messages      int
	bytes         int64
	unsettled     int
	drained       bool
}

// ReceiverOptions say what to do with messages.
type ReceiverOptions struct {
	Name string // "": the address
	// Credit is topped up when half of it is used. 0: AddCredit gives it.
	Credit uint32
	// Manual leaves unsettled messages to Settle; otherwise they are accepted.
	Manual bool
	// Frame is called for each transfer, under the lock of the Conn: it must
	// not call anything of this package but Message. Payload is borrowed.
	Frame   func(m *Frame)
	Dynamic bool
	Async   bool
	Attach  func(*frames.Attach)
}

// A Frame is one transfer of a message.
type Frame struct {
	ID      amqp.DeliveryNumber
	First   bool
	Last    bool
	Aborted bool
	Settled bool
	Format  uint32 // with First
	Payload []byte // borrowed
}

// Receiver attaches a link to receive from an address.
func (s *Session) Receiver(address string, o ReceiverOptions) (*Receiver, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if o.Name == "" {
		o.Name = fmt.Sprintf("%s-%d", address, len(s.links))
	}
	in := &Receiver{s: s, name: o.Name, o: o}
	in.l = &link{receiver: in}
	a := &frames.Attach{
		Name: o.Name, Role: amqp.RoleReceiver, SenderSettleMode: amqp.SenderSettleMixed,
		Source: &messaging.Source{Address: address, HasAddress: address != "", Dynamic: o.Dynamic},
		Target: messaging.TargetField{Target: &messaging.Target{Address: "here", HasAddress: true}},
	}
	if o.Attach != nil {
		o.Attach(a)
	}
	if err := s.attach(in.l, a, !o.Async); err != nil || o.Async {
		return in, err
	}
	in.begin()
	return in, nil
}

// MustReceiver is a Receiver of a session that is known to work.
func (s *Session) MustReceiver(address string, o ReceiverOptions) *Receiver {
	in, err := s.Receiver(address, o)
	if err != nil {
		panic(err)
	}
	return in
}

// Await waits for the answer to an attach, and gives credit then.
func (x *Receiver) Await() error {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	if err := x.s.await(x.l); err != nil {
		return err
	}
	x.begin()
	return nil
}

func (x *Receiver) begin() {
	x.deliveryCount = x.l.attached.InitialDeliveryCount
	x.limit = x.deliveryCount
	if x.o.Credit > 0 {
		x.topUp()
	}
}

// Address is the address of the source, which the peer chose for a dynamic one.
func (x *Receiver) Address() string { return x.l.attached.Source.Address }

func (x *Receiver) topUp() {
	x.limit = x.deliveryCount + amqp.SequenceNo(x.o.Credit)
	x.sendFlow(false)
}

func (x *Receiver) sendFlow(drain bool) {
	f := x.s.flow()
	f.HasHandle, f.Handle = true, x.l.handle
	f.HasDeliveryCount, f.DeliveryCount = true, x.deliveryCount
	f.HasLinkCredit, f.LinkCredit = true, uint32(x.limit.Sub(x.deliveryCount))
	f.Drain = drain
	x.s.c.append(x.s.channel, f)
}

// AddCredit gives n more credit.
func (x *Receiver) AddCredit(n uint32) {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	x.limit += amqp.SequenceNo(n)
	x.sendFlow(false)
}

// SetCredit makes credit be topped up to n from now on.
func (x *Receiver) SetCredit(n uint32) {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	x.o.Credit = n
	x.topUp()
}

// Drain asks for what is there and waits until it has come.
func (x *Receiver) Drain() error {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	x.drained = false
	x.sendFlow(true)
	return x.s.c.wait(func() bool { return x.drained })
}

func (x *Receiver) flow(f *frames.Flow) {
	if f.HasDeliveryCount {
		x.deliveryCount = f.DeliveryCount
	}
	if f.HasLinkCredit && f.LinkCredit == 0 && x.limit.Sub(x.deliveryCount) <= 0 {
		x.drained = true
	}
}

func (s *Session) transfer(body []byte) error {
	var t frames.Transfer
	payload, err := t.Decode(body)
	if err != nil {
		return err
	}
	if s.window == 0 {
		return fmt.Errorf("raw: transfer beyond the incoming-window")
	}
	s.nextIncomingID++
	s.window--
	l := s.byPeer[t.Handle]
	if l == nil || l.receiver == nil {
		return nil // detached
	}
	if err := l.receiver.transfer(&t, payload); err != nil {
		return err
	}
	s.reopen(false)
	return nil
}

func (x *Receiver) transfer(t *frames.Transfer, payload []byte) error {
	f := Frame{First: !x.inDelivery, Last: !t.More || t.Aborted, Aborted: t.Aborted, Payload: payload}
	if f.First {
		if x.limit.Sub(x.deliveryCount) <= 0 {
			return fmt.Errorf("raw: transfer without credit on %s", x.name)
		}
		x.deliveryCount++
		x.id, x.settled = t.DeliveryID, t.Settled
		f.Format = t.MessageFormat
	}
	x.settled = x.settled || t.Settled
	f.ID, f.Settled = x.id, x.settled
	x.inDelivery = !f.Last
	x.bytes += int64(len(payload))
	if x.o.Frame != nil {
		x.o.Frame(&f)
	}
	if !f.Last {
		return nil
	}
	x.messages++
	if !f.Aborted && !x.settled {
		if x.o.Manual {
			x.unsettled++
		} else {
			x.s.accept(x.id)
		}
	}
	if x.o.Credit > 0 && x.limit.Sub(x.deliveryCount) <= int32(x.o.Credit/2) {
		x.topUp()
	}
	x.s.c.cond.Broadcast()
	return nil
}

// accept settles a delivery as accepted, in ranges.
func (s *Session) accept(id amqp.DeliveryNumber) {
	if s.pending && id == s.last+1 {
		s.last = id
	} else {
		s.flushAccepts()
		s.first, s.last, s.pending = id, id, true
	}
	if !s.listed {
		s.listed = true
		s.c.dirty = append(s.c.dirty, s)
	}
}

func (s *Session) flushAccepts() {
	if !s.pending {
		return
	}
	s.pending = false
	s.c.append(s.channel, &frames.Disposition{
		Role: amqp.RoleReceiver, First: s.first, Last: s.last, HasLast: true, Settled: true,
		State: messaging.Accepted,
	})
}

// Settle settles one message.
func (x *Receiver) Settle(id amqp.DeliveryNumber, state messaging.DeliveryState) {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	x.unsettled--
	x.s.c.append(x.s.channel, &frames.Disposition{Role: amqp.RoleReceiver, First: id, Last: id, HasLast: true, Settled: true, State: state})
}

// Messages is the number of messages received.
func (x *Receiver) Messages() int {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	return x.messages
}

// Bytes is the number of payload bytes received.
func (x *Receiver) Bytes() int64 {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	return x.bytes
}

// WaitMessages waits until n messages have come. It gives up when nothing moves.
func (x *Receiver) WaitMessages(n int) error {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	last := int64(-1)
	for x.messages < n {
		if x.bytes == last {
			return fmt.Errorf("raw: %d of %d messages came, and nothing moves", x.messages, n)
		}
		last = x.bytes
		count := x.messages
		if err := x.s.c.wait(func() bool { return x.messages != count }); err != nil && (x.s.c.err != nil || x.bytes == last) {
			return fmt.Errorf("%w (%d of %d messages)", err, x.messages, n)
		}
	}
	return nil
}

// Detached is the peer's detach, or nil.
func (x *Receiver) Detached() *frames.Detach {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	return x.l.detached
}

// Detach detaches in order.
func (x *Receiver) Detach() error { return x.s.detach(x.l) }
