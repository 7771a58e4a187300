package links

import (
	"testing"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

// A message is plain if nothing in front of its body changes what is done with
// it; a Delivery that is made of it later understands it as any other.
func TestPlain(t *testing.T) {
	own := encoding.MapEntry{Key: amqp.Symbol("x-own"), Value: "mine"}
	routers := encoding.MapEntry{Key: amqp.Symbol("x-opt-qd.to"), Value: "else.where"}
	for name, c := range map[string]struct {
		m    messaging.Message
		want bool
	}{
		"body alone":                 {messaging.Message{Body: "b"}, true},
		"properties":                 {messaging.Message{Properties: &messaging.Properties{To: "q"}, Body: "b"}, true},
		"header":                     {messaging.Message{Header: &messaging.Header{Durable: true}, Body: "b"}, true},
		"usual priority":             {messaging.Message{Header: &messaging.Header{Priority: 4, HasPriority: true}, Body: "b"}, true},
		"other priority":             {messaging.Message{Header: &messaging.Header{Priority: 5, HasPriority: true}, Body: "b"}, false},
		"ttl":                        {messaging.Message{Header: &messaging.Header{TTL: 1, HasTTL: true}, Body: "b"}, false},
		"own annotations":            {messaging.Message{MessageAnnotations: encoding.Map{own}, Body: "b"}, true},
		"header and own annotations": {messaging.Message{Header: &messaging.Header{}, MessageAnnotations: encoding.Map{own}, Body: "b"}, true},
		"annotations of routers":     {messaging.Message{MessageAnnotations: encoding.Map{own, routers}, Body: "b"}, false},
		"delivery-annotations":       {messaging.Message{DeliveryAnnotations: encoding.Map{own}, Body: "b"}, false},
	} {
		b, err := c.m.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := plain(b); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		for i := range b { // whatever is cut off or broken
			plain(b[:i])
			broken := append([]byte(nil), b...)
			broken[i] ^= 0xff
			plain(broken)
		}
		if !c.want {
			continue
		}
		d := arriving(&Receiver{}, b)
		if _, refusal := d.open(&Limits{}, false, false); refusal != nil {
			t.Errorf("%s: %v", name, refusal)
		}
		out, next := d.annotate(nil, b, &Limits{Annotate: AnnotateAll, Router: "0/A"})
		got, err := messaging.DecodeMessage(append(append(b[:d.notes.section.from:d.notes.section.from], out...), b[next:]...))
		if err != nil || len(got.MessageAnnotations) != len(c.m.MessageAnnotations)+2 || (got.Header == nil) != (c.m.Header == nil) {
			t.Errorf("%s: goes out as %+v, %v", name, got, err)
		}
		d.Content.Discard()
	}
	if plain(nil) || plain([]byte{0, 0x53, 0x79}) {
		t.Error("what is no message is plain")
	}
}
