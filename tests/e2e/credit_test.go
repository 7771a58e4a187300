package e2e

import (
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

// ready sends n messages to "q" and lets them wait there.
func ready(t *testing.T, r *bubble.Router, n uint32) *Peer {
	out := r.Sender("out", "q")
	for i := range n {
		out.Write(With(Settled(0, i), Text("x")))
		out.WantAnything()
	}
	return out
}

// §2.6.7: a flow that gives credit and asks for a drain does both: "the sender
// … sends … as many as it can, … advances the delivery-count, consuming all
// link-credit, and sends the flow state".
func TestBC11_CreditAndDrainInOneFlow(t *testing.T) {
	for _, n := range []int{0, 3, 5} {
		t.Run(fmt.Sprintf("ready=%d", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				in := r.Receiver("in", "q", 0)
				out := ready(t, r, uint32(n))
				in.Write(Drain(Flow(0, 0, 5)))
				for i := range n {
					in.Want("what is there is sent first", fmt.Sprintf("transfer handle=0 delivery-id=%d", i))
				}
				in.Want("then the rest of the credit is used up", "flow handle=0 delivery-count=5 link-credit=0 drain")
				in.WantIdle("one answer")
				out.Write(With(Settled(0, uint32(n)), Text("later")))
				in.WantIdle("the credit is gone")
				in.Write(Flow(0, 5, 1))
				in.Want("until there is more", fmt.Sprintf("transfer handle=0 delivery-id=%d", n))
				r.Idle()
			})
		})
	}
}

// A drain is over when it is answered; credit that comes later is ordinary.
func TestBC11_DrainTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		in.Write(Drain(Flow(0, 0, 10)))
		in.Want("nothing is there", "flow delivery-count=10 link-credit=0 drain")
		in.Write(Drain(Flow(0, 10, 2)))
		in.Want("again nothing", "flow delivery-count=12 link-credit=0 drain")
		in.Write(Flow(0, 12, 2))
		in.WantIdle("no drain, no answer")
		out := r.Sender("out", "q")
		out.Write(With(Settled(0, 0), Text("x")))
		in.Want("credit is credit", "transfer delivery-id=0")
	})
}

// A drain with a closed window is answered all the same when nothing is there.
func TestBC11_DrainWithClosedWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Dial()
		in.Handshake(Open("in"))
		begin := Begin()
		begin.IncomingWindow = 0
		in.BeginSession(0, begin)
		in.Attach(Receiving("in", 0, "q"))
		in.Write(Drain(Flow(0, 0, 5)))
		in.Want("a flow needs no window", "flow delivery-count=5 link-credit=0 drain")
	})
}

// The sender is asked to drain by nobody but may give up credit on its own
// (§2.6.7: the delivery-count is the sender's).
func TestSenderGivesUpCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		out.Write(Flow(0, 1, 0))
		out.Want("the receiver goes on from the sender's count", "flow delivery-count=1 link-credit=1")
		out.Write(With(Settled(0, 0), Text("x")))
		in.Want("", "transfer delivery-id=0")
	})
}

// §2.6.7: credit that has been granted may be in use before the sender knows
// that it was taken back.
func TestBC13_TransfersOnTheirWayWhenCreditShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		out.Write(With(Settled(0, 0), Text("x")))
		out.Want("", "flow delivery-count=1 link-credit=249")
		in.Drop()
		out.Want("the last destination has gone: credit is taken back", "flow delivery-count=1 link-credit=0")
		for i := uint32(1); i <= 249; i++ {
			out.Write(With(Transfer(0, i), Text("x")))
		}
		if n := len(out.All("detach")); n != 0 {
			t.Fatalf("the link was detached for using what it had been granted\n%s", out.Trace())
		}
		out.Write(With(Transfer(0, 250), Text("x")))
		out.Want("§2.8.18: and not one more", "detach closed ~condition=amqp:link:transfer-limit-exceeded")
	})
}

// The same when messages grow, for which the link's byte budget is too small.
func TestBC13_CreditShrinksWithGrowingMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Limits: links.Limits{LinkBytes: 100_000}})
		in := r.Receiver("in", "q", 1000)
		out := r.Sender("out", "q")
		out.Write(With(Settled(0, 0), Text("x")))
		out.Want("", "flow delivery-count=1 link-credit=249")
		out.Write(With(Settled(0, 1), Message(make([]byte, 10_000))))
		out.Until("10 of that size fit", "flow delivery-count=2 link-credit=9")
		for i := uint32(2); i < 250; i++ {
			out.Write(With(Settled(0, i), Text("x")))
		}
		out.All("")
		out.Write(Echo(Flow(0, 0, 0)))
		out.Want("all of the old credit was good", "flow delivery-count=250")
		if n := len(in.All("transfer")); n != 250 {
			t.Errorf("%d messages arrived", n)
		}
		r.Idle()
	})
}

// §2.6.7 leaves the policy to the receiver: what is granted, undelivered and
// unsettled together never exceeds the capacity.
func TestBC15_CreditFollowsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Limits: links.Limits{Capacity: 10}})
		in := r.Receiver("in", "q", 1000)
		out := r.Sender("out", "q")
		credit, sent := uint32(1), uint32(0)
		push := func() {
			for {
				for sent < credit {
					out.Write(With(Transfer(0, sent), Text("x")))
					sent++
				}
				out.WantAnything()
				if credit = sent + r.Credit(0); credit == sent {
					return
				}
			}
		}
		push()
		if sent != 10 {
			t.Fatalf("%d deliveries are unsettled, the capacity is 10", sent)
		}
		for i := range uint32(100) {
			in.Write(Accept(i))
			push()
			if open := sent - i - 1; open > 10 {
				t.Fatalf("%d deliveries are unsettled, the capacity is 10", open)
			}
		}
		if sent < 100 {
			t.Errorf("%d sent: credit does not come back", sent)
		}
		in.Write(Disposition(amqp.RoleReceiver, 100, sent, true, messaging.Accepted))
		r.Idle()
	})
}

// A router has nowhere to send, so it asks for nothing; what it had asked for
// comes back released, once.
func TestBC17_CreditIsTakenBackWithTheLastDestination(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		out := r.Connect("out")
		out.Attach(Sending("out", 0, "q"))
		out.WantIdle("no credit without a destination")
		in := r.Connect("in")
		in.Attach(Receiving("in", 0, "q"))
		out.Want("a destination", "flow handle=0 link-credit=1")
		in.Write(Flow(0, 0, 1))
		out.Write(With(Transfer(0, 0), Text("x")))
		out.Want("", "flow delivery-count=1 link-credit=249")
		in.Want("", "transfer delivery-id=0")
		in.Write(Accept(0))
		out.Want("", "disposition first=0 settled state=accepted")
		out.Write(With(Transfer(0, 1), Text("waits")))
		out.WantIdle("it waits for credit")
		in.Write(Detach(0, true))
		in.Want("", "detach handle=0 closed")
		got := out.All("")
		if len(got) != 2 {
			t.Fatalf("credit and what waited come back, nothing else:\n%s", out.Trace())
		}
		out.Write(With(Transfer(0, 2), Text("was on its way")))
		out.Want("what had been granted is answered", "disposition first=2 settled state=released")
		out.WantIdle("and brings no new credit")
		if v := r.Address("q").View(); v.Gate != links.GateClosed || v.Waiting != 0 {
			t.Errorf("%+v", v)
		}
		in.Attach(Receiving("again", 0, "q"))
		out.Want("a destination again", "flow delivery-count=3 ~link-credit=2")
		r.Idle()
	})
}

// §2.7.6: a sender may settle on its own. That frees its slot, and the receiver
// is told.
func TestBC19_SenderSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Limits: links.Limits{Capacity: 4}})
		in := r.Receiver("in", "q", 100)
		out := r.Sender("out", "q")
		for i := range uint32(4) {
			out.Write(With(Transfer(0, i), Text("x")))
			out.WantAnything()
			in.Want("", "transfer")
		}
		if c := r.Credit(0); c != 0 {
			t.Fatalf("credit %d, the consumer hoards", c)
		}
		out.Write(Disposition(amqp.RoleSender, 0, 3, true, messaging.DeliveryState{}))
		out.Want("the slots are free", "flow delivery-count=4 link-credit=4")
		in.Want("the receiver is told", "disposition role=sender first=0 last=3 settled")
		in.Write(Accept(2))
		out.WantIdle("a late outcome means nothing")
		r.Idle()
	})
}

// The age limit of unsettled deliveries frees the slot too, as modified.
func TestBC19_UnsettledTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{
			Limits:    links.Limits{Capacity: 2},
			Treatment: func(_ string, t *forward.Treatment) { t.UnsettledTimeout = 5e9 },
		})
		in := r.Receiver("in", "q", 100)
		out := r.Sender("out", "q")
		for i := range uint32(2) {
			out.Write(With(Transfer(0, i), Text("x")))
			out.WantAnything()
			in.Want("", "transfer")
			wait(3)
		}
		r.Sweep()
		out.Want("the slot of the first is free, which is 6 seconds old", "flow delivery-count=2 link-credit=1")
		out.Want("its sender is told", "disposition role=receiver first=0 settled state=modified[true]")
		in.Want("the receiver has lost it", "disposition role=sender first=0 settled state=modified[true]")
		in.WantIdle("the second has time left")
		in.Write(Accept(0))
		in.Write(Accept(1))
		out.Until("and gets its own outcome", "disposition first=1 settled state=accepted")
		if n := r.Outgoing(0).Counters.TimedOut; n != 1 {
			t.Errorf("%d counted", n)
		}
		r.Idle()
	})
}
