package e2e

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/messaging"
	"sluice/router/forward"
	"sluice/tests/harness/bubble"
)

// A receiver may say the outcome and leave the settlement to its sender
// (§2.6.12). Its sender is at the other end of the network: it hears the outcome,
// settles, and then the receiver hears that. Or the receiver settles after all.
func TestMesh_OutcomeBeforeSettlement(t *testing.T) {
	modified := messaging.Modified(true, true, nil)
	const first, second = amqp.ReceiverSettleFirst, amqp.ReceiverSettleSecond
	for _, mode := range []struct{ in, out amqp.ReceiverSettleMode }{{first, first}, {first, second}, {second, second}} {
		for _, last := range []string{"sender", "receiver", "sender leaves", "receiver leaves"} {
			t.Run(fmt.Sprintf("receiver=%v/sender=%v/%s settles", mode.in, mode.out, last), func(t *testing.T) {
				hops(t, bubble.Options{}, func(m *bubble.Mesh, from, to *bubble.Router) {
					in := to.Connect("in")
					a := Receiving("in", 0, "q")
					a.ReceiverSettleMode = mode.in
					in.Attach(a)
					in.Write(Flow(0, 0, 10))
					m.Soon()
					out := from.Connect("out")
					b := Sending("out", 0, "q")
					b.ReceiverSettleMode = mode.out
					out.Attach(b)
					out.Until("", "flow link-credit=1")
					out.Write(With(Transfer(0, 0), Text("m")))
					in.Until("", "transfer delivery-id=0 settled=false")
					in.Write(Disposition(amqp.RoleReceiver, 0, 0, false, modified))
					out.Until("the outcome, unsettled", "disposition role=receiver first=0 !settled ~state=modified[true true")
					in.WantIdle("nobody has settled")
					switch last {
					case "sender":
						out.Write(Disposition(amqp.RoleSender, 0, 0, true, messaging.DeliveryState{}))
						in.Until("the sender has settled", "disposition role=sender first=0 settled")
						in.Write(Settle(0, messaging.Accepted))
						synctest.Wait()
						out.WantIdle("it is over")
					case "receiver":
						in.Write(Settle(0, messaging.DeliveryState{}))
						out.Until("with the outcome that was said", "disposition role=receiver first=0 settled ~state=modified[true true")
					case "sender leaves":
						out.Write(Detach(0, true))
						in.Until("nobody will settle", "disposition role=sender first=0 settled")
					case "receiver leaves":
						in.Write(Detach(0, true))
						out.Until("with the outcome that was said", "disposition role=receiver first=0 settled ~state=modified[true true")
					}
				})
			})
		}
	}
}

// Where the receiver waits for its sender and the sender for the receiver, the
// router between them settles with both (§2.8.3).
func TestReceiverSecondSenderFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Treatment: multicast})
		in := r.Connect("in")
		a := Receiving("in", 0, "q")
		a.ReceiverSettleMode = amqp.ReceiverSettleSecond
		in.Attach(a)
		in.Write(Flow(0, 0, 10))
		other := r.Receiver("other", "q", 10)
		out := r.Sender("out", "q")
		out.Write(With(Transfer(0, 0), Text("m")))
		in.Want("", "transfer delivery-id=0 settled=false")
		in.Write(Disposition(amqp.RoleReceiver, 0, 0, false, messaging.Accepted))
		in.Want("", "disposition role=sender first=0 settled")
		other.Want("", "transfer delivery-id=0 settled=false")
		other.Write(Accept(0))
		out.Until("", "disposition role=receiver first=0 settled state=accepted")
		r.Idle()
	})
}

// A message to several has its outcome when all have said theirs, and is settled
// when all have settled or the sender has.
func TestMesh_MulticastOutcomeBeforeSettlement(t *testing.T) {
	for _, last := range []string{"sender", "receivers", "sender leaves", "receivers leave"} {
		t.Run(last, func(t *testing.T) {
			hops(t, bubble.Options{Treatment: multicast}, func(m *bubble.Mesh, from, to *bubble.Router) {
				var in []*Peer
				for i, r := range []*bubble.Router{from, to, to} {
					in = append(in, r.Receiver(fmt.Sprint(i), "q", 10))
				}
				m.Soon()
				out := from.Sender("out", "q")
				out.Write(With(Transfer(0, 0), Text("to all")))
				out.WantAnything()
				say := func(p *Peer, settled bool, state messaging.DeliveryState) {
					p.Until("", "transfer delivery-id=0 settled=false")
					p.Write(Disposition(amqp.RoleReceiver, 0, 0, settled, state))
					synctest.Wait()
				}
				say(in[1], false, messaging.Released)
				say(in[0], true, messaging.Released)
				out.WantIdle("one has said nothing")
				say(in[2], false, messaging.Accepted)
				out.Until("the strongest", "disposition role=receiver first=0 !settled state=accepted")
				in[1].WantIdle("nobody has settled")
				in[2].WantIdle("nobody has settled")
				switch last {
				case "sender":
					out.Write(Disposition(amqp.RoleSender, 0, 0, true, messaging.DeliveryState{}))
				case "sender leaves":
					out.Write(Detach(0, true))
				case "receivers":
					in[1].Write(Settle(0, messaging.Released))
					out.WantIdle("one has not settled")
					in[2].Write(Settle(0, messaging.Accepted))
					out.Until("", "disposition role=receiver first=0 settled state=accepted")
					return
				case "receivers leave":
					in[1].Write(Detach(0, true))
					out.WantIdle("one has not settled")
					in[2].Write(Detach(0, true))
					out.Until("", "disposition role=receiver first=0 settled state=accepted")
					return
				}
				in[1].Until("", "disposition role=sender first=0 settled")
				in[2].Until("", "disposition role=sender first=0 settled")
			})
		})
	}
}

// An outcome that has been said and that neither end settles is settled when the
// time for one is over: it is kept, and nobody is to blame.
func TestOutcomeThatNobodySettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Treatment: func(_ string, t *forward.Treatment) { t.UnsettledTimeout = 5e9 }})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		out.Write(With(Transfer(0, 0), Text("m")))
		in.Want("", "transfer delivery-id=0 settled=false")
		in.Write(Disposition(amqp.RoleReceiver, 0, 0, false, messaging.Accepted))
		out.Until("", "disposition role=receiver first=0 !settled state=accepted")
		time.Sleep(6 * time.Second)
		r.Sweep()
		in.Want("", "disposition role=sender first=0 settled !state")
		out.Want("", "disposition role=receiver first=0 settled state=accepted")
		if n := r.Outgoing(0).Counters.TimedOut; n != 0 {
			t.Errorf("%d counted as timed out", n)
		}
		r.Idle()
	})
}
