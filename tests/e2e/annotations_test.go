package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/encoding"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/router/forward"
	"sluice/tests/harness/bubble"
)

func encoded(t *testing.T, m *messaging.Message) []byte {
	t.Helper()
	b, err := m.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decoded(t *testing.T, b []byte) *messaging.Message {
	t.Helper()
	m, err := messaging.DecodeMessage(b)
	if err != nil {
		t.Fatalf("%v: % x", err, b)
	}
	return m
}

// A client's router annotations are not believed and not shown; its own reach
// the receiver, whatever the size of the frames.
func TestBC65_ForgedRouterAnnotations(t *testing.T) {
	for _, size := range []int{0, 300, 600, 3000} {
		for _, frame := range []uint32{512, 4096} {
			for _, first := range []int{100, 5000} {
				t.Run(fmt.Sprintf("annotations=%d/frame=%d/first=%d", size, frame, first), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := bubble.New(t, bubble.Options{})
						in := r.Dial()
						open := Open("in")
						open.MaxFrameSize = frame
						in.Handshake(open)
						in.BeginSession(0, Begin())
						in.Attach(Receiving("in", 0, "q"))
						in.Write(Flow(0, 0, 10))
						out := r.Sender("out", "q")
						m := &messaging.Message{
							Header: &messaging.Header{Durable: true},
							MessageAnnotations: encoding.Map{
								{Key: amqp.Symbol("x-opt-qd.trace"), Value: []any{"0/router"}},
								{Key: amqp.Symbol("x-opt-mine"), Value: strings.Repeat("m", size)},
								{Key: amqp.Symbol("x-opt-qd.ingress"), Value: "0/router"},
							},
							Properties: &messaging.Properties{Subject: "s"},
							Body:       bytes.Repeat([]byte("b"), 1000),
						}
						b := encoded(t, m)
						out.Stream(Transfer(0, 0), b, first)
						_, got, _ := in.Message("it is not taken for a loop")
						for _, f := range in.All("") {
							t.Errorf("unexpected %s", f.Text)
						}
						m.MessageAnnotations = m.MessageAnnotations[1:2]
						want := encoded(t, m)
						if !bytes.Equal(got, want) {
							t.Errorf("got  % x\nwant % x", got, want)
						}
						in.Write(Accept(0))
						out.Until("", "disposition first=0 settled state=accepted")
						r.Idle()
					})
				})
			}
		}
	}
}

// §2.7.1 holds for messages with such annotations too.
func TestBC65_FramesFitWithAnnotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Dial()
		open := Open("in")
		open.MaxFrameSize = 512
		in.Handshake(open)
		in.BeginSession(0, Begin())
		in.Attach(Receiving("in", 0, "q"))
		in.Write(Flow(0, 0, 10))
		out := r.Sender("out", "q")
		out.Write(With(Settled(0, 0), encoded(t, &messaging.Message{
			MessageAnnotations: encoding.Map{
				{Key: amqp.Symbol("x-opt-qd.to"), Value: "elsewhere"},
				{Key: amqp.Symbol("x-opt-mine"), Value: strings.Repeat("m", 2000)},
			},
			Body: "x",
		})))
		for _, f := range in.All("transfer") {
			if n := len(f.Raw) + frames.HeaderSize; n > 512 {
				t.Errorf("a frame of %d bytes", n)
			}
		}
	})
}

// §3.2.1: "If the message is expired … ttl … an intermediary might … discard";
// what has waited is taken off the ttl.
func TestTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 0)
		out := r.Sender("out", "q")
		m := &messaging.Message{Header: &messaging.Header{TTL: 5000, HasTTL: true, Priority: 7, HasPriority: true, Durable: true}, Body: "x"}
		out.Write(With(Transfer(0, 0), encoded(t, m)))
		out.WantAnything()
		out.Write(With(Transfer(0, 1), encoded(t, m)))
		wait(2)
		in.Write(Flow(0, 0, 1))
		f := in.Want("", "transfer delivery-id=0")
		h := decoded(t, f.Payload).Header
		if h.TTL != 3000 || h.Priority != 7 || !h.Durable {
			t.Errorf("after 2 seconds: %+v", h)
		}
		in.Write(Accept(0))
		out.Until("", "disposition first=0 settled state=accepted")
		wait(4)
		r.Sweep()
		out.Until("its time has run out", "disposition first=1 settled state=modified[null true]")
		in.Write(Flow(0, 1, 10))
		in.WantIdle("nothing is left")
		if n := r.Address("q").Stats.DroppedExpired.Load(); n != 1 {
			t.Errorf("%d counted", n)
		}
		r.Idle()
	})
}

// Without a sweep in between, what has expired is found when its turn comes.
func TestTTLExpiresUnswept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 0)
		out := r.Sender("out", "q")
		m := &messaging.Message{Header: &messaging.Header{TTL: 1000, HasTTL: true}, Body: "x"}
		out.Write(With(Transfer(0, 0), encoded(t, m)))
		out.WantAnything()
		out.Write(With(Transfer(0, 1), Text("lasts")))
		wait(2)
		in.Write(Flow(0, 0, 1))
		f := in.Want("the credit goes to the next", "transfer delivery-id=0")
		if decoded(t, f.Payload).Body != "lasts" {
			t.Errorf("% x", f.Payload)
		}
		out.Until("", "disposition first=0 settled state=modified[null true]")
		in.Write(Accept(0))
		out.Until("", "disposition first=1 settled state=accepted")
		r.Idle()
	})
}

// §3.2.1: "a message with a higher priority … delivered before"; equals in order.
func TestPriorityOfWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 0)
		out := r.Sender("out", "q")
		for i, p := range []int{-1, 0, 9, 5, 9, -1, 200} {
			m := &messaging.Message{Body: fmt.Sprint(i)}
			if p >= 0 {
				m.Header = &messaging.Header{Priority: uint8(p), HasPriority: true}
			}
			out.Write(With(Settled(0, uint32(i)), encoded(t, m)))
			out.WantAnything()
		}
		in.Write(Flow(0, 0, 100))
		got := ""
		for _, f := range in.All("transfer") {
			got += fmt.Sprint(decoded(t, f.Payload).Body)
		}
		if got != "2463051" { // 9 9 200→9, 5, 4 4 (the default), 0
			t.Errorf("order %s", got)
		}
	})
}

// The priority of an address overrides that of messages.
func TestPriorityOfAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Treatment: func(_ string, t *forward.Treatment) { t.Priority = 3 }})
		in := r.Receiver("in", "q", 0)
		out := r.Sender("out", "q")
		for i, p := range []uint8{1, 9} {
			out.Write(With(Settled(0, uint32(i)), encoded(t, &messaging.Message{Header: &messaging.Header{Priority: p, HasPriority: true}, Body: fmt.Sprint(i)})))
			out.WantAnything()
		}
		in.Write(Flow(0, 0, 100))
		for i := range 2 {
			if got := decoded(t, in.Want("", "transfer").Payload).Body; got != fmt.Sprint(i) {
				t.Errorf("%v came at %d", got, i)
			}
		}
	})
}

// A message whose first section has nothing but router annotations: nothing of
// it is left, whether it comes alone or with what follows.
func TestBC65_NothingButRouterAnnotations(t *testing.T) {
	head := encoding.AppendDescriptor(nil, encoding.DescMessageAnnotations)
	head, _ = encoding.AppendAny(head, encoding.Map{{Key: amqp.Symbol("x-opt-qd.to"), Value: "elsewhere"}})
	body := Text("the body is whole")
	whole := append(bytes.Clone(head), body...)
	for name, cuts := range map[string][]int{
		"one frame":   {len(whole)},
		"head alone":  {len(head), len(whole)},
		"a bit more":  {len(head), len(head) + 1, len(whole)},
		"in the head": {len(head) - 3, len(head) + 2, len(whole)},
		"empty end":   {len(head), len(whole), len(whole)},
		"head only":   {len(head), len(head)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				in := r.Receiver("in", "q", 10)
				out := r.Sender("out", "q")
				at := 0
				for i, cut := range cuts {
					f := Next(0)
					if i == 0 {
						f = Transfer(0, 0)
					}
					f.More = i+1 < len(cuts)
					out.Write(With(f, whole[at:cut]))
					out.WantAnything()
					at = cut
				}
				_, got, _ := in.Message("")
				if want := whole[len(head):at]; !bytes.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
				in.Write(Accept(0))
				out.Until("", "disposition first=0 settled state=accepted")
				r.Idle()
			})
		})
	}
}
