package links

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/buffers"
)

// arriving is a whole message that has come on a link.
func arriving(r *Receiver, b []byte) *Delivery {
	d := &Delivery{from: r, whole: true, Priority: defaultPriority, Arrived: 1e9}
	c := buffers.GetChunk(len(b))
	copy(c.Bytes(), b)
	d.Content.SetWhole(c.Slice(0, len(b)))
	return d
}

// A message that begins like one before means what it would mean alone.
func TestFronts(t *testing.T) {
	limits := Limits{Router: "0/A", TrustIn: true, Sure: true}
	text := rapid.SampledFrom([]string{"", "q", "a/longer/address", "0/A", "0/B"})
	rapid.Check(t, func(t *rapid.T) {
		r := &Receiver{limits: limits}
		for range rapid.IntRange(1, 20).Draw(t, "messages") {
			m := &messaging.Message{Body: rapid.SampledFrom([]string{"b", "another"}).Draw(t, "body")}
			if rapid.Bool().Draw(t, "header") {
				m.Header = &messaging.Header{TTL: rapid.Uint32Range(0, 2).Draw(t, "ttl"), Priority: uint8(rapid.IntRange(0, 12).Draw(t, "priority")), HasPriority: true}
				m.Header.HasTTL = m.Header.TTL > 0
			}
			add := func(key string, v any) {
				m.MessageAnnotations = append(m.MessageAnnotations, encoding.MapEntry{Key: amqp.Symbol(key), Value: v})
			}
			if to := text.Draw(t, "to"); to != "" {
				add("x-opt-qd.to", to)
			}
			if from := text.Draw(t, "ingress"); from != "" {
				add("x-opt-qd.ingress", from)
				add("x-opt-qd.trace", []any{from, text.Draw(t, "trace")})
			}
			if rapid.Bool().Draw(t, "own") {
				add("x-own", text.Draw(t, "value"))
			}
			if rapid.Bool().Draw(t, "properties") {
				m.Properties = &messaging.Properties{To: text.Draw(t, "properties.to")}
			}
			b, err := m.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
				b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= 0x10
			}
			got, want := arriving(r, b), arriving(&Receiver{limits: limits}, b)
			defer got.Content.Discard()
			defer want.Content.Discard()
			ready, refusal := got.open(&limits, true, false)
			wantReady, wantRefusal := want.open(&limits, true, false)
			if ready != wantReady || (refusal == nil) != (wantRefusal == nil) {
				t.Fatalf("% x: ready %t, %v, want %t, %v", b, ready, refusal, wantReady, wantRefusal)
			}
			if refusal != nil {
				continue
			}
			if !bytes.Equal(got.to, want.to) || got.Priority != want.Priority || got.Deadline != want.Deadline || got.headLen != want.headLen ||
				!reflect.DeepEqual(got.header, want.header) || !reflect.DeepEqual(got.notes, want.notes) {
				t.Fatalf("% x is understood as\n%+v to %q, want\n%+v to %q", b, got.notes, got.to, want.notes, want.to)
			}
		}
	})
}

// What is remembered is bounded, and serves a handful of senders in turn.
func TestFronts_Bounded(t *testing.T) {
	limits := Limits{Router: "0/A", TrustIn: true, Sure: true}
	r := &Receiver{limits: limits}
	come := func(to string) (known bool) {
		m := &messaging.Message{MessageAnnotations: encoding.Map{{Key: amqp.Symbol("x-opt-qd.to"), Value: to}}, Body: "b"}
		b, err := m.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		d := arriving(r, b)
		defer d.Content.Discard()
		known = r.fronts.apply(d, b)
		if _, refusal := d.open(&limits, true, false); refusal != nil || string(d.to) != to {
			t.Fatalf("%v, to %q", refusal, d.to)
		}
		return known
	}
	few := len(fronts{}.list)
	for round := range 3 {
		for i := range few {
			if known := come(fmt.Sprint("q", i)); known != (round > 0) {
				t.Errorf("round %d: known %t", round, known)
			}
		}
	}
	come("one/more")
	if !come("one/more") || come("q0") {
		t.Error("the oldest does not make room")
	}
	long := string(make([]byte, maxFront))
	for range 2 {
		if come(long) {
			t.Error("a long beginning is remembered")
		}
	}
}
