package e2e

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/messaging"
	"sluice/links"
	"sluice/router/forward"
	"sluice/tests/harness/bubble"
)

func multicast(_ string, t *forward.Treatment) { t.Distribution = forward.Multicast }

// The sender sees one outcome when all copies have one; the strongest decides.
func TestMulticastOutcomes(t *testing.T) {
	rejected := messaging.Rejected(&amqp.Error{Condition: "no"})
	modified := messaging.Modified(true, true, nil)
	for _, test := range []struct {
		states []messaging.DeliveryState
		want   string
	}{
		{[]messaging.DeliveryState{messaging.Accepted, messaging.Accepted, messaging.Accepted}, "state=accepted"},
		{[]messaging.DeliveryState{messaging.Released, messaging.Accepted, modified}, "state=accepted"},
		{[]messaging.DeliveryState{messaging.Accepted, rejected, messaging.Released}, "~state=rejected ~condition=no"},
		{[]messaging.DeliveryState{messaging.Released, modified, messaging.Released}, "~state=modified[true true"},
		{[]messaging.DeliveryState{messaging.Released, messaging.Released, messaging.Released}, "state=released"},
	} {
		t.Run(test.want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{Treatment: multicast})
				var in []*Peer
				for i := range test.states {
					in = append(in, r.Receiver(fmt.Sprint(i), "q", 10))
				}
				out := r.Sender("out", "q")
				out.Write(With(Transfer(0, 0), Text("to all")))
				out.WantAnything()
				for i, p := range in {
					f := p.Want("", "transfer delivery-id=0 settled=false")
					if !bytes.Equal(f.Payload, Text("to all")) {
						t.Errorf("% x", f.Payload)
					}
					p.Write(Settle(0, test.states[i]))
					if i+1 < len(in) {
						out.WantIdle("not all have decided")
					}
				}
				want := test.want
				if test.want == "~state=rejected ~condition=no" {
					want = "~state=rejected"
				}
				out.Until("", "disposition first=0 settled "+want)
				out.WantIdle("once")
				r.Idle()
			})
		})
	}
}

// The slowest copy sets the pace: a message counts at its sender until its last
// copy has left.
func TestMulticastWaitsForTheSlowest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Treatment: multicast, Limits: links.Limits{Capacity: 5}})
		fast := r.Receiver("fast", "q", 1000)
		slow := r.Receiver("slow", "q", 1)
		out := r.Sender("out", "q")
		id := uint32(0)
		push := func() {
			synctest.Wait()
			for r.Credit(0) > 0 {
				out.Write(With(Settled(0, id), Text("x")))
				out.WantAnything()
				id++
			}
		}
		push()
		if id != 6 {
			t.Errorf("%d were taken: one has left, five are the capacity", id)
		}
		if n := len(fast.All("transfer")); n != int(id) {
			t.Errorf("the fast one has %d of %d", n, id)
		}
		slow.Write(Flow(0, 1, 3))
		push()
		if id != 9 {
			t.Errorf("three more have left, %d were taken", id)
		}
		// It leaves: its copies are gone, and the others go on.
		slow.Write(Detach(0, true))
		slow.Until("", "detach")
		for range 20 {
			if r.Credit(0) == 0 {
				t.Fatalf("no credit after %d", id)
			}
			out.Write(With(Settled(0, id), Text("x")))
			out.WantAnything()
			id++
		}
		if n := len(fast.All("transfer")); n == 0 {
			t.Error("the fast one gets nothing")
		}
		r.Idle()
	})
}

// With a bound for the wait, the copy of a slow receiver is dropped, counted,
// and its outcome is modified.
func TestMulticastPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{
			Limits:    links.Limits{Capacity: 4},
			Treatment: func(n string, t *forward.Treatment) { multicast(n, t); t.Patience = 10e9 },
		})
		fast := r.Receiver("fast", "q", 1000)
		slow := r.Receiver("slow", "q", 0)
		out := r.Sender("out", "q")
		for i := range uint32(4) {
			out.Write(With(Transfer(0, i), Text("x")))
			out.WantAnything()
			fast.Want("", fmt.Sprintf("transfer delivery-id=%d", i))
			wait(3)
		}
		if c := r.Credit(0); c != 0 {
			t.Fatalf("credit %d", c)
		}
		fast.Write(Settle(0, messaging.Released), Settle(1, messaging.Accepted))
		out.WantIdle("the slow one has not decided")
		r.Sweep()
		out.Until("12 seconds", "disposition first=0 settled state=modified[true]")
		if n := r.Address("q").Stats.DroppedSlow.Load(); n != 1 {
			t.Errorf("%d dropped", n)
		}
		wait(3)
		r.Sweep()
		out.Until("the strongest outcome", "disposition first=1 settled state=accepted")
		slow.Write(Flow(0, 0, 10))
		slow.Want("the others are there", "transfer delivery-id=0")
		slow.Want("the others are there", "transfer delivery-id=1")
		slow.WantIdle("two are gone")
		slow.Write(Disposition(amqp.RoleReceiver, 0, 1, true, messaging.Accepted))
		fast.Write(Disposition(amqp.RoleReceiver, 2, 3, true, messaging.Accepted))
		out.Until("", "disposition first=2 last=3 settled state=accepted")
		r.Idle()
	})
}

// One stream to three receivers: each gets it whole at its own pace; one leaves
// in the middle, one settles in the middle.
func TestMulticastStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Treatment: multicast})
		stays := r.Receiver("stays", "q", 1)
		leaves := r.Receiver("leaves", "q", 1)
		settles := r.Receiver("settles", "q", 1)
		late := r.Receiver("late", "q", 0)
		out := r.Sender("out", "q")
		m := Message(bytes.Repeat([]byte("0123456789"), 5000))
		out.Write(With(More(Transfer(0, 0)), m[:10_000]))
		out.WantAnything()
		got := stays.Want("", "transfer more").Payload
		leaves.Want("", "transfer more")
		settles.Want("", "transfer more")
		leaves.Drop()
		settles.Write(Settle(0, messaging.Rejected(nil)))
		settles.Want("", "transfer aborted")
		out.Write(With(More(Next(0)), m[10_000:20_000]))
		out.Write(With(More(Next(0)), m[20_000:35_000]))
		out.Write(With(Next(0), m[35_000:]))
		out.WantAnything()
		for _, f := range stays.All("transfer") {
			got = append(got, f.Payload...)
		}
		if !bytes.Equal(got, m) {
			t.Errorf("%d bytes of %d", len(got), len(m))
		}
		stays.Write(Accept(0))
		out.WantIdle("one has not begun")
		late.Write(Flow(0, 0, 1))
		_, all, _ := late.Message("")
		if !bytes.Equal(all, m) {
			t.Errorf("late: %d bytes of %d", len(all), len(m))
		}
		late.Write(Accept(0))
		out.Until("", "disposition first=0 settled ~state=rejected")
		settles.WantIdle("")
		r.Idle()
	})
}

// An aborted stream aborts every copy that was begun.
func TestMulticastAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Treatment: multicast})
		a := r.Receiver("a", "q", 5)
		b := r.Receiver("b", "q", 5)
		c := r.Receiver("c", "q", 0)
		out := r.Sender("out", "q")
		for i := range uint32(3) {
			out.Write(With(More(Transfer(0, i)), Message(make([]byte, 1000))[:500]))
			a.Want("", fmt.Sprintf("transfer delivery-id=%d more", i))
			b.Want("", fmt.Sprintf("transfer delivery-id=%d more", i))
			out.Write(Abort(0))
			out.WantAnything()
			a.Want("", "transfer aborted")
			b.Want("", "transfer aborted")
		}
		out.Write(With(Settled(0, 3), Text("x")))
		c.Write(Flow(0, 0, 10))
		c.Want("c never began the others", "transfer delivery-id=0 !aborted payload=6")
		c.WantIdle("")
		r.Idle()
	})
}

// All receivers leave while copies wait and while others are under way.
func TestMulticastReceiversLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Treatment: multicast})
		a := r.Receiver("a", "q", 2)
		b := r.Receiver("b", "q", 0)
		out := r.Sender("out", "q")
		for i := range uint32(4) {
			out.Write(With(Transfer(0, i), Text("x")))
			out.WantAnything()
		}
		a.WantAnything()
		b.Drop()
		out.WantAnything()
		a.Drop()
		out.Until("nobody had these", "disposition first=2 last=3 settled state=released")
		out.Until("a had two", "disposition first=0 last=1 settled state=modified[true]")
		r.Idle()
	})
}

// A receiver takes credit back that copies were bound for: they wait, in order.
func TestMulticastCreditTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Treatment: multicast})
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
		for i := range uint32(6) {
			out.Write(With(Settled(0, i), Text(fmt.Sprint(i))))
			out.WantAnything()
		}
		in.Want("", "transfer delivery-id=0")
		less := Flow(0, 1, 0)
		less.IncomingWindow = 0
		in.Write(less)
		in.WantIdle("")
		more := Flow(0, 1, 100)
		more.IncomingWindow = 100
		in.Write(more)
		for i := 1; i < 6; i++ {
			if f := in.Want("none is lost", "transfer !more"); !bytes.Equal(f.Payload, Text(fmt.Sprint(i))) {
				t.Errorf("at %d came % x", i, f.Payload)
			}
		}
		r.Idle()
	})
}

// A message has come to its end at one receiver while that is over its mark: its
// sender is not held off by it any longer.
func TestMulticastHoldEndsWithTheCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Treatment: multicast})
		a := r.Receiver("a", "q", 10)
		b := r.Receiver("b", "q", 10)
		x, y := r.Sender("x", "q"), r.Sender("y", "q")
		m := Message(make([]byte, 400_000))
		at := map[*Peer]int{}
		push := func(p *Peer, n int) {
			for ; n > 0 && at[p] < len(m) && p.Window(0) > 0; n-- {
				f := Next(0)
				if at[p] == 0 {
					f = Transfer(0, 0)
				}
				k := min(16_000, len(m)-at[p])
				f.More = at[p]+k < len(m)
				p.Write(With(f, m[at[p]:at[p]+k]))
				at[p] += k
				synctest.Wait()
			}
		}
		push(x, 1) // first at both
		push(y, 20)
		if !r.Incoming(1).Held() {
			t.Fatal("y waits behind x and fills both links")
		}
		push(x, 3)
		a.Write(Settle(0, messaging.Released)) // a has seen enough of x
		push(x, 1000)
		for range 20 {
			push(y, 1000)
			a.All("")
			b.All("")
		}
		if at[y] != len(m) || r.Incoming(1).Held() {
			t.Fatalf("%d bytes of y", at[y])
		}
		a.Write(Accept(1))
		b.Write(Disposition(amqp.RoleReceiver, 0, 1, true, messaging.Accepted))
		x.Until("", "disposition settled state=accepted")
		y.Until("", "disposition settled state=accepted")
		r.Idle()
	})
}
