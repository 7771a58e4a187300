package e2e

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/forward"
	"sluice/tests/harness/bubble"
)

// Stage three: at the high mark a sender link holds off those that feed it, and
// at the low mark it lets them go, not before.
func TestHoldoffFromHighToLowMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const high, low, frame = 1 << 20, 1 << 19, 16000
		r := bubble.New(t, bubble.Options{Limits: links.Limits{OutgoingHigh: high, OutgoingLow: low, LinkBytes: 4 << 20}, PipeBytes: 4096})
		in := r.Receiver("in", "q", 1)
		out := r.Sender("out", "q")
		link, to := r.Incoming(0), r.Outgoing(0)
		m := Message(make([]byte, 2<<20))
		sent := 0
		next := func() {
			f := Next(0)
			if sent == 0 {
				f = Transfer(0, 0)
			}
			n := min(frame, len(m)-sent)
			f.More = sent+n < len(m)
			out.Write(With(f, m[sent:sent+n]))
			sent += n
			synctest.Wait()
		}
		for !link.Held() {
			next()
		}
		if n := to.Outgoing(); n < high || n > high+frame {
			t.Errorf("held at %d bytes; the high mark is %d, soft by one frame", n, high)
		}
		if int64(sent) > high+frame+(64<<10) {
			t.Errorf("%d bytes were taken", sent)
		}
		got := 0
		buf := make([]byte, 1000)
		var reads, between int
		for link.Held() {
			if n := to.Outgoing(); n <= low {
				t.Fatalf("still held at %d bytes, the low mark is %d", n, low)
			} else if n < high {
				between++
			}
			n, _ := in.End.TryRead(buf)
			got += n
			synctest.Wait()
			reads++
		}
		if n := to.Outgoing(); n > low {
			t.Errorf("let go at %d bytes, the low mark is %d", n, low)
		}
		if between == 0 {
			t.Error("no read left the link between its marks: nothing was tested")
		}
		for sent < len(m) {
			next()
		}
		in.End.Close()
		out.Until("", "disposition first=0 settled state=modified[true]")
		r.Idle()
	})
}

// A message of any size to a receiver that has stopped reading costs what the
// stages allow and no more.
func TestStoppedReceiverCostsBoundedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 8 * (16 << 10)
		r := bubble.New(t, bubble.Options{PipeBytes: 4096, Transport: transport.Config{SessionBytes: window}})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		out.Attach(Sending("other", 1, "other"))
		r.Receiver("free", "other", 1000)
		out.Until("", "flow handle=1")
		m := Message(make([]byte, 4<<20))
		first := More(Transfer(0, 0))
		sent := 0
		for out.Window(0) > 0 {
			out.Write(With(first, m[sent:sent+16000]))
			first = More(Next(0))
			sent += 16000
		}
		limits := bubble.DefaultLimits()
		if !r.Incoming(0).Held() || r.Incoming(1).Held() {
			t.Error("the link to the stopped receiver is held, and no other")
		}
		if bound := int(limits.OutgoingHigh) + 16000 + window + 2*4096; sent > bound {
			t.Errorf("%d bytes of the message were taken, the bound is %d", sent, bound)
		}
		if sent < int(limits.OutgoingHigh) {
			t.Errorf("only %d bytes were taken", sent)
		}
		// It goes on when the receiver does, and is whole.
		done := false
		var got []byte
		for !done {
			for sent < len(m) && out.Window(0) > 0 {
				n := min(16000, len(m)-sent)
				f := Next(0)
				f.More = sent+n < len(m)
				out.Write(With(f, m[sent:sent+n]))
				sent += n
			}
			for _, f := range in.All("transfer") {
				got = append(got, f.Payload...)
				done = mismatch(f, "more")
			}
		}
		if !bytes.Equal(got, m) {
			t.Errorf("%d bytes of %d", len(got), len(m))
		}
		in.Write(Accept(0))
		out.Until("", "disposition first=0 settled state=accepted")
		r.Idle()
	})
}

// Small messages, each of its own delivery: the high mark makes them wait at the
// address, where another receiver can take them.
func TestSlowReceiverDoesNotHoardMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{PipeBytes: 4096})
		slow := r.Receiver("slow", "q", 1000)
		out := r.Sender("out", "q")
		id := uint32(0)
		for r.Address("q").View().Waiting == 0 {
			out.Write(With(Settled(0, id), Message(make([]byte, 5000))))
			out.WantAnything()
			if id++; id > 100 {
				t.Fatal("all went to a receiver that does not read")
			}
		}
		if n, high := r.Outgoing(0).Outgoing(), bubble.DefaultLimits().OutgoingHigh; n < high || n > high+5100 {
			t.Errorf("%d bytes are bound, the high mark is %d", n, high)
		}
		fast := r.Receiver("fast", "elsewhere", 0)
		fast.Attach(Receiving("r", 1, "q"))
		fast.Write(Flow(1, 0, 1000))
		fast.Want("what waited goes to whoever reads", "transfer handle=1")
		for range 20 {
			out.Write(With(Settled(0, id), Message(make([]byte, 5000))))
			out.WantAnything()
			id++
			fast.Want("and what comes too", "transfer handle=1")
		}
		n := len(slow.All("transfer"))
		if want := int(id) - 21; n != want {
			t.Errorf("%d messages for the slow one, want %d", n, want)
		}
		r.Idle()
	})
}

// An address with enough waiting gives no new credit until it has fallen to its
// low mark.
func TestWatermarks(t *testing.T) {
	big := Message(make([]byte, 1000))
	for name, treat := range map[string]func(string, *forward.Treatment){
		"count": func(_ string, t *forward.Treatment) { t.HighCount, t.LowCount = 5, 2 },
		"bytes": func(_ string, t *forward.Treatment) {
			t.HighBytes, t.LowBytes = int64(5*len(big)), int64(2*len(big))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{Limits: links.Limits{Capacity: 4}, Treatment: treat})
				in := r.Receiver("in", "q", 0)
				var outs []*Peer
				for i := range 3 {
					outs = append(outs, r.Sender(fmt.Sprint("out", i), "q"))
				}
				a := r.Address("q")
				send := func(i int, id uint32) {
					outs[i].Write(With(Settled(0, id), big))
					outs[i].WantAnything()
				}
				send(0, 0)
				send(1, 0)
				send(2, 0)
				send(0, 1)
				if a.Gate() != links.GateOpen {
					t.Fatal("four wait and the high mark is five")
				}
				before := r.Credit(0)
				send(0, 2)
				if a.Gate() != links.GateFull || a.Stats.GateClosed.Load() != 1 {
					t.Fatalf("five wait: %+v", a.View())
				}
				if c := r.Credit(0); c >= before && before > 0 {
					t.Errorf("credit %d was given after the high mark", c)
				}
				// What was granted before stands, and may be used.
				for id := uint32(3); r.Credit(0) > 0; id++ {
					send(0, id)
				}
				v := a.View()
				in.Write(Flow(0, 0, uint32(v.Waiting-3)))
				in.WantAnything()
				if a.Gate() != links.GateFull || r.Credit(0) != 0 {
					t.Errorf("three wait, the low mark is two: %+v", a.View())
				}
				in.Write(Flow(0, uint32(v.Waiting-3), 1))
				in.Want("", "transfer")
				if a.Gate() != links.GateOpen {
					t.Errorf("two wait: %+v", a.View())
				}
				outs[0].Until("the senders are told", "flow")
				if r.Credit(0) == 0 {
					t.Error("no credit at the low mark")
				}
				in.Write(Flow(0, uint32(v.Waiting-2), 100))
				if n := len(in.All("transfer")); n != 2 {
					t.Errorf("%d left", n)
				}
				r.Idle()
			})
		})
	}
}

// Complete messages survive their sender; the bytes are given back when they
// have been delivered.
func TestMessagesSurviveTheirSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 0)
		out := r.Sender("out", "q")
		out.Write(With(Settled(0, 0), Text("settled")))
		out.WantAnything()
		out.Write(With(Transfer(0, 1), Text("unsettled")))
		out.Write(With(More(Transfer(0, 2)), Text("incomplete")))
		out.Drop()
		in.Write(Flow(0, 0, 10))
		in.Want("", "transfer delivery-id=0 settled=true payload=12")
		in.Want("nobody wants an outcome", "transfer delivery-id=1 settled=true payload=14")
		in.WantIdle("what was not complete is gone")
		r.Idle()
	})
}

// A departing receiver gives back what it was not sent, in order; what it had
// and did not settle has failed.
func TestUnsentMessagesGoToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Dial()
		in.Handshake(Open("in"))
		begin := Begin()
		begin.IncomingWindow = 2
		in.BeginSession(0, begin)
		in.Attach(Receiving("in", 0, "q"))
		flow := Flow(0, 0, 100)
		flow.IncomingWindow = 2
		in.Write(flow)
		out := r.Sender("out", "q")
		for i := range uint32(6) {
			out.Write(With(Transfer(0, i), Text(fmt.Sprint(i))))
			out.WantAnything()
		}
		in.Want("", "transfer delivery-id=0")
		in.Want("", "transfer delivery-id=1")
		in.WantIdle("the window is closed")
		stats := &r.Address("q").Stats
		if n := stats.Shown(); n != 6 || stats.Egress.Load() != 6 {
			t.Errorf("%d bound to the receiver", n)
		}
		other := r.Receiver("other", "q", 10)
		in.Write(Detach(0, true))
		in.Want("", "detach")
		for i := range 4 {
			f := other.Want("", fmt.Sprintf("transfer delivery-id=%d", i))
			if want := Text(fmt.Sprint(i + 2)); !bytes.Equal(f.Payload, want) {
				t.Errorf("at %d came % x", i, f.Payload)
			}
		}
		out.Until("", "disposition first=0 last=1 settled state=modified[true]")
		other.Write(Disposition(amqp.RoleReceiver, 0, 3, true, messaging.Accepted))
		out.Until("", "disposition first=2 last=5 settled state=accepted")
		if n := stats.Egress.Load(); n != 6 {
			t.Errorf("%d of 6 have left, those that came back not counted again", n)
		}
		r.Idle()
	})
}

// A receiver that takes credit back gives back what it was not sent.
func TestCreditTakenBackReturnsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Dial()
		in.Handshake(Open("in"))
		begin := Begin()
		begin.IncomingWindow = 1
		in.BeginSession(0, begin)
		in.Attach(Receiving("in", 0, "q"))
		flow := Flow(0, 0, 4)
		flow.IncomingWindow = 1
		in.Write(flow)
		out := r.Sender("out", "q")
		for i := range uint32(4) {
			out.Write(With(Settled(0, i), Text(fmt.Sprint(i))))
			out.WantAnything()
		}
		in.Want("", "transfer delivery-id=0")
		less := Flow(0, 1, 1)
		less.IncomingWindow = 0
		in.Write(less)
		other := r.Connect("other")
		other.Attach(Receiving("other", 0, "q"))
		other.Write(Flow(0, 0, 10))
		other.Want("two of three", "transfer delivery-id=0 payload=6")
		other.Want("two of three", "transfer delivery-id=1 payload=6")
		other.WantIdle("one is bound still")
		more := Flow(0, 1, 1)
		more.IncomingWindow = 10
		in.Write(more)
		f := in.Want("", "transfer delivery-id=1")
		if !bytes.Equal(f.Payload, Text("1")) {
			t.Errorf("% x", f.Payload)
		}
		if n := r.Address("q").Stats.Egress.Load(); n != 4 {
			t.Errorf("%d of 4 have left", n)
		}
		r.Idle()
	})
}

// Messages of an address that redelivers are kept until they are settled, and
// sent again when their receiver is lost.
func TestRedeliver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Treatment: func(_ string, t *forward.Treatment) { t.Redeliver, t.HighBytes = true, 3000 }})
		one := r.Receiver("one", "q", 10)
		out := r.Sender("out", "q")
		m := &messaging.Message{Header: &messaging.Header{Durable: true, DeliveryCount: 2}, Body: "again"}
		out.Write(With(Transfer(0, 0), encoded(t, m)))
		out.WantAnything()
		one.Want("", "transfer delivery-id=0")
		plain := Message(make([]byte, 900))
		out.Write(With(Transfer(0, 1), plain))
		one.Want("", "transfer delivery-id=1")
		if v := r.Address("q").View(); v.Retained != int64(len(plain)+len(encoded(t, m))) {
			t.Errorf("%+v", v)
		}
		two := r.Receiver("two", "q", 10)
		one.Drop()
		f := two.Want("", "transfer delivery-id=0 settled=false")
		if got := decoded(t, f.Payload); got.Header.DeliveryCount != 3 || !got.Header.Durable || got.Body != "again" {
			t.Errorf("%+v", got)
		}
		f = two.Want("", "transfer delivery-id=1 settled=false")
		if got := decoded(t, f.Payload); got.Header.DeliveryCount != 1 || len(f.Payload) < len(plain) || !bytes.HasSuffix(f.Payload, plain) {
			t.Errorf("%+v", got.Header)
		}
		two.Write(Settle(0, messaging.Released), Accept(1))
		out.Until("an outcome is an outcome", "disposition first=0 settled state=released")
		out.Until("", "disposition first=1 settled state=accepted")
		r.Idle()
		if n := r.Address("q").Stats.Redelivered.Load(); n != 2 {
			t.Errorf("%d counted", n)
		}
		// Beyond the bound the ability to send again is given up, not the flow.
		for i := range uint32(5) {
			out.Write(With(Transfer(0, 2+i), Message(make([]byte, 900))))
			out.WantAnything()
			two.Want("", "transfer")
		}
		if v := r.Address("q").View(); v.Retained > 3000 {
			t.Errorf("%+v", v)
		}
		three := r.Receiver("three", "q", 10)
		two.Drop()
		three.Want("", "transfer delivery-id=0")
		three.Want("", "transfer delivery-id=1")
		three.Want("", "transfer delivery-id=2")
		three.WantIdle("three were kept")
		out.Until("the others have failed", "disposition first=5 last=6 settled state=modified[true]")
		three.Write(Disposition(amqp.RoleReceiver, 0, 2, true, messaging.Accepted))
		out.Until("", "disposition first=2 last=4 settled state=accepted")
		r.Idle()
	})
}

// The last receiver is lost: what would be sent again has nowhere to go.
func TestRedeliverWithoutAnotherReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Treatment: func(_ string, t *forward.Treatment) { t.Redeliver = true }})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		out.Write(With(Transfer(0, 0), Text("x")))
		in.Want("", "transfer")
		in.Drop()
		out.Until("", "disposition first=0 settled state=released")
		r.Idle()
	})
}

// Balanced: work goes to those with capacity, the least loaded first.
func TestBalancedSpreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		a := r.Receiver("a", "q", 100)
		b := r.Receiver("b", "q", 100)
		c := r.Receiver("c", "q", 2)
		out := r.Sender("out", "q")
		for i := range uint32(30) {
			out.Write(With(Transfer(0, i), Text("x")))
			out.WantAnything()
		}
		na, nb, nc := len(a.All("transfer")), len(b.All("transfer")), len(c.All("transfer"))
		if nc != 2 || na != 14 || nb != 14 {
			t.Errorf("%d, %d, %d", na, nb, nc)
		}
		a.Write(Disposition(amqp.RoleReceiver, 0, 13, true, messaging.Accepted))
		for i := range uint32(10) {
			out.Write(With(Transfer(0, 30+i), Text("x")))
			out.WantAnything()
		}
		if na, nb := len(a.All("transfer")), len(b.All("transfer")); na != 10 || nb != 0 {
			t.Errorf("the one that is idle gets %d, the one with 14 unsettled %d", na, nb)
		}
		a.Write(Disposition(amqp.RoleReceiver, 14, 23, true, messaging.Accepted))
		b.Write(Disposition(amqp.RoleReceiver, 0, 13, true, messaging.Accepted))
		c.Write(Disposition(amqp.RoleReceiver, 0, 1, true, messaging.Accepted))
		r.Idle()
	})
}

// A receiver without credit is sent nothing, whoever else is there.
func TestCreditIsALimit(t *testing.T) {
	for _, d := range []forward.Distribution{forward.Balanced, forward.Closest, forward.Multicast} {
		t.Run(d.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{Treatment: func(_ string, t *forward.Treatment) { t.Distribution = d }})
				a := r.Receiver("a", "q", 1)
				b := r.Receiver("b", "q", 0)
				out := r.Sender("out", "q")
				for i := range uint32(5) {
					out.Write(With(Settled(0, i), Text("x")))
					out.WantAnything()
				}
				a.Want("", "transfer delivery-id=0")
				a.WantIdle("its credit is used")
				b.WantIdle("it has none")
				a.Write(Flow(0, 1, 2))
				a.Want("", "transfer delivery-id=1")
				a.Want("", "transfer delivery-id=2")
				a.WantIdle("its credit is used")
				b.Write(Flow(0, 0, 100))
				want := map[forward.Distribution]int{forward.Multicast: 5}[d]
				if want == 0 {
					want = 2
				}
				if n := len(b.All("transfer")); n != want {
					t.Errorf("b has %d of %d", n, want)
				}
				a.Write(Flow(0, 3, 100))
				a.WantAnything()
				r.Idle()
			})
		})
	}
}

// Receivers leave when it is the turn of those that were the last.
func TestTurnsAfterReceiversLeave(t *testing.T) {
	for _, d := range []forward.Distribution{forward.Balanced, forward.Closest} {
		for n := 2; n <= 5; n++ {
			for stay := 1; stay < n; stay++ {
				t.Run(fmt.Sprintf("%v/%d of %d", d, stay, n), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := bubble.New(t, bubble.Options{Treatment: func(_ string, t *forward.Treatment) { t.Distribution = d }})
						var in []*Peer
						for i := range n {
							in = append(in, r.Receiver(fmt.Sprint(i), "q", 100))
						}
						out := r.Sender("out", "q")
						id := uint32(0)
						for range n - 1 {
							out.Write(With(Settled(0, id), Text("x")))
							out.WantAnything()
							id++
						}
						for _, p := range in[stay:] {
							p.Drop()
						}
						for range 2 * n {
							out.Write(With(Settled(0, id), Text("x")))
							out.WantAnything()
							id++
						}
						got := 0
						for _, p := range in[:stay] {
							k := len(p.All("transfer"))
							if k < 2*n/stay-1 {
								t.Errorf("one has %d", k)
							}
							got += k
						}
						if want := 2*n + min(stay, n-1); got != want {
							t.Errorf("%d of %d", got, want)
						}
					})
				})
			}
		}
	}
}

// Two large messages at once to one receiver: the second waits behind the first
// and fills the link. That must not hold off the rest of the first, without
// which nothing would ever be written again.
func TestTwoStreamsToOneReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		a, b := r.Sender("a", "q"), r.Sender("b", "q")
		m := Message(make([]byte, 500_000))
		sent := map[*Peer]int{}
		push := func(p *Peer, most int) {
			for n := 0; n < most && sent[p] < len(m) && p.Window(0) > 0; n++ {
				f := Next(0)
				if sent[p] == 0 {
					f = Transfer(0, 0)
				}
				size := min(16_000, len(m)-sent[p])
				f.More = sent[p]+size < len(m)
				p.Write(With(f, m[sent[p]:sent[p]+size]))
				sent[p] += size
			}
		}
		push(a, 1) // a is first
		push(b, 1000)
		if n, high := r.Outgoing(0).Outgoing(), bubble.DefaultLimits().OutgoingHigh; n < high || n > high+16_000 {
			t.Errorf("%d bytes of b wait, the high mark is %d", n, high)
		}
		push(a, 1000)
		_, got, _ := in.Message("all of a")
		if !bytes.Equal(got, m) {
			t.Errorf("%d bytes of %d", len(got), len(m))
		}
		push(b, 1000)
		_, got, _ = in.Message("all of b")
		if !bytes.Equal(got, m) {
			t.Errorf("%d bytes of %d", len(got), len(m))
		}
		in.Write(Disposition(amqp.RoleReceiver, 0, 1, true, messaging.Accepted))
		a.Until("", "disposition settled state=accepted")
		b.Until("", "disposition settled state=accepted")
		r.Idle()
	})
}
