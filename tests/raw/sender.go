package raw

import (
	"encoding/binary"
	"fmt"
	"io"
	"sort"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
)

// A Sender is a link to send on.
type Sender struct {
	s    *Session
	l    *link
	name string

	deliveryCount amqp.SequenceNo
	credit        amqp.SequenceNo // first delivery without credit
	tag           uint64

	sent     int
	settled  int
	outcomes map[messaging.StateKind]int
	twice    int    // outcomes for what had one
	seen     []byte // by number of the delivery on the session, from base
	base     amqp.DeliveryNumber
	states   []messaging.DeliveryState
	keep     bool
	told     func(n int, s messaging.DeliveryState)
	greedy   bool
	frame    uint32 // largest frame to send; 0: what the peer takes
}

// SenderOptions are the rest of an attach.
type SenderOptions struct {
	Name        string // "": the address
	Coordinator bool
	Settled     bool // snd-settle-mode settled
	KeepStates  bool // States returns them
	// Outcome is called for each outcome, under the lock of the Conn, with the
	// number of the delivery: 0 is the first of its session after the attach.
	Outcome func(n int, s messaging.DeliveryState)
	Greedy  bool // credit that is taken back is used all the same
	Async   bool // do not wait for the answer; Await does
	Attach  func(*frames.Attach)
}

// Sender attaches a link to send to an address; "" is the anonymous terminus.
func (s *Session) Sender(address string, o SenderOptions) (*Sender, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if o.Name == "" {
		o.Name = fmt.Sprintf("%s-%d", address, len(s.links))
	}
	out := &Sender{s: s, name: o.Name, outcomes: map[messaging.StateKind]int{}, base: s.nextDelivery, keep: o.KeepStates, told: o.Outcome, greedy: o.Greedy}
	out.l = &link{sender: out}
	a := &frames.Attach{
		Name: o.Name, Role: amqp.RoleSender, SenderSettleMode: amqp.SenderSettleMixed, HasInitialDeliveryCount: true,
		Source: &messaging.Source{Address: "here", HasAddress: true},
		Target: messaging.TargetField{Target: &messaging.Target{Address: address, HasAddress: address != ""}},
	}
	if o.Settled {
		a.SenderSettleMode = amqp.SenderSettleSettled
	}
	if o.Coordinator {
		a.Target = messaging.TargetField{Coordinator: &messaging.Coordinator{}}
	}
	if o.Attach != nil {
		o.Attach(a)
	}
	return out, s.attach(out.l, a, !o.Async)
}

// MustSender is a Sender of a session that is known to work.
func (s *Session) MustSender(address string, o SenderOptions) *Sender {
	out, err := s.Sender(address, o)
	if err != nil {
		panic(err)
	}
	return out
}

// FrameSize sets the size of the largest frame that is sent.
func (x *Sender) FrameSize(n uint32) { x.frame = n }

// Await waits for the answer to an attach.
func (x *Sender) Await() error {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	return x.s.await(x.l)
}

// Attached is the peer's attach.
func (x *Sender) Attached() *frames.Attach { return x.l.attached }

func (x *Sender) flow(f *frames.Flow) {
	from := amqp.SequenceNo(0)
	if f.HasDeliveryCount {
		from = f.DeliveryCount
	}
	if credit := from + amqp.SequenceNo(f.LinkCredit); !x.greedy || x.credit.Less(credit) {
		x.credit = credit
	}
	if f.Drain {
		x.deliveryCount = x.credit
		x.sendFlow()
	}
}

func (x *Sender) sendFlow() {
	f := x.s.flow()
	f.HasHandle, f.Handle = true, x.l.handle
	f.HasDeliveryCount, f.DeliveryCount = true, x.deliveryCount
	f.HasLinkCredit, f.LinkCredit = true, uint32(x.credit.Sub(x.deliveryCount))
	x.s.c.append(x.s.channel, f)
}

// Credit is the number of messages that may be sent now.
func (x *Sender) Credit() int {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	return int(x.credit.Sub(x.deliveryCount))
}

// WaitCredit waits until there is at least n credit.
func (x *Sender) WaitCredit(n int) error {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	return x.s.c.wait(func() bool { return x.l.detached != nil || x.credit.Sub(x.deliveryCount) >= int32(n) })
}

// Detached is the peer's detach, or nil.
func (x *Sender) Detached() *frames.Detach {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	return x.l.detached
}

// Send sends a message when there is credit and window, without a time limit.
func (x *Sender) Send(message []byte, settled bool) error {
	return x.SendFormat(0, message, settled)
}

// SendFormat sends a message of some message-format.
func (x *Sender) SendFormat(format uint32, message []byte, settled bool) error {
	c := x.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := x.begin(); err != nil {
		return err
	}
	t := x.first(format, settled)
	for {
		part := message[:min(len(message), x.room(&t))]
		message = message[len(part):]
		t.More = len(message) > 0
		if err := x.transfer(&t, part); err != nil {
			return err
		}
		if !t.More {
			break
		}
		t = frames.Transfer{Handle: t.Handle}
	}
	x.sent++
	return nil
}

// Stream sends a message of one data section of n bytes from r.
func (x *Sender) Stream(n int64, r io.Reader, settled bool) error {
	c := x.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := x.begin(); err != nil {
		return err
	}
	t := x.first(0, settled)
	prefix := binary.BigEndian.AppendUint32([]byte{0x00, 0x53, 0x75, 0xb0}, uint32(n))
	buf := make([]byte, 0, min(x.s.c.open.MaxFrameSize, 1<<20))
	for {
		buf = append(buf[:0], prefix...)
		prefix = nil
		k := int(min(n, int64(x.room(&t)-len(buf))))
		at := len(buf)
		buf = buf[:at+k]
		c.mu.Unlock()
		_, err := io.ReadFull(r, buf[at:])
		c.mu.Lock()
		if err != nil {
			return err
		}
		n -= int64(k)
		t.More = n > 0
		if err := x.transfer(&t, buf); err != nil {
			return err
		}
		if !t.More {
			x.sent++
			return nil
		}
		t = frames.Transfer{Handle: t.Handle}
	}
}

// Begin sends the first frame of a message that goes on; SendAbort ends it.
func (x *Sender) Begin(part []byte) error {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	if err := x.begin(); err != nil {
		return err
	}
	t := x.first(0, false)
	t.More = true
	return x.transfer(&t, part)
}

// SendAbort aborts the current message.
func (x *Sender) SendAbort() error {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	return x.transfer(&frames.Transfer{Handle: x.l.handle, Aborted: true}, nil)
}

func (x *Sender) begin() error {
	s := x.s
	if x.l.attached == nil {
		return fmt.Errorf("raw: not attached")
	}
	// The delivery-id is taken when the first frame can go out at once, since
	// other links of the session take theirs meanwhile.
	for x.trouble() == nil && (x.credit.Sub(x.deliveryCount) <= 0 || !x.canSend()) {
		s.c.cond.Wait()
	}
	return x.trouble()
}

func (x *Sender) canSend() bool {
	return x.s.nextOutgoingID != x.s.remoteLimit && len(x.s.c.out) < outLimit
}

func (x *Sender) trouble() error {
	switch {
	case x.s.c.err != nil:
		return x.s.c.err
	case x.l.detached != nil:
		return &DetachError{x.l.detached.Error}
	case x.s.ended:
		return fmt.Errorf("raw: the session has ended: %v", x.s.end)
	}
	return nil
}

func (x *Sender) first(format uint32, settled bool) frames.Transfer {
	x.deliveryCount++
	x.tag++
	id := x.s.nextDelivery
	x.s.nextDelivery++
	if o := x.s.owners; len(o) == 0 || o[len(o)-1].s != x {
		x.s.owners = append(o, owner{id, x})
	}
	if !settled {
		for amqp.DeliveryNumber(len(x.seen)) <= id-x.base {
			x.seen = append(x.seen, 0)
		}
		x.seen[id-x.base] = 1
	}
	return frames.Transfer{
		Handle: x.l.handle, DeliveryID: id, HasDeliveryID: true,
		DeliveryTag: binary.BigEndian.AppendUint64(nil, x.tag), HasDeliveryTag: true,
		HasMessageFormat: true, MessageFormat: format, Settled: settled, HasSettled: true,
	}
}

func (x *Sender) room(t *frames.Transfer) int {
	size := min(x.s.c.open.MaxFrameSize, 1<<20)
	if x.frame != 0 {
		size = min(size, x.frame)
	}
	return int(size) - frames.TransferOverhead(t)
}

func (x *Sender) transfer(t *frames.Transfer, part []byte) error {
	s := x.s
	for {
		if err := x.trouble(); err != nil {
			return err
		}
		if x.canSend() {
			break
		}
		s.c.cond.Wait()
	}
	s.nextOutgoingID++
	s.c.out = frames.AppendTransferFrame(s.c.out, s.channel, t, len(part))
	s.c.out = append(s.c.out, part...)
	s.c.flush()
	return nil
}

func (s *Session) disposition(f *frames.Disposition) {
	if f.Role != amqp.RoleReceiver {
		return
	}
	for id := f.First; ; id++ {
		if x := s.ownerOf(id); x != nil {
			x.outcome(id, f)
		}
		if id == f.Last {
			break
		}
	}
	s.c.cond.Broadcast()
}

func (s *Session) ownerOf(id amqp.DeliveryNumber) *Sender {
	i := sort.Search(len(s.owners), func(i int) bool { return s.owners[i].first > id })
	if i == 0 {
		return nil
	}
	return s.owners[i-1].s
}

func (x *Sender) outcome(id amqp.DeliveryNumber, f *frames.Disposition) {
	i := int(id - x.base)
	if i >= len(x.seen) || x.seen[i] != 1 {
		x.twice++
		return
	}
	if f.State.IsTerminal() {
		x.outcomes[f.State.Kind]++
		if x.keep {
			x.states = append(x.states, f.State.Clone())
		}
		if x.told != nil {
			x.told(i, f.State)
		}
	}
	if f.Settled {
		x.seen[i] = 2
		x.settled++
	}
}

// Result is what has become of what was sent.
type Result struct {
	Sent, Settled                          int
	Accepted, Rejected, Released, Modified int
	Twice                                  int // outcomes for what had none to come
	States                                 []messaging.DeliveryState
}

// Result returns what is known now.
func (x *Sender) Result() Result {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	return Result{
		Sent: x.sent, Settled: x.settled, Twice: x.twice, States: x.states,
		Accepted: x.outcomes[messaging.StateAccepted], Rejected: x.outcomes[messaging.StateRejected],
		Released: x.outcomes[messaging.StateReleased], Modified: x.outcomes[messaging.StateModified],
	}
}

// WaitSettled waits until n messages are settled.
func (x *Sender) WaitSettled(n int) error {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	last := -1
	for x.settled < n {
		if x.settled == last {
			return fmt.Errorf("raw: %d of %d settled, and nothing moves", x.settled, n)
		}
		last = x.settled
		err := x.s.c.wait(func() bool { return x.settled != last && x.settled >= min(n, last+1) || x.trouble() != nil })
		if err != nil {
			return err
		}
		if err := x.trouble(); err != nil {
			return err
		}
	}
	return nil
}

// SettleAll settles, as the sender, all that it has sent (§2.7.6).
func (x *Sender) SettleAll() {
	x.s.c.mu.Lock()
	defer x.s.c.mu.Unlock()
	for i := range x.seen {
		x.seen[i] = 2
	}
	x.s.c.append(x.s.channel, &frames.Disposition{Role: amqp.RoleSender, First: x.base, Last: x.s.nextDelivery - 1, HasLast: true, Settled: true})
}

// Detach detaches in order.
func (x *Sender) Detach() error { return x.s.detach(x.l) }

func (s *Session) detach(l *link) error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.flushAccepts()
	if l.detached == nil && !l.leaving {
		l.leaving = true
		s.c.append(s.channel, &frames.Detach{Handle: l.handle, Closed: true})
	}
	return s.c.wait(func() bool { return l.detached != nil })
}
