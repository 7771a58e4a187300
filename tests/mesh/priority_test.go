package mesh

import (
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// Messages of each priority cross a trunk on a link of their own (2.1 of the
// reference), and a message without priority on that of 4.
func TestPriorities_HaveTheirLinks(t *testing.T) {
	p := harness.Pair()
	p.Proxied = true
	m := start(t, p)
	in := newInbox(t, session(t, m.Addr("B")), "q", raw.ReceiverOptions{Credit: 100})
	out := sender(t, session(t, m.Addr("A")), "q", raw.SenderOptions{})
	must(t, out.WaitCredit(1))
	var mu sync.Mutex
	where := map[uint64]uint16{} // channel by number of the message
	tap := &raw.Tap{Frame: func(channel uint16, code frames.Performative, body []byte) {
		var f frames.Transfer
		if code != frames.PerformativeTransfer {
			return
		}
		payload, err := f.Decode(body)
		if n := raw.Number(payload); err == nil && n < 100 {
			mu.Lock()
			where[n] = channel
			mu.Unlock()
		}
	}}
	// Frames in the middle of which the tap begins would not be understood.
	whole := false
	m.Proxy("B-A").Tap(func(_, direction int, b []byte) {
		if direction == harness.Back && (whole || len(b) > 8 && b[0] == 0 && b[1] == 0 && b[4] == 2) {
			whole = true
			tap.Feed(b)
		}
	})
	for i := range 10 {
		message := raw.Numbered(&messaging.Message{Header: &messaging.Header{Priority: uint8(i), HasPriority: true}}, small, uint64(i))
		must(t, out.Send(message, false))
		in.Settle(in.next(t).id, messaging.Accepted)
	}
	must(t, out.Send(raw.Numbered(nil, small, 50), false))
	in.Settle(in.next(t).id, messaging.Accepted)
	must(t, out.Send(raw.Numbered(&messaging.Message{Header: &messaging.Header{Priority: 200, HasPriority: true}}, small, 60), false))
	in.Settle(in.next(t).id, messaging.Accepted)
	must(t, out.WaitSettled(12))
	mu.Lock()
	defer mu.Unlock()
	if tap.Err() != nil {
		t.Fatal(tap.Err())
	}
	used := map[uint16]bool{}
	for i := range uint64(10) {
		used[where[i]] = true
	}
	if len(used) != 10 || where[50] != where[4] || where[60] != where[9] {
		t.Errorf("channels of the priorities: %v", where)
	}
}

// On a narrow trunk full of messages of a low priority, those of a high one do
// not wait behind them.
func TestPriorities_OnANarrowTrunk(t *testing.T) {
	p := harness.Pair()
	p.Proxied = true
	m := start(t, p)
	receiver(t, session(t, m.Addr("B")), "bulk", raw.ReceiverOptions{Credit: 500})
	urgent := receiver(t, session(t, m.Addr("B")), "urgent", raw.ReceiverOptions{Credit: 500})
	flood := dial(t, m.Addr("A"), raw.Options{})
	var wg sync.WaitGroup
	low := &messaging.Message{Header: &messaging.Header{Priority: 1, HasPriority: true}}
	for range 4 {
		out := sender(t, flood.MustSession(), "bulk", raw.SenderOptions{})
		message := raw.Numbered(low, 10_000, 1)
		wg.Go(func() {
			for out.Send(message, false) == nil {
			}
		})
	}
	m.Proxy("B-A").Bandwidth(4 << 20)
	out := sender(t, session(t, m.Addr("A")), "urgent", raw.SenderOptions{})
	high := raw.Numbered(&messaging.Message{Header: &messaging.Header{Priority: 9, HasPriority: true}}, small, 1)
	var took []time.Duration
	time.Sleep(500 * time.Millisecond)
	for i := range sized(50, 10) {
		begin := time.Now()
		must(t, out.Send(high, false))
		must(t, out.WaitSettled(i+1))
		took = append(took, time.Since(begin))
	}
	m.Proxy("B-A").Heal()
	slices.Sort(took)
	report(t, "urgent messages over a trunk of 4 MiB/s full of bulk: %v (median), %v at most", ms(took[len(took)/2]), ms(took[len(took)-1]))
	if took[len(took)/2] > 3*time.Second {
		t.Errorf("median %v", took[len(took)/2])
	}
	must(t, urgent.WaitMessages(len(took)))
	flood.Abort()
	wg.Wait()
}
