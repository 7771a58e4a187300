package pressure

import (
	"testing"
	"time"

	"sluice/amqp"
	"sluice/amqp/messaging"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

func is(want float64) func(float64) bool { return func(v float64) bool { return v == want } }

// Senders hear of a full address by credit alone: it stops at the high mark and
// comes back at the low mark, and metrics show both.
func TestWatermarks_StopAndReturnCredit(t *testing.T) {
	b := harness.Start(t, harness.Listeners("", "address {\n prefix: q\n waitingHighCount: 400\n waitingLowCount: 100\n}"))
	in := receiver(t, session(t, b.Addr()), "q", raw.ReceiverOptions{})
	conn := dial(t, b.Addr(), raw.Options{})
	s := conn.MustSession()
	outs := []*raw.Sender{sender(t, s, "q", raw.SenderOptions{}), sender(t, s, "q", raw.SenderOptions{}), sender(t, s, "q", raw.SenderOptions{})}
	message := raw.Data(make([]byte, small))
	for range 50 {
		for _, out := range outs {
			must(t, out.Send(message, false))
		}
	}
	// Each link may have 250 under way; together they pass the high mark.
	sent := 150
	for _, out := range outs {
		for out.Credit() > 0 {
			must(t, out.Send(message, false))
			sent++
		}
	}
	b.WaitMetric("sluice_addresses_full", "1", is(1))
	b.WaitMetric("sluice_links_without_credit", "3", is(3))
	if sent < 400 || sent > 3*250 {
		t.Errorf("%d messages were sent before the address was full at 400", sent)
	}
	if v := b.Metric(`sluice_stage_bytes{stage="content"}`); v < float64(400*small) || v > float64(3*250*(small+100)) {
		t.Errorf("%v bytes wait in %d messages", v, sent)
	}
	// Above the low mark nothing changes.
	in.AddCredit(uint32(sent - 150))
	must(t, in.WaitMessages(sent-150))
	for _, out := range outs {
		if n := out.Credit(); n != 0 {
			t.Errorf("credit %d above the low mark", n)
		}
	}
	if v := b.Metric("sluice_addresses_full"); v != 1 {
		t.Errorf("sluice_addresses_full is %v above the low mark", v)
	}
	in.AddCredit(60)
	must(t, in.WaitMessages(sent-90))
	for _, out := range outs {
		must(t, out.WaitCredit(1))
	}
	b.WaitMetric("sluice_addresses_full", "0", is(0))
	b.WaitMetric("sluice_links_without_credit", "0", is(0))
	if v := b.Metric("sluice_addresses_full_total"); v != 1 {
		t.Errorf("the high mark was reached %v times", v)
	}
	if err := conn.Err(); err != nil {
		t.Errorf("the senders were disconnected: %v", err)
	}
	in.SetCredit(1000)
	must(t, in.WaitMessages(sent))
	for _, out := range outs {
		if r := out.Result(); r.Rejected+r.Released+r.Modified != 0 || out.Detached() != nil {
			t.Errorf("%+v, detached: %v", r, out.Detached())
		}
	}
}

// The number of messages under way on a link is bounded although its receiver
// gives much credit and settles slowly.
func TestBC15_InFlightIsBoundedByCapacity(t *testing.T) {
	b := harness.Start(t, harness.Listeners("linkCapacity: 100"))
	ids := make(chan amqp.DeliveryNumber, 100_000)
	in := receiver(t, session(t, b.Addr()), "q", raw.ReceiverOptions{Credit: 50_000, Manual: true, Frame: func(f *raw.Frame) { ids <- f.ID }})
	out := sender(t, session(t, b.Addr()), "q", raw.SenderOptions{})
	done := make(chan error, 1)
	go func() {
		message := raw.Data(make([]byte, small))
		for range 400 {
			if err := out.Send(message, false); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	settled := 0
	for settled < 400 {
		in.Settle(<-ids, messaging.Accepted)
		settled++
		if r := out.Result(); r.Sent > settled+100 {
			t.Fatalf("%d sent, %d settled: more than linkCapacity are under way", r.Sent, settled)
		}
		time.Sleep(2 * time.Millisecond) // a slow receiver
	}
	must(t, <-done)
	must(t, out.WaitSettled(400))
}

// A consumer that takes and never settles uses up the sender's credit. Settling
// by the sender gives it back; so does unsettledTimeoutSeconds.
func TestBC19_UnsettledDeliveriesGiveTheirPlaceBack(t *testing.T) {
	start := func(t *testing.T, more string) (*harness.Binary, *raw.Sender) {
		b := harness.Start(t, harness.Listeners("", "address {\n prefix: q\n"+more+"}"))
		receiver(t, session(t, b.Addr()), "q", raw.ReceiverOptions{Credit: 5000, Manual: true})
		out := sender(t, session(t, b.Addr()), "q", raw.SenderOptions{})
		for range 250 {
			must(t, out.Send(raw.Data(make([]byte, small)), false))
		}
		b.WaitMetric("sluice_links_without_credit", "1", is(1))
		return b, out
	}
	t.Run("sender settles", func(t *testing.T) {
		_, out := start(t, "")
		out.SettleAll()
		must(t, out.WaitCredit(100))
	})
	t.Run("time-out", func(t *testing.T) {
		b, out := start(t, " unsettledTimeoutSeconds: 1\n")
		must(t, out.WaitSettled(250))
		must(t, out.WaitCredit(100))
		if r := out.Result(); r.Modified != 250 || r.Twice != 0 {
			t.Errorf("%+v, want 250 modified", r)
		}
		if v := b.Metric("sluice_deliveries_unsettled_timeout_total"); v != 250 {
			t.Errorf("%v deliveries timed out", v)
		}
	})
}
