package mesh

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// line is a line of four, A to D: up to three trunks between client and client.
func line(t *testing.T) *harness.Mesh { return start(t, harness.Line(4)) }

// hops runs a test with the receiver at each router of a line, the sender being
// at A: 0 to 3 trunks away.
func hops(t *testing.T, m *harness.Mesh, test func(t *testing.T, at string)) {
	for i, at := range m.Names() {
		t.Run(fmt.Sprintf("trunks=%d", i), func(t *testing.T) { test(t, at) })
	}
}

// inbox is a receiver that hands deliveries to a test.
type inbox struct {
	*raw.Receiver
	came chan arrival
}

type arrival struct {
	id      amqp.DeliveryNumber
	settled bool
	aborted bool
	format  uint32
	message []byte
}

func newInbox(t *testing.T, s *raw.Session, address string, o raw.ReceiverOptions) *inbox {
	in := &inbox{came: make(chan arrival, 1000)}
	var now arrival
	o.Manual = true
	o.Frame = func(f *raw.Frame) {
		if f.First {
			now = arrival{id: f.ID, format: f.Format}
		}
		now.message = append(now.message, f.Payload...)
		now.settled, now.aborted = f.Settled, f.Aborted
		if f.Last {
			in.came <- now
		}
	}
	in.Receiver = receiver(t, s, address, o)
	return in
}

// next is the next delivery.
func (in *inbox) next(t *testing.T) arrival {
	t.Helper()
	select {
	case a := <-in.came:
		return a
	case <-time.After(harness.Patience / 3):
		t.Fatal("nothing comes")
		return arrival{}
	}
}

// none wants that nothing has come.
func (in *inbox) none(t *testing.T) {
	t.Helper()
	select {
	case a := <-in.came:
		t.Errorf("unexpected delivery %+v", a)
	default:
	}
}

// outcomes are all that a receiver can say (§3.4), with all their fields.
func outcomes(t *testing.T) map[string]messaging.DeliveryState {
	annotations, err := encoding.AppendAny(nil, encoding.Map{
		{Key: amqp.Symbol("x-opt-why"), Value: "too late"},
		{Key: amqp.Symbol("x-opt-list"), Value: []any{int32(1), "two", true}},
	})
	must(t, err)
	info := encoding.Map{{Key: amqp.Symbol("x-detail"), Value: uint64(42)}, {Key: amqp.Symbol("x-more"), Value: "text"}}
	rejected := &amqp.Error{Condition: "example:unfit", Description: "it does not fit"}
	if rejected.Info, err = encoding.AppendAny(nil, info); err != nil {
		t.Fatal(err)
	}
	return map[string]messaging.DeliveryState{
		"accepted":              messaging.Accepted,
		"rejected":              messaging.Rejected(rejected),
		"rejected without":      messaging.Rejected(nil),
		"released":              messaging.Released,
		"modified":              messaging.Modified(true, true, annotations),
		"modified not failed":   messaging.Modified(false, true, annotations),
		"modified with nothing": messaging.Modified(false, false, nil),
	}
}

// Every outcome reaches the origin as the receiver gave it, with every field
// (§3.4.3, §3.4.5), once.
func TestBC43_OutcomesAcrossHops(t *testing.T) {
	m := line(t)
	hops(t, m, func(t *testing.T, at string) {
		in := newInbox(t, session(t, m.Addr(at)), "q."+at, raw.ReceiverOptions{Credit: 10})
		for name, state := range outcomes(t) {
			t.Run(name, func(t *testing.T) {
				out := sender(t, session(t, m.Addr("A")), "q."+at, raw.SenderOptions{KeepStates: true})
				must(t, out.Send(raw.Numbered(nil, small, 1), false))
				in.Settle(in.next(t).id, state)
				must(t, out.WaitSettled(1))
				r := out.Result()
				if len(r.States) != 1 || r.Twice != 0 {
					t.Fatalf("outcomes %+v", r)
				}
				want, got := messaging.AppendDeliveryState(nil, state), messaging.AppendDeliveryState(nil, r.States[0])
				if !sameState(t, r.States[0], state) {
					t.Errorf("got  %x\nwant %x", got, want)
				}
			})
		}
	})
}

// sameState compares what outcomes say; absent fields and false are the same.
func sameState(t *testing.T, a, b messaging.DeliveryState) bool {
	t.Helper()
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case messaging.StateRejected:
		x, err := messaging.ParseRejected(a)
		must(t, err)
		y, err := messaging.ParseRejected(b)
		must(t, err)
		if x == nil || y == nil {
			return x == y
		}
		return x.Condition == y.Condition && x.Description == y.Description && bytes.Equal(x.Info, y.Info)
	case messaging.StateModified:
		x, err := messaging.ParseModified(a)
		must(t, err)
		y, err := messaging.ParseModified(b)
		must(t, err)
		return x.DeliveryFailed == y.DeliveryFailed && x.UndeliverableHere == y.UndeliverableHere &&
			bytes.Equal(x.MessageAnnotations, y.MessageAnnotations)
	}
	return true
}
