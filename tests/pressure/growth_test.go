package pressure

import (
	"fmt"
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// A sender earns credit with small messages and then sends large ones to an
// address whose receiver takes nothing. The credit stands, since it was granted,
// until the sender hears of less. A sender that does not listen can use it up
// with messages that need no receiver to arrive; their bytes are counted.
func TestGrowth_CreditEarnedWithSmallMessages(t *testing.T) {
	for _, greedy := range []bool{false, true} {
		t.Run(fmt.Sprintf("greedy=%v", greedy), func(t *testing.T) { growth(t, greedy) })
	}
}

func growth(t *testing.T, greedy bool) {
	const capacity, large = 250, 100_000 // messages; bytes, less than unboundBytes
	b := harness.Start(t, harness.Loopback)
	in := receiver(t, session(t, b.Addr()), "q", raw.ReceiverOptions{})
	in.AddCredit(1000)
	conn := dial(t, b.Addr(), raw.Options{})
	out := sender(t, conn.MustSession(), "q", raw.SenderOptions{Greedy: greedy})
	for range 1000 {
		must(t, out.Send(raw.Data(make([]byte, small)), false))
	}
	must(t, out.WaitSettled(1000))
	must(t, out.WaitCredit(100)) // it is topped up when half has been used
	go func() {
		message := raw.Data(make([]byte, large))
		for out.Send(message, false) == nil {
		}
	}()
	last := -1.0
	var m map[string]float64
	harness.Eventually(harness.Patience, func() bool {
		time.Sleep(200 * time.Millisecond)
		m = b.Metrics()
		v := m["sluice_buffer_bytes"]
		same := v == last
		last = v
		return same
	})
	session, content := int64(m[`sluice_stage_bytes{stage="session"}`]), int64(m[`sluice_stage_bytes{stage="content"}`])
	buffers := int64(m["sluice_buffer_bytes"])
	report(t, "greedy=%v: messages grow from %d to %d bytes: session %s, content %s, buffers %s", greedy, small, large, mib(session), mib(content), mib(buffers))
	// Small frames had made the window wider than large ones leave it: what was on
	// its way when the sender heard of less is taken once.
	limit := int64(2*sessionBytes + linkBytes + unboundBytes)
	if greedy {
		limit = sessionBytes + capacity*(unboundBytes+maxFrameSize)
	}
	if session+content > limit {
		t.Errorf("%s held, the formula allows %s", mib(session+content), mib(limit))
	}
	// What is held is counted, or else the high mark would mean little.
	if waiting := m["sluice_deliveries_waiting"]; float64(content) < waiting*large {
		t.Errorf("%d bytes are counted for %v waiting messages of %d", content, waiting, large)
	}
	if full := m["sluice_addresses_full"]; (content >= waitingHigh) != (full == 1) {
		t.Errorf("%s wait, and %v addresses are full", mib(content), full)
	}
	if err := conn.Err(); err != nil || out.Detached() != nil {
		t.Errorf("the sender was punished: %v", err)
	}
	conn.Abort()
}
