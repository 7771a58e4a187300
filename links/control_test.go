package links_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/driver"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
	"sluice/links"
)

// A plane is a control plane with one link of each kind, on a connection to a
// peer, which attaches them unless attach does. What it does is under the lock of the connection, or when all wait.
type plane struct {
	t        *testing.T
	d        *driver.Driver
	receiver links.ControlReceiverOptions
	sender   links.ControlSenderOptions
	attach   func(*transport.Session) // attaches links when the peer has opened

	in       *links.ControlReceiver
	out      *links.ControlSender
	got      []links.ControlMessage
	outcomes []string // of messages sent
	ended    []string
}

func (h *plane) Authenticated(*transport.Conn, string, string) {}
func (h *plane) Closed(*transport.Conn, *transport.CloseCause) {}

func (h *plane) Opened(c *transport.Conn, _ *frames.Open) *amqp.Error {
	if h.attach != nil {
		s, err := c.Begin()
		if err != nil {
			return amqp.Errorf(amqp.CondInternalError, "%v", err)
		}
		h.attach(s)
	}
	return nil
}

func (h *plane) Attach(s *transport.Session, a *frames.Attach) (transport.Link, *frames.Attach, *amqp.Error) {
	reply := &frames.Attach{Source: a.Source, Target: a.Target, SenderSettleMode: a.SenderSettleMode, ReceiverSettleMode: a.ReceiverSettleMode}
	if a.Role == amqp.RoleSender {
		h.in = links.NewControlReceiver(a, h.receiver)
		return h.in, reply, nil
	}
	reply.HasInitialDeliveryCount = true
	h.out = links.NewControlSender(a, h.sender)
	return h.out, reply, nil
}

func (h *plane) Attached(l transport.Link) {
	if r, ok := l.(*links.ControlReceiver); ok {
		r.Begin()
	}
}

// control runs f with a control plane that keeps what it gets, and a peer with
// one session, whose window is that of begin.
func control(t *testing.T, cfg transport.Config, begin *frames.Begin, f func(h *plane, p *Peer)) {
	synctest.Test(t, func(t *testing.T) {
		chunks := buffers.Outstanding()
		cfg.ContainerID, cfg.ChannelMax, cfg.HandleMax = "here", 15, 15
		cfg.MaxFrameSize = 512
		if cfg.SessionBytes == 0 {
			cfg.SessionBytes = 1 << 20
		}
		a, b := NewPipe(0)
		h := &plane{t: t}
		events := links.ControlEvents{
			Answered: func(a *frames.Attach) { h.ended = append(h.ended, "answered") },
			Ended:    func(err *amqp.Error) { h.ended = append(h.ended, fmt.Sprint(err)) },
		}
		h.receiver = links.ControlReceiverOptions{
			Credit: 10, MaxMessageSize: 16 << 20, ControlEvents: events,
			Deliver: func(m links.ControlMessage) { h.got = append(h.got, m) },
		}
		h.sender = links.ControlSenderOptions{QueueBytes: 16 << 20, ControlEvents: events}
		h.d = driver.New(b, nil, driver.Options{}, cfg, h)
		done := make(chan error, 1)
		go func() { done <- h.d.Run() }()
		p := NewPeer(t, a)
		defer func() {
			a.Close()
			<-done
			synctest.Wait()
			if t.Failed() {
				return
			}
			if h.out != nil && h.out.Queued() != 0 {
				t.Errorf("%d bytes are left in the queue", h.out.Queued())
			}
			if n := buffers.Outstanding() - chunks; n != 0 {
				t.Errorf("%d chunks are left", n)
			}
		}()
		open := Open("peer")
		open.MaxFrameSize = 512
		p.Handshake(open)
		if begin == nil {
			begin = Begin()
		}
		p.BeginSession(0, begin)
		f(h, p)
	})
}

// receives lets the peer attach a link on which it sends.
func (h *plane) receives(p *Peer, credit uint32) {
	h.t.Helper()
	h.receiver.Credit = credit
	p.Attach(Sending("in", 0, "x"))
	p.Want("credit is there at once", fmt.Sprintf("flow handle=0 link-credit=%d", credit))
}

// sends lets the peer attach a link on which it receives.
func (h *plane) sends(p *Peer, credit uint32) {
	h.t.Helper()
	p.Attach(Receiving("out", 0, "x"))
	if credit > 0 {
		p.Write(Flow(0, 0, credit))
	}
	synctest.Wait()
}

// send sends and notes the outcome.
func (h *plane) send(message []byte, settled bool) {
	h.t.Helper()
	n := len(h.outcomes)
	h.outcomes = append(h.outcomes, "")
	if err := h.out.Send(message, settled, func(s messaging.DeliveryState) {
		if h.outcomes[n] != "" {
			h.t.Errorf("outcome %d is reported again: %v", n, s.Kind)
		}
		h.outcomes[n] = s.Kind.String()
	}); err != nil {
		h.t.Error(err)
	}
}

func (h *plane) want(why string, got *[]string, want ...string) {
	h.t.Helper()
	synctest.Wait()
	if !slices.Equal(*got, want) {
		h.t.Errorf("%s:\nwant %q\ngot  %q", why, want, *got)
	}
}

// pattern returns bytes of which no two pieces are alike.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// A message of 10 MB in frames of 512 bytes passes through a window of a few:
// no threshold stops it.
func TestBC29_LargeControlMessages(t *testing.T) {
	big := pattern(10 << 20)
	t.Run("received", func(t *testing.T) {
		control(t, transport.Config{SessionBytes: 4096}, nil, func(h *plane, p *Peer) {
			h.receives(p, 1)
			p.Stream(Transfer(0, 0), big, 400)
			synctest.Wait()
			if len(h.got) != 1 || !bytes.Equal(h.got[0].Bytes, big) {
				t.Fatal("the message did not arrive as it was sent")
			}
			h.got[0].Done(messaging.Accepted)
			p.Until("", "disposition role=receiver first=0 settled state=accepted")
		})
	})
	t.Run("sent", func(t *testing.T) {
		begin := Begin()
		begin.IncomingWindow = 64
		control(t, transport.Config{}, begin, func(h *plane, p *Peer) {
			h.sends(p, 0)
			f := Flow(0, 0, 1)
			f.IncomingWindow = 64
			p.Write(f)
			h.send(big, false)
			var all []byte
			for more := true; more; {
				list := p.All("transfer")
				if len(list) == 0 || len(list) > 64 {
					t.Fatalf("%d frames in a window of 64\n%s", len(list), p.Trace())
				}
				for _, f := range list {
					var tr frames.Transfer
					all = append(all, f.Decode(&tr)...)
					more = tr.More
				}
				f := SessionFlow()
				f.IncomingWindow = 64
				p.Write(f)
			}
			if !bytes.Equal(all, big) {
				t.Error("the message did not arrive as it was sent")
			}
			p.Write(Accept(0))
			h.want("", &h.outcomes, "accepted")
		})
	})
}

// §2.5.6: a window of one frame lets one frame through at a time.
func TestControlSenderWindowOfOne(t *testing.T) {
	begin := Begin()
	begin.IncomingWindow = 1
	control(t, transport.Config{}, begin, func(h *plane, p *Peer) {
		h.sends(p, 0)
		h.send(pattern(1000), true)
		h.send([]byte("b"), true)
		one := func() *frames.Flow {
			f := SessionFlow()
			f.IncomingWindow = 1
			return f
		}
		f := Flow(0, 0, 5)
		f.IncomingWindow = 1
		p.Write(f)
		p.Want("", "transfer delivery-id=0 settled=true more")
		for _, want := range []string{"transfer !delivery-id more", "transfer !more", "transfer delivery-id=1 settled=true !more"} {
			p.WantIdle("the window is closed")
			p.Write(one())
			p.Want("", want)
		}
	})
}

// §2.6.7: nothing is sent without credit, and a drain uses it up.
func TestControlSenderCreditAndDrain(t *testing.T) {
	control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
		h.sends(p, 0)
		for range 3 {
			h.send([]byte("m"), true)
		}
		p.WantIdle("there is no credit")
		p.Write(Flow(0, 0, 1))
		p.Want("", "transfer delivery-id=0 delivery-tag=0x0000000000000001 settled=true")
		p.WantIdle("there was credit for one")
		p.Write(Drain(Flow(0, 1, 5)))
		p.Want("", "transfer delivery-id=1")
		p.Want("", "transfer delivery-id=2")
		p.Want("the rest of the credit is given up", "flow delivery-count=6 link-credit=0 available=0 drain")
		p.Write(Drain(Flow(0, 6, 1)))
		p.Want("", "flow delivery-count=7 link-credit=0 drain")
		h.send([]byte("m"), true)
		p.Write(Echo(Flow(0, 7, 0)))
		p.Want("", "flow delivery-count=7 link-credit=0 available=1")
		h.want("", &h.outcomes, "accepted", "accepted", "accepted", "")
	})
}

// Outcomes are reported as the receiver gives them, once.
func TestControlSenderOutcomes(t *testing.T) {
	control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
		a := Receiving("out", 0, "x")
		a.MaxMessageSize = 10
		a.Source.DefaultOutcome = messaging.AppendDeliveryState(nil, messaging.Released)
		p.Attach(a)
		p.Write(Flow(0, 0, 10))
		synctest.Wait()
		for range 5 {
			h.send([]byte("m"), false)
		}
		h.send(pattern(11), false)
		p.All("transfer")
		p.Write(
			Accept(0), Accept(0),
			Settle(1, messaging.Rejected(nil)),
			Disposition(amqp.RoleReceiver, 2, 2, false, messaging.Modified(true, true, nil)),
			Settle(3, messaging.DeliveryState{}),
			Disposition(amqp.RoleReceiver, 4, 4, false, messaging.Received(0, 1)),
		)
		p.Want("§2.6.12: a receiver that settles second is told", "disposition role=sender first=2 settled")
		p.WantIdle("")
		h.want("", &h.outcomes, "accepted", "rejected", "modified", "released", "", "rejected")
		p.Write(Detach(0, true))
		h.want("", &h.outcomes, "accepted", "rejected", "modified", "released", "modified", "rejected")
	})
}

// snd-settle-mode decides what the receiver gets (§2.8.2).
func TestControlSenderSettleModes(t *testing.T) {
	for mode, want := range map[amqp.SenderSettleMode]string{amqp.SenderSettleSettled: "settled=true", amqp.SenderSettleUnsettled: "settled=false"} {
		control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
			a := Receiving("out", 0, "x")
			a.SenderSettleMode = mode
			p.Attach(a)
			p.Write(Flow(0, 0, 10))
			synctest.Wait()
			h.send([]byte("m"), true)
			h.send([]byte("m"), false)
			p.Want("", "transfer delivery-id=0 "+want)
			p.Want("", "transfer delivery-id=1 "+want)
			p.Write(Disposition(amqp.RoleReceiver, 0, 1, true, messaging.Accepted))
			h.want("", &h.outcomes, "accepted", "accepted")
		})
	}
}

// The queue is bounded in bytes, those of the socket's buffer not counted.
func TestControlSenderQueueIsBounded(t *testing.T) {
	control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
		h.sender.QueueBytes = 3000
		h.sends(p, 0)
		h.send(pattern(1900), false)
		if err := h.out.Send(pattern(1000), true, nil); !errors.Is(err, links.ErrQueueFull) {
			t.Errorf("got %v", err)
		}
		h.send(pattern(900), true)
		p.Write(Flow(0, 0, 10))
		synctest.Wait()
		if n := h.out.Queued(); n != 64 {
			t.Errorf("%d bytes are held for a delivery without outcome", n)
		}
		p.Write(Accept(0))
		h.want("", &h.outcomes, "accepted", "accepted")
		p.Write(Detach(0, true))
		synctest.Wait()
		if err := h.out.Send(nil, true, nil); !errors.Is(err, links.ErrLinkGone) {
			t.Errorf("got %v", err)
		}
	})
}

// When the link goes, what has been begun has failed, and what has not is
// released.
func TestControlSenderDetachInTheMiddle(t *testing.T) {
	for _, settled := range []bool{false, true} {
		begin := Begin()
		begin.IncomingWindow = 2
		control(t, transport.Config{}, begin, func(h *plane, p *Peer) {
			h.sends(p, 0)
			h.send([]byte("first"), false)
			h.send(pattern(10000), settled)
			h.send([]byte("third"), settled)
			f := Flow(0, 0, 10)
			f.IncomingWindow = 2
			p.Write(f)
			p.Want("", "transfer delivery-id=0 !more")
			p.Want("", "transfer delivery-id=1 more")
			p.Write(&frames.Detach{Handle: 0, Closed: true, Error: amqp.Errorf(amqp.CondInternalError, "enough")})
			p.Want("", "detach")
			h.want("", &h.outcomes, "modified", "modified", "released")
			h.want("", &h.ended, "amqp:internal-error: enough")
		})
	}
}

// A receiver that settles before it has all gets no more of it (§2.7.5).
func TestControlSenderAbortsWhatIsSettledEarly(t *testing.T) {
	begin := Begin()
	begin.IncomingWindow = 1
	control(t, transport.Config{}, begin, func(h *plane, p *Peer) {
		h.sends(p, 0)
		f := Flow(0, 0, 10)
		f.IncomingWindow = 1
		p.Write(f)
		h.send(pattern(10000), false)
		h.send([]byte("next"), true)
		p.Want("", "transfer delivery-id=0 more")
		f = SessionFlow()
		f.IncomingWindow = 5
		p.Write(Settle(0, messaging.Rejected(nil)), f)
		p.Want("", "transfer !delivery-id aborted")
		p.Want("", "transfer delivery-id=1 !more")
		h.want("", &h.outcomes, "rejected", "accepted")
	})
}

// Credit comes back when the control plane is done with messages, in batches;
// until then the peer has less of it.
func TestControlReceiverCreditComesBackWithDone(t *testing.T) {
	control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
		h.receives(p, 4)
		for id := range uint32(4) {
			p.Write(With(Settled(0, id), Text("m")))
		}
		p.WantIdle("the control plane is not done")
		h.got[0].Done(messaging.DeliveryState{})
		p.Want("the peer has none: one is worth a flow", "flow delivery-count=4 link-credit=1")
		h.got[0].Done(messaging.DeliveryState{})
		h.got[1].Done(messaging.DeliveryState{})
		p.WantIdle("the same message again counts for nothing, and one more waits for others")
		h.got[2].Done(messaging.DeliveryState{})
		p.Want("", "flow delivery-count=4 link-credit=3")
		h.got[3].Done(messaging.DeliveryState{})
		for id := uint32(4); id < 7; id++ {
			p.Write(With(Settled(0, id), Text("m")))
		}
		p.Want("what has waited is granted when nothing is left", "flow delivery-count=7 link-credit=1")
	})
}

// Messages that are done at once cost no more flows than there are batches.
func TestControlReceiverDoneWithinDeliver(t *testing.T) {
	control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
		n := 0
		h.receiver.Deliver = func(m links.ControlMessage) { n++; m.Done(messaging.Accepted) }
		h.receives(p, 10)
		for id := range uint32(100) {
			if id%10 == 0 {
				synctest.Wait()
			}
			p.Write(With(Transfer(0, id), Text("m")))
		}
		flows := 0
		settled := 0
		for _, f := range p.All("") {
			var d frames.Disposition
			if _, err := d.Decode(f.Raw); err == nil {
				settled += int(d.Last.Sub(d.First)) + 1
				continue
			}
			flows++
		}
		if n != 100 || settled != 100 || flows > 20 {
			t.Errorf("%d messages, %d settled, %d flows", n, settled, flows)
		}
	})
}

// §2.6.7: a delivery beyond the credit ends the link.
func TestControlReceiverHoldsPeersToTheirCredit(t *testing.T) {
	control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
		h.receives(p, 1)
		p.Write(With(Settled(0, 0), Text("a")), With(Settled(0, 1), Text("b")))
		p.Until("", "detach handle=0 closed ~amqp:link:transfer-limit-exceeded")
		h.want("", &h.ended, "amqp:link:transfer-limit-exceeded: delivery 1 was sent without credit")
		h.got[0].Done(messaging.Accepted)
		p.WantIdle("there is nobody to tell")
	})
}

// §2.7.3: a message beyond max-message-size ends the link as soon as that shows.
func TestControlReceiverMessageTooLarge(t *testing.T) {
	control(t, transport.Config{SessionBytes: 8192}, nil, func(h *plane, p *Peer) {
		h.receiver.MaxMessageSize = 1000
		h.receives(p, 5)
		p.Write(With(Transfer(0, 0), pattern(400)), With(More(Transfer(0, 1)), pattern(400)))
		p.Write(With(More(Next(0)), pattern(400)))
		p.WantIdle("1000 bytes are not reached")
		p.Write(With(More(Next(0)), pattern(400)))
		p.Want("", "disposition first=1 settled ~state=rejected ~amqp:link:message-size-exceeded")
		p.Want("", "detach closed ~amqp:link:message-size-exceeded")
		p.Write(With(Next(0), pattern(400)), Detach(0, true))
		p.WantIdle("the rest is discarded")
		if len(h.got) != 1 {
			t.Errorf("%d messages", len(h.got))
		}
	})
}

// §2.7.5: an aborted delivery never was, and its credit comes back.
func TestControlReceiverAbortedDelivery(t *testing.T) {
	control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
		h.receives(p, 1)
		p.Write(With(More(Transfer(0, 0)), pattern(400)), Abort(0))
		p.Want("", "flow delivery-count=1 link-credit=1")
		p.Write(With(Transfer(0, 1), []byte("whole")))
		synctest.Wait()
		if len(h.got) != 1 || string(h.got[0].Bytes) != "whole" {
			t.Errorf("got %v", h.got)
		}
	})
}

// Unsettled deliveries get the outcome that the control plane gives, from any
// goroutine, and what the sender settles itself needs none.
func TestControlReceiverOutcomes(t *testing.T) {
	control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
		h.receives(p, 10)
		for id := range uint32(4) {
			p.Write(With(Transfer(0, id), Text("m")))
		}
		p.Write(With(More(Transfer(0, 4)), []byte("a")), With(&frames.Transfer{Settled: true, HasSettled: true}, []byte("b")))
		synctest.Wait()
		if !h.got[4].Settled || h.got[3].Settled || string(h.got[4].Bytes) != "ab" {
			t.Error("the last transfer of a delivery may say that it is settled")
		}
		p.Write(Disposition(amqp.RoleSender, 2, 2, true, messaging.DeliveryState{}))
		synctest.Wait()
		done := make(chan bool)
		for i, s := range []messaging.DeliveryState{messaging.Accepted, messaging.Rejected(amqp.Errorf(amqp.CondNotFound, "no")), messaging.Accepted, messaging.Released, messaging.Accepted} {
			go func() { h.got[i].Done(s); done <- true }()
			<-done
			synctest.Wait()
		}
		p.Want("", "disposition role=receiver first=0 settled state=accepted")
		p.Want("", "disposition first=1 settled ~state=rejected ~amqp:not-found")
		p.Want("", "disposition first=3 settled state=released")
		p.Want("half has come back", "flow delivery-count=5 link-credit=10")
	})
}

// §2.6.12: with rcv-settle-mode second the sender settles first.
func TestControlReceiverSettlesSecond(t *testing.T) {
	control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
		h.receiver.Credit = 1
		a := Sending("in", 0, "x")
		a.ReceiverSettleMode = amqp.ReceiverSettleSecond
		p.Attach(a)
		p.Want("", "flow link-credit=1")
		p.Write(With(Transfer(0, 0), Text("m")))
		synctest.Wait()
		h.got[0].Done(messaging.Accepted)
		p.Want("", "disposition role=receiver first=0 !settled state=accepted")
		p.WantIdle("it is not over yet")
		p.Write(Disposition(amqp.RoleSender, 0, 0, true, messaging.Accepted))
		p.Want("", "flow delivery-count=1 link-credit=1")
	})
}

// A link may go while the control plane has messages of it.
func TestControlReceiverDetachInTheMiddle(t *testing.T) {
	control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
		h.receives(p, 10)
		p.Write(With(Transfer(0, 0), Text("m")), With(More(Transfer(0, 1)), Text("m")), Detach(0, true))
		p.Want("", "detach handle=0 closed !error")
		if len(h.got) != 1 {
			t.Fatalf("%d messages", len(h.got))
		}
		h.want("", &h.ended, "<nil>")
		h.got[0].Done(messaging.Accepted)
		p.WantIdle("the outcome has nowhere to go")
		p.Drop()
		h.got[0].Done(messaging.Accepted)
	})
}

// §2.6.7: a sender may give up credit that it has no use for; it gets more.
func TestControlReceiverCreditGivenUp(t *testing.T) {
	control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
		h.receives(p, 10)
		p.Write(Flow(0, 9, 1))
		p.Want("", "flow delivery-count=9 link-credit=10")
		p.Write(Flow(0, 99, 1))
		p.WantIdle("a count beyond the credit means nothing")
	})
}

// A link that the peer refuses ends with the peer's error.
func TestControlSenderRefused(t *testing.T) {
	control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
		h.d.Do(func(c *transport.Conn) {
			s, _ := c.Begin()
			h.out = links.NewControlSender(nil, h.sender)
			s.Attach(h.out, Sending("out", 0, "nowhere"))
			h.send([]byte("m"), false)
		})
		begin := Begin()
		begin.RemoteChannel, begin.HasRemoteChannel = 1, true
		answer := Receiving("out", 0, "nowhere")
		answer.Target = messaging.TargetField{}
		p.Write(On(1, begin), On(1, answer), On(1, &frames.Detach{Closed: true, Error: amqp.Errorf(amqp.CondNotFound, "no")}))
		h.want("", &h.ended, "amqp:not-found: no")
		h.want("", &h.outcomes, "released")
	})
}

// Both ends work on links that this router attaches.
func TestControlLinksThatTheRouterAttaches(t *testing.T) {
	control(t, transport.Config{}, nil, func(h *plane, p *Peer) {
		h.d.Do(func(c *transport.Conn) {
			s, err := c.Begin()
			if err != nil {
				t.Fatal(err)
			}
			h.in, h.out = links.NewControlReceiver(nil, h.receiver), links.NewControlSender(nil, h.sender)
			h.send([]byte("early"), true)
			s.Attach(h.in, Receiving("in", 0, ""))
			s.Attach(h.out, Sending("out", 0, ""))
		})
		h.send([]byte("late"), true)
		answer := Begin()
		answer.RemoteChannel, answer.HasRemoteChannel = 1, true
		p.Want("", "[1] begin")
		p.Want("", `[1] attach name="in" handle=0`)
		p.Want("", `[1] attach name="out" handle=1`)
		in := Sending("in", 0, "")
		in.InitialDeliveryCount = 77
		p.Write(On(1, answer), On(1, in), On(1, Receiving("out", 1, "")))
		p.Want("", "[1] flow handle=0 delivery-count=77 link-credit=10")
		p.WantIdle("there is no credit")
		h.want("", &h.ended, "answered", "answered")
		p.Write(On(1, Flow(1, 0, 10)), With(Settled(0, 0), Text("m")).On(1))
		p.Want("", "[1] transfer handle=1 delivery-id=0")
		p.Want("", "[1] transfer handle=1 delivery-id=1")
		if len(h.got) != 1 {
			t.Errorf("%d messages", len(h.got))
		}
		p.Write(On(1, &frames.End{Error: amqp.Errorf(amqp.CondInternalError, "x")}))
		h.want("", &h.ended, "answered", "answered", "amqp:internal-error: x", "amqp:internal-error: x")
	})
}
