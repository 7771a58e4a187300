package links

import (
	"fmt"
	"testing"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

// Whatever the order in which entries of routers and of others come, they go out
// as a map that is whole, with each entry of others as it was.
func TestAnnotationsInAnyOrder(t *testing.T) {
	phase := encoding.MapEntry{Key: amqp.Symbol("x-opt-qd.phase"), Value: int32(2)}
	stream := encoding.MapEntry{Key: amqp.Symbol("x-opt-qd.stream"), Value: int32(1)}
	to := encoding.MapEntry{Key: amqp.Symbol("x-opt-qd.to"), Value: "else.where"}
	own := encoding.MapEntry{Key: amqp.Symbol("x-own"), Value: "mine"}
	other := encoding.MapEntry{Key: amqp.Symbol("x-other"), Value: int32(7)}
	for i, given := range []encoding.Map{
		{phase, own, stream}, {stream, phase, own, to}, {own, stream, other, phase, to}, {phase}, {own, other}, {own, to, other}, nil,
	} {
		for _, l := range []Limits{
			{Annotate: AnnotateAll, Router: "0/A"}, {Annotate: AnnotateAll, Router: "0/A", Sure: true}, {Annotate: AnnotateTo}, {},
		} {
			t.Run(fmt.Sprintf("%d/annotate=%d/sure=%v", i, l.Annotate, l.Sure), func(t *testing.T) {
				msg := &messaging.Message{MessageAnnotations: given, Body: "b"}
				b, err := msg.Append(nil)
				if err != nil {
					t.Fatal(err)
				}
				d := &Delivery{from: &Receiver{info: Info{Address: "q"}}}
				if given != nil {
					env, err := messaging.Scan(b, messaging.SectionMessageAnnotations)
					if err != nil {
						t.Fatal(err)
					}
					d.notes.section = span{env.MessageAnnotations.Start, env.MessageAnnotations.End}
					if err := d.notes.read(d, b, &Limits{}); err != nil {
						t.Fatal(err)
					}
				}
				out, next := d.annotate(nil, b, &l)
				got, err := messaging.DecodeMessage(append(out, b[next:]...))
				if err != nil {
					t.Fatalf("%v: % x", err, out)
				}
				want := map[any]any{}
				for _, e := range given {
					switch e.Key {
					case own.Key, other.Key:
						want[e.Key] = e.Value
					default:
						if l.Annotate != AnnotateNone {
							want[e.Key] = e.Value
						}
					}
				}
				if l.Annotate != AnnotateNone && want[to.Key] == nil {
					want[to.Key] = "q"
				}
				n := 0
				for _, e := range got.MessageAnnotations {
					if w, ok := want[e.Key]; ok && fmt.Sprint(w) != fmt.Sprint(e.Value) {
						t.Errorf("%v is %v, want %v", e.Key, e.Value, w)
					} else if ok {
						n++
					}
				}
				if n != len(want) {
					t.Errorf("got %v, want %v among it", got.MessageAnnotations, want)
				}
			})
		}
	}
}

func TestMayHaveRouterKeys(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "q": false, "x-opt-q": false, "x-opt-qd.": true, "..x-opt-qd.to..": true, "qqqx-opt-qd.": true, "x-opt-qx-opt-qd": false,
		"x-opt-key qd.": false, "x-opt-qx-opt-qd.trace": true,
	} {
		if got := mayHaveRouterKeys([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
