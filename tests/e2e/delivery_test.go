package e2e

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/encoding"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/tests/harness/bubble"
)

// §2.7.5: the payload of an aborting frame is ignored, the delivery is
// discarded, and delivery-count and credit advance as for a normal delivery.
func TestBC27_AbortedDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		whole := Message(bytes.Repeat([]byte("good"), 100))
		out.Write(With(More(Transfer(0, 0)), Message(make([]byte, 1000))[:500]))
		in.Want("forwarding starts with the first frame", "transfer delivery-id=0 more payload=500")
		out.Write(With(Abort(0), []byte("to be ignored")))
		in.Want("an abort aborts what was begun", "transfer handle=0 aborted payload=0")
		out.Write(With(Transfer(0, 1), whole))
		f := in.Want("the next message is not glued to the remains", "transfer delivery-id=1 !more !aborted")
		if !bytes.Equal(f.Payload, whole) {
			t.Errorf("%d bytes of %d", len(f.Payload), len(whole))
		}
		in.Write(Accept(1))
		out.Until("its outcome", "disposition first=1 settled state=accepted")
		out.Write(Echo(Flow(0, 0, 0)))
		out.Want("both count", "flow delivery-count=2")
		in.Write(Echo(Flow(0, 2, 8)))
		in.Want("both count", "flow delivery-count=2 link-credit=8")
		r.Idle()
	})
}

// Aborted before anybody could take it: nothing is sent, and nothing waits.
func TestBC27_AbortedWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 0)
		out := r.Sender("out", "q")
		out.Write(With(More(Transfer(0, 0)), Message(make([]byte, 1000))[:500]))
		out.Write(With(Abort(0), nil))
		r.Idle()
		out.Until("an aborted delivery gives its credit back", "flow delivery-count=1 link-credit=1")
		out.Write(With(More(Transfer(0, 1)), Message(make([]byte, 1000))[:2])) // not even an envelope
		out.Write(With(Abort(0), nil))
		out.Until("an aborted delivery gives its credit back", "flow delivery-count=2 link-credit=1")
		out.Write(With(Settled(0, 2), Text("good")))
		in.Write(Flow(0, 0, 5))
		in.Want("the aborted ones are gone", "transfer delivery-id=0 !more payload=9")
		in.WantIdle("and cost no credit")
		out.Write(Echo(Flow(0, 0, 0)))
		out.Until("", "flow delivery-count=3")
		r.Idle()
	})
}

// The sender's connection is lost in the middle of a message.
func TestBC27_LostSenderAbortsItsCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		out.Write(With(More(Transfer(0, 0)), Message(make([]byte, 1000))[:500]))
		in.Want("", "transfer delivery-id=0 more")
		out.Drop()
		in.Want("the rest will not come", "transfer aborted")
		again := r.Sender("again", "q")
		again.Write(With(Settled(0, 0), Text("x")))
		in.Want("", "transfer delivery-id=1 !aborted")
	})
}

// A delivery of an unknown format may begin with an empty frame; if it is
// aborted then, no other delivery is harmed.
func TestBC27_AbortBeforeTheFirstByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		out.Write(With(Transfer(0, 0), Text("x")))
		in.Want("", "transfer delivery-id=0")
		empty := More(Transfer(0, 1))
		empty.MessageFormat, empty.HasMessageFormat = 77, true
		out.Write(empty)
		in.WantIdle("nothing is there to send")
		out.Write(Abort(0))
		in.WantIdle("nothing has begun")
		in.Write(Accept(0))
		out.Until("the first delivery has its outcome", "disposition first=0 settled state=accepted")
		r.Idle()
	})
}

// The same, but the receiver goes.
func TestReceiverLeavesBeforeTheFirstByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		empty := More(Transfer(0, 0))
		empty.MessageFormat, empty.HasMessageFormat = 77, true
		out.Write(empty)
		in.WantIdle("nothing is there to send")
		in.Write(Detach(0, true))
		in.Want("", "detach handle=0 closed")
		out.Until("nobody has seen it", "disposition first=0 settled state=released")
		out.Write(With(Next(0), []byte("late")))
		out.Write(Echo(Flow(0, 0, 0)))
		out.Until("the link lives", "flow delivery-count=1")
		r.Idle()
	})
}

// §2.7.3: max-message-size is "the maximum message size supported by the link endpoint".
func TestBC33_MaxMessageSize(t *testing.T) {
	const limit = 10_000
	for _, size := range []int{limit - 1, limit, limit + 1, 10 * limit} {
		for _, frame := range []int{900, 15_000} {
			t.Run(fmt.Sprintf("size=%d/frame=%d", size, frame), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := bubble.New(t, bubble.Options{Limits: links.Limits{MaxMessageSize: limit}})
					in := r.Receiver("in", "q", 10)
					out := r.Connect("out")
					if a := out.Attach(Sending("out", 0, "q")); a.MaxMessageSize != limit {
						t.Errorf("announced %d", a.MaxMessageSize)
					}
					out.Want("", "flow link-credit=1")
					m := Message(make([]byte, size))[:size]
					out.Stream(Transfer(0, 0), m, frame)
					if size <= limit {
						_, got, _ := in.Message("it fits")
						if !bytes.Equal(got, m) {
							t.Errorf("%d bytes of %d", len(got), size)
						}
						in.Write(Accept(0))
						out.Until("", "disposition first=0 settled state=accepted")
						r.Idle()
						return
					}
					out.Until("the outcome says why", "disposition first=0 settled ~state=rejected ~amqp:link:message-size-exceeded")
					out.Until("§2.8.18", "detach handle=0 closed ~condition=amqp:link:message-size-exceeded")
					if begun := in.All("transfer"); len(begun) > 0 {
						if last := begun[len(begun)-1]; mismatch(last, "aborted") {
							t.Errorf("the copy was not aborted:\n%s", in.Trace())
						}
					}
					out.WantIdle("the session lives")
					r.Idle()
				})
			})
		}
	}
}

// A link that carries the messages of many is not ended because of one.
func TestBC33_MaxMessageSizeOfATrunk(t *testing.T) {
	const limit = 10_000
	for _, size := range []int{limit + 1, 10 * limit} {
		for _, frame := range []int{900, 15_000} {
			for _, settled := range []bool{false, true} {
				t.Run(fmt.Sprintf("size=%d/frame=%d/settled=%t", size, frame, settled), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := bubble.New(t, bubble.Options{Limits: links.Limits{MaxMessageSize: limit, Transit: true}})
						in := r.Receiver("in", "q", 10)
						out := r.Connect("out")
						out.Attach(Sending("out", 0, "q"))
						out.Want("", "flow handle=0")
						first := Transfer(0, 0)
						first.Settled, first.HasSettled = settled, settled
						out.Stream(first, Message(make([]byte, size))[:size], frame)
						if !settled {
							out.Until("the outcome says why", "disposition first=0 settled ~state=rejected ~amqp:link:message-size-exceeded")
						}
						out.Write(With(Transfer(0, 1), Text("small")))
						var next frames.Transfer
						f := in.Until("the next one is whole", fmt.Sprintf("transfer !more !aborted payload=%d", len(Text("small"))))
						f.Decode(&next)
						in.Write(Accept(uint32(next.DeliveryID)))
						out.Until("the link lives", "disposition first=1 settled state=accepted")
						r.Idle()
					})
				})
			}
		}
	}
}

func mismatch(f Frame, field string) bool { return !bytes.Contains([]byte(f.Text), []byte(" "+field)) }

// A receiver's own max-message-size holds for what it is sent.
func TestBC33_MaxMessageSizeOfAReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Connect("in")
		a := Receiving("in", 0, "q")
		a.MaxMessageSize = 1000
		in.Attach(a)
		in.Write(Flow(0, 0, 10))
		out := r.Sender("out", "q")
		out.Write(With(Transfer(0, 0), Message(make([]byte, 2000))))
		out.Until("", "disposition first=0 settled ~state=rejected ~amqp:link:message-size-exceeded")
		in.WantIdle("it was not begun")
		m := Message(make([]byte, 2000))
		out.Write(With(More(Transfer(0, 1)), m[:400]))
		in.Want("nobody knows yet", "transfer delivery-id=0 more")
		out.Write(With(Next(0), m[400:]))
		out.Until("", "disposition first=1 settled ~state=rejected ~amqp:link:message-size-exceeded")
		if all := in.All("transfer"); len(all) == 0 || mismatch(all[len(all)-1], "aborted") {
			t.Errorf("the stream was not aborted:\n%s", in.Trace())
		}
		out.Write(With(Transfer(0, 2), Text("small")))
		in.Want("", "transfer delivery-id=1 !aborted payload=10")
		in.Write(Accept(1))
		r.Idle()
	})
}

// §3.4: all outcomes with all of their fields reach the sender byte for byte.
func TestBC43_OutcomesReachTheSenderUnchanged(t *testing.T) {
	annotations, _ := encoding.AppendAny(nil, encoding.Map{{Key: amqp.Symbol("x-opt-why"), Value: "because"}, {Key: amqp.Symbol("x-opt-n"), Value: int32(7)}})
	info, _ := encoding.AppendAny(nil, encoding.Map{{Key: amqp.Symbol("detail"), Value: uint64(1) << 40}})
	states := []messaging.DeliveryState{
		messaging.Accepted,
		messaging.Released,
		messaging.Rejected(nil),
		messaging.Rejected(&amqp.Error{Condition: "com.example:no", Description: "not this one", Info: info}),
		messaging.Modified(false, false, nil),
		messaging.Modified(true, false, nil),
		messaging.Modified(true, true, annotations),
	}
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 100)
		out := r.Sender("out", "q")
		for i, s := range states {
			id := uint32(i)
			out.Write(With(Transfer(0, id), Text("x")))
			in.Want("", "transfer")
			in.Write(Settle(id, s))
			var d frames.Disposition
			out.Until("its outcome", "disposition role=receiver settled").Decode(&d)
			if got, want := messaging.AppendDeliveryState(nil, d.State), messaging.AppendDeliveryState(nil, s); uint32(d.First) != id || !bytes.Equal(got, want) {
				t.Errorf("outcome %d\ngot  % x\nwant % x", id, got, want)
			}
		}
		r.Idle()
	})
}

// Each copy has an identity of its own, and late news of a dead one is dropped.
func TestBC47_SecondOutcomeIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		out.Write(With(Transfer(0, 0), Text("x")))
		in.Want("", "transfer delivery-id=0")
		in.Write(Settle(0, messaging.Released), Accept(0))
		out.Until("the first counts", "disposition first=0 settled state=released")
		in.Write(Accept(0))
		out.Write(With(Transfer(0, 1), Text("y")))
		in.Want("", "transfer delivery-id=1")
		in.Write(Accept(0))
		for _, f := range out.All("disposition") {
			t.Errorf("another outcome: %s", f.Text)
		}
		in.Write(Accept(1))
		out.Want("", "disposition first=1 settled state=accepted")
		r.Idle()
	})
}

// §2.7.5, §2.8.11: the format of a message is kept, and its sections are not
// looked at if it is unknown.
func TestBC67_MessageFormatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		f := Transfer(0, 0)
		f.MessageFormat, f.HasMessageFormat = 0x80013700, true
		out.Write(With(f, []byte("\x00\x53\x70 no header at all")))
		got := in.Want("", "transfer message-format=2147563264 settled=false")
		if string(got.Payload) != "\x00\x53\x70 no header at all" {
			t.Errorf("%q", got.Payload)
		}
		in.Write(Accept(0))
		// An anonymous terminus needs an address, which is in a section that is not known.
		anon := r.Connect("anon")
		anon.Attach(Sending("anon", 0, ""))
		anon.WantAnything()
		f = Transfer(0, 0)
		f.MessageFormat, f.HasMessageFormat = 0x80013700, true
		anon.Write(With(f, []byte("anything")))
		anon.Until("", "disposition first=0 settled ~state=rejected ~amqp:not-implemented")
		anon.All("")
		anon.Write(Echo(Flow(0, 0, 0)))
		anon.Want("the link lives", "flow handle=0")
		r.Idle()
	})
}

// §2.8.7: tags are "up to 32 octets of binary data"; empty ones are legal.
func TestBC69_DeliveryTags(t *testing.T) {
	for size, ok := range map[int]bool{0: true, 1: true, 32: true, 33: false, 300: false} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				in := r.Receiver("in", "q", 10)
				out := r.Sender("out", "q")
				f := Transfer(0, 0)
				f.DeliveryTag = make([]byte, size)
				out.Write(With(f, Text("x")))
				if !ok {
					out.Want("", "close ~condition=amqp:decode-error")
					return
				}
				in.Want("the router uses tags of its own", "transfer delivery-id=0 delivery-tag=0x01")
				// The same tag again while the first is unsettled: whatever it
				// means to the sender, here it only names the delivery.
				g := Transfer(0, 1)
				g.DeliveryTag = make([]byte, size)
				out.Write(With(g, Text("y")))
				in.Want("", "transfer delivery-id=1 delivery-tag=0x02")
				in.Write(Disposition(amqp.RoleReceiver, 0, 1, true, messaging.Accepted))
				out.Until("", "disposition first=0 last=1 settled state=accepted")
				r.Idle()
			})
		})
	}
}

// §2.7.5: settled and state may come with any frame of a delivery.
func TestSettledOnAContinuation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		m := Message(make([]byte, 900))
		out.Write(With(More(Transfer(0, 0)), m[:400]))
		in.Want("", "transfer settled=false more")
		second := More(Next(0))
		second.Settled, second.HasSettled = true, true
		out.Write(With(second, m[400:600]))
		in.Want("the receiver is told with the next frame", "transfer settled=true more")
		out.Write(With(Next(0), m[600:]))
		in.Want("", "transfer settled=true !more")
		in.Write(Accept(0))
		for _, f := range out.All("disposition") {
			t.Errorf("the sender has settled and wants no outcome: %s", f.Text)
		}
		r.Idle()
	})
}

// §2.7.6: a receiver may settle before all has arrived. The rest is not sent to
// it, and taken from the sender.
func TestReceiverSettlesEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		m := Message(make([]byte, 100_000))
		out.Write(With(More(Transfer(0, 0)), m[:400]))
		in.Want("", "transfer more")
		in.Write(Settle(0, messaging.Rejected(&amqp.Error{Condition: "enough"})))
		out.Until("", "disposition first=0 settled ~enough")
		in.Want("", "transfer aborted")
		sent := 400
		for sent < len(m) {
			n := min(10_000, len(m)-sent)
			next := Next(0)
			next.More = sent+n < len(m)
			out.Write(With(next, m[sent:sent+n]))
			sent += n
		}
		in.WantIdle("it has seen enough")
		out.WantAnything()
		out.Write(With(Settled(0, 1), Text("next")))
		in.Want("", "transfer delivery-id=1 !more")
		r.Idle()
	})
}

// §2.7.5: a state other than an outcome informs; it settles nothing.
func TestReceivedStateIsNoOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		out.Write(With(Transfer(0, 0), Text("x")))
		in.Want("", "transfer")
		out.WantAnything()
		in.Write(Disposition(amqp.RoleReceiver, 0, 0, false, messaging.Received(1, 10)))
		out.WantIdle("it is not passed on")
		in.WantIdle("nor answered")
		in.Write(Accept(0))
		out.Until("", "disposition first=0 settled state=accepted")
		r.Idle()
	})
}

// A receiver that settles without an outcome means its source's default-outcome
// (§3.5.3).
func TestDefaultOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Connect("in")
		a := Receiving("in", 0, "q")
		a.Source.DefaultOutcome = messaging.AppendDeliveryState(nil, messaging.Modified(true, true, nil))
		in.Attach(a)
		in.Write(Flow(0, 0, 10))
		out := r.Sender("out", "q")
		out.Write(With(Transfer(0, 0), Text("x")))
		in.Want("", "transfer")
		in.Write(Settle(0, messaging.DeliveryState{}))
		out.Until("", "disposition first=0 settled ~state=modified[true")
		r.Idle()
	})
}

// §2.6.12, rcv-settle-mode second on the receiver's link: "the receiver will
// only settle after sending the disposition to the sender and receiving a
// disposition indicating settlement".
func TestReceiverSettlesSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Connect("in")
		a := Receiving("in", 0, "q")
		a.ReceiverSettleMode = amqp.ReceiverSettleSecond
		if got := in.Attach(a); got.ReceiverSettleMode != amqp.ReceiverSettleSecond {
			t.Errorf("answered %v", got.ReceiverSettleMode)
		}
		in.Write(Flow(0, 0, 10))
		out := r.Sender("out", "q")
		out.Write(With(Transfer(0, 0), Text("x")))
		in.Want("", "transfer delivery-id=0 settled=false")
		in.Write(Disposition(amqp.RoleReceiver, 0, 0, false, messaging.Accepted))
		in.Want("its sender settles", "disposition role=sender first=0 settled")
		out.Until("and the outcome has gone on", "disposition role=receiver first=0 settled state=accepted")
		in.Write(Accept(0))
		in.WantIdle("it is settled")
		r.Idle()
	})
}

// rcv-settle-mode second on the sender's link: the sender sees the outcome
// before anybody settles, and the receiver's end hears when it has settled.
func TestSenderWithReceiverSettleModeSecond(t *testing.T) {
	for _, mode := range []amqp.ReceiverSettleMode{amqp.ReceiverSettleFirst, amqp.ReceiverSettleSecond} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				in := r.Connect("in")
				a := Receiving("in", 0, "q")
				a.ReceiverSettleMode = mode
				in.Attach(a)
				in.Write(Flow(0, 0, 10))
				out := r.Connect("out")
				b := Sending("out", 0, "q")
				b.ReceiverSettleMode = amqp.ReceiverSettleSecond
				out.Attach(b)
				out.Want("", "flow link-credit=1")
				out.Write(With(Transfer(0, 0), Text("x")))
				in.Want("", "transfer delivery-id=0 settled=false")
				if mode == amqp.ReceiverSettleFirst {
					in.Write(Accept(0))
					out.Until("the receiver has settled at once", "disposition role=receiver first=0 settled state=accepted")
				} else {
					in.Write(Disposition(amqp.RoleReceiver, 0, 0, false, messaging.Accepted))
					in.WantIdle("nobody has settled")
					out.Until("the outcome, unsettled", "disposition role=receiver first=0 !settled state=accepted")
					out.Write(Disposition(amqp.RoleSender, 0, 0, true, messaging.Accepted))
					in.Want("the sender has settled", "disposition role=sender first=0 settled")
				}
				r.Idle()
			})
		})
	}
}

// snd-settle-mode settled of a receiver: it is sent settled deliveries, and
// the sender of an unsettled one hears that it was accepted when it has left.
func TestReceiverWantsSettledDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Connect("in")
		a := Receiving("in", 0, "q")
		a.SenderSettleMode = amqp.SenderSettleSettled
		in.Attach(a)
		in.Write(Flow(0, 0, 10))
		out := r.Sender("out", "q")
		out.Write(With(Transfer(0, 0), Text("x")))
		in.Want("", "transfer delivery-id=0 settled=true")
		out.Until("", "disposition first=0 settled state=accepted")
		r.Idle()
	})
}

// §2.7.5: resuming needs termini that outlive links, which a router has not.
func TestResumeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		f := Transfer(0, 0)
		f.Resume = true
		out.Write(With(f, Text("x")))
		out.Until("", "detach handle=0 closed ~condition=amqp:not-implemented")
		in.WantIdle("nothing was forwarded")
		r.Idle()
	})
}

// Transactions are refused: the delivery's link, not the session.
func TestTransactionalTransferIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		f := Transfer(0, 0)
		b := encoding.AppendDescriptor(nil, encoding.DescTransactionalState)
		b, mark := encoding.BeginList(b)
		b = encoding.AppendBinary(b, []byte("txn"))
		f.State = messaging.DeliveryState{Kind: messaging.StateTransactional, Raw: encoding.EndList(b, mark, 1)}
		out.Write(With(f, Text("x")))
		out.Until("", "detach handle=0 closed ~condition=amqp:not-implemented")
		r.Idle()
	})
}

// §2.7.1: no frame is larger than the peer's max-frame-size, whatever is in it.
func TestFramesFitTheReceiver(t *testing.T) {
	for _, size := range []uint32{512, 513, 1000, 4096} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{Transport: transport.Config{MaxFrameSize: 64 << 10}})
				in := r.Dial()
				open := Open("in")
				open.MaxFrameSize = size
				in.Handshake(open)
				in.BeginSession(0, Begin())
				in.Attach(Receiving("in", 0, "q"))
				in.Write(Flow(0, 0, 10))
				out := r.Sender("out", "q")
				for i, n := range []int{0, 400, 480, 500, 5000, 60_000} {
					m := Message(bytes.Repeat([]byte{byte(i)}, n))
					out.Write(With(Settled(0, uint32(i)), m))
					var got []byte
					for {
						f := in.Want("", "transfer")
						if len(f.Raw)+frames.HeaderSize > int(size) {
							t.Fatalf("a frame of %d bytes", len(f.Raw)+frames.HeaderSize)
						}
						var tr frames.Transfer
						got = append(got, f.Decode(&tr)...)
						if !tr.More {
							break
						}
					}
					if !bytes.Equal(got, m) {
						t.Fatalf("%d bytes of %d", len(got), len(m))
					}
					out.WantAnything()
				}
				r.Idle()
			})
		})
	}
}
