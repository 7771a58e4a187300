package links_test

import (
	"testing"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
	"sluice/links"
)

// A desk is a plane on a connection whose bytes a test moves itself, and on which
// the peer attaches nothing.
type desk struct{ *plane }

func (desk) Kick() {}

func (desk) Attach(*transport.Session, *frames.Attach) (transport.Link, *frames.Attach, *amqp.Error) {
	return nil, nil, amqp.Errorf(amqp.CondNotAllowed, "no links here")
}

// FuzzControlLinks lets a peer answer the sessions and links of this router as
// it likes. Whatever it says: each link ends once and is answered or refused at
// most once, each message that was accepted gets one outcome, the queue comes
// back to zero, and no memory is left.
func FuzzControlLinks(f *testing.F) {
	answer := func(begin func(*frames.Begin), items ...any) []byte {
		b := Begin()
		b.HasRemoteChannel = true
		if begin != nil {
			begin(b)
		}
		return Wire(append([]any{Header(frames.ProtoAMQP), Open("peer"), b}, items...)...)
	}
	in, out := Sending("in", 0, "a"), Receiving("out", 1, "a")
	noTarget, noSource := Receiving("out", 1, "a"), Sending("in", 0, "a")
	noTarget.Target, noSource.Source = messaging.TargetField{}, nil
	for _, seed := range [][]byte{
		answer(nil),
		answer(nil, in, out, With(Transfer(0, 0), Text("x")), With(More(Transfer(0, 1)), Text("x")), Abort(0), Flow(1, 0, 10), Accept(0), Detach(0, true), Detach(1, false)),
		answer(nil, in, out, Drain(Flow(1, 0, 10)), Settle(0, messaging.Rejected(nil)), Disposition(amqp.RoleReceiver, 0, 9, false, messaging.Modified(true, false, nil)), &frames.End{}),
		answer(nil, noSource, noTarget, Detach(0, true), &frames.Detach{Handle: 1, Closed: true, Error: amqp.Errorf(amqp.CondNotFound, "no")}),
		answer(func(b *frames.Begin) { b.HandleMax = 0 }, in, out, Detach(1, true)),
		answer(func(b *frames.Begin) { b.IncomingWindow = 1 }, in, out, Flow(1, 0, 10), Accept(0), SessionFlow()),
		answer(nil, in, Receiving("out", 0, "a"), out, &frames.Close{}),
		answer(nil, Receiving("in", 0, "a"), Sending("out", 1, "a"), in, out),
		answer(nil, in, With(More(Transfer(0, 0)), make([]byte, 400)), With(More(Next(0)), make([]byte, 400)), With(More(Next(0)), make([]byte, 400))),
		answer(nil, in, With(Settled(0, 0), Text("x")), Flow(0, 2, 0), Flow(0, 99, 0)),
	} {
		f.Add(seed, uint16(1<<15))
		f.Add(seed, uint16(40))
	}
	f.Fuzz(func(t *testing.T, data []byte, step uint16) {
		chunks := buffers.Outstanding()
		h := &plane{t: t}
		d := desk{h}
		ended := [2]int{}
		answered := [2]int{}
		events := func(i int) links.ControlEvents {
			return links.ControlEvents{
				Answered: func(*frames.Attach) { answered[i]++ },
				Ended:    func(*amqp.Error) { ended[i]++ },
			}
		}
		h.in = links.NewControlReceiver(nil, links.ControlReceiverOptions{
			Credit: 3, MaxMessageSize: 1000, ControlEvents: events(0),
			Deliver: func(m links.ControlMessage) {
				if len(m.Bytes) > 1000 {
					t.Errorf("a message of %d bytes", len(m.Bytes))
				}
				m.Done(messaging.Accepted)
			},
		})
		h.out = links.NewControlSender(nil, links.ControlSenderOptions{QueueBytes: 1 << 20, ControlEvents: events(1)})
		outcomes := make([]int, 8)
		for i := range outcomes {
			if err := h.out.Send(make([]byte, 300*i), i%2 == 0, func(messaging.DeliveryState) { outcomes[i]++ }); err != nil {
				t.Fatal(err)
			}
		}
		h.attach = func(s *transport.Session) {
			_, err := s.Attach(h.in, Receiving("in", 0, "a"))
			_, err2 := s.Attach(h.out, Sending("out", 0, "a"))
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
		}
		c := transport.NewConn(transport.Config{ContainerID: "here", MaxFrameSize: 512, ChannelMax: 7, HandleMax: 7, SessionBytes: 1 << 14}, d, d)
		var o transport.Output
		for len(data) > 0 && !c.Ended() {
			n := min(len(data), int(step)+8)
			chunk := buffers.GetChunk(n)
			copy(chunk.Bytes(), data[:n])
			at := c.Consume(chunk, 0, n)
			chunk.Release(1)
			c.HandleInbox()
			c.Encode(&o)
			o.Vector()
			o.Reset()
			if at == 0 {
				if n == len(data) {
					break
				}
				step = step*2 + 8 // the next frame is larger than that
				continue
			}
			data = data[at:]
		}
		attached := h.in.Endpoint() != nil
		c.Lost(nil)
		o.Reset()
		for i := range ended {
			if answered[i] > 1 || attached && ended[i] != 1 {
				t.Errorf("link %d was answered %d times and ended %d times", i, answered[i], ended[i])
			}
		}
		for i, n := range outcomes {
			if attached && n != 1 {
				t.Errorf("message %d got %d outcomes", i, n)
			}
		}
		if n := h.out.Queued(); attached && n != 0 {
			t.Errorf("%d bytes are left in the queue", n)
		}
		if n := buffers.Outstanding() - chunks; n != 0 {
			t.Errorf("%d chunks are left", n)
		}
	})
}
