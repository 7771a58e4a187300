package mesh

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// mine are annotations of a user, of many types, each encoding as it came.
func mine(n int) encoding.Map {
	m := encoding.Map{
		{Key: amqp.Symbol("x-opt-text"), Value: strings.Repeat("t", 300)},
		{Key: amqp.Symbol("x-opt-map"), Value: encoding.Map{{Key: "k", Value: []any{uint8(1), nil, -5.5}}}},
		{Key: amqp.Symbol("x-opt-bytes"), Value: []byte{0, 1, 2}},
	}
	for i := len(m); i < n; i++ {
		m = append(m, encoding.MapEntry{Key: amqp.Symbol(fmt.Sprintf("x-opt-user-%d", i)), Value: fmt.Sprint("value ", i)})
	}
	return m
}

// A user's annotations cross byte for byte, the last one too, and nothing of the
// routers' reaches a client.
func TestBC65_UserAnnotationsAcrossHops(t *testing.T) {
	m := line(t)
	hops(t, m, func(t *testing.T, at string) {
		in := newInbox(t, session(t, m.Addr(at)), "q."+at, raw.ReceiverOptions{Credit: 100})
		named := sender(t, session(t, m.Addr("A")), "q."+at, raw.SenderOptions{})
		anonymous := sender(t, session(t, m.Addr("A")), "", raw.SenderOptions{})
		for _, n := range []int{1, 3, 50, 300} {
			for _, out := range []*raw.Sender{named, anonymous} {
				message := raw.To("q." + at)
				message.Header = &messaging.Header{Durable: true, Priority: 6, HasPriority: true}
				message.MessageAnnotations = mine(n)[:n]
				message.DeliveryAnnotations = encoding.Map{{Key: amqp.Symbol("x-opt-hop"), Value: "one"}}
				message.ApplicationProperties = encoding.Map{{Key: "k", Value: "v"}}
				want := raw.Numbered(message, 5000, uint64(n))
				must(t, out.Send(want, false))
				a := in.next(t)
				in.Settle(a.id, messaging.Accepted)
				// Delivery-annotations are for the next node alone (§3.2.2).
				message.DeliveryAnnotations = nil
				without := raw.Numbered(message, 5000, uint64(n))
				if !bytes.Equal(a.message, want) && !bytes.Equal(a.message, without) {
					t.Errorf("%d annotations: got %d bytes, want %d\n% .400x\n% .400x", n, len(a.message), len(want), a.message, want)
				}
			}
		}
	})
}

// Clients cannot forge where a message has been or where it came from: it is not
// taken for a loop, and reaches every receiver once.
func TestBC65_ForgedTraceAcrossHops(t *testing.T) {
	p := ringOf(4)
	m := start(t, p)
	var ins []*inbox
	for _, name := range m.Names() {
		ins = append(ins, newInbox(t, session(t, m.Addr(name)), "multicast/all", raw.ReceiverOptions{Credit: 100}))
	}
	everywhere(t, m, "multicast/all")
	out := sender(t, session(t, m.Addr("A")), "multicast/all", raw.SenderOptions{})
	forged := []encoding.Map{
		{{Key: amqp.Symbol("x-opt-qd.trace"), Value: []any{"0/A", "0/B", "0/C", "0/D"}}},
		{{Key: amqp.Symbol("x-opt-qd.ingress"), Value: "0/C"}},
		{{Key: amqp.Symbol("x-opt-qd.ingress"), Value: "0/nobody"}, {Key: amqp.Symbol("x-opt-qd.trace"), Value: []any{"0/B"}}},
		{{Key: amqp.Symbol("x-opt-qd.to"), Value: "elsewhere"}},
		{{Key: amqp.Symbol("x-opt-qd.ma-stream"), Value: int32(1)}},
	}
	for i, annotations := range forged {
		must(t, out.Send(raw.Numbered(&messaging.Message{MessageAnnotations: annotations}, small, uint64(i)), false))
	}
	want := func(i int) []byte { return raw.Numbered(nil, small, uint64(i)) }
	for n, in := range ins {
		for i := range forged {
			a := in.next(t)
			if raw.Number(a.message) != uint64(i) || !bytes.Equal(a.message, want(i)) {
				t.Errorf("at %s comes %d for %d: % x", m.Names()[n], raw.Number(a.message), i, a.message)
			}
			in.Settle(a.id, messaging.Accepted)
		}
	}
	must(t, out.WaitSettled(len(forged)))
	for _, in := range ins {
		in.none(t)
	}
}

// Clients that are shown the entries of routers are shown them on settled and
// unsettled messages alike, with and without entries of their own.
func TestRouterAnnotationsAreShown(t *testing.T) {
	p := harness.Pair()
	p.Listener = " stripAnnotations: no"
	m := start(t, p)
	for _, at := range m.Names() {
		in := newInbox(t, session(t, m.Addr(at)), "shown."+at, raw.ReceiverOptions{Credit: 100})
		out := sender(t, session(t, m.Addr("A")), "shown."+at, raw.SenderOptions{})
		must(t, out.WaitCredit(1))
		for i := range 8 {
			settled, header, own := i&1 != 0, i&2 != 0, i&4 != 0
			message := &messaging.Message{}
			if header {
				message.Header = &messaging.Header{Durable: true}
			}
			if own {
				message.MessageAnnotations = mine(3)
			}
			must(t, out.Send(raw.Numbered(message, small, uint64(i)), settled))
			a := in.next(t)
			if !a.settled {
				in.Settle(a.id, messaging.Accepted)
			}
			got, err := messaging.DecodeMessage(a.message)
			must(t, err)
			shown := map[any]string{}
			for _, e := range got.MessageAnnotations {
				shown[e.Key] = fmt.Sprint(e.Value)
			}
			trace := "[0/A]"
			if at == "B" {
				trace = "[0/A 0/B]"
			}
			if shown[amqp.Symbol("x-opt-qd.ingress")] != "0/A" || shown[amqp.Symbol("x-opt-qd.trace")] != trace || shown[amqp.Symbol("x-opt-qd.to")] != "shown."+at {
				t.Errorf("at %s, settled=%t header=%t own=%t: shown %v", at, settled, header, own, shown)
			}
			for _, e := range message.MessageAnnotations {
				if shown[e.Key] != fmt.Sprint(e.Value) {
					t.Errorf("at %s: %v is %v", at, e.Key, shown[e.Key])
				}
			}
		}
	}
}
