package e2e

import (
	"testing"
	"testing/synctest"
	"time"

	. "sluice/amqp/amqptest"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/tests/harness/bubble"
)

// Links count the deliveries that were settled long after they had come, on the
// way in and on the way out, whether they waited for credit or for the outcome.
func TestDelaysAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 4)
		out := r.Sender("out", "q")
		send := func(id uint32, settled bool) {
			f := Transfer(0, id)
			f.Settled = settled
			out.Write(With(f, Text("m")))
			synctest.Wait()
		}
		check := func(why string, in, out [2]uint64) {
			t.Helper()
			synctest.Wait()
			a, b := &r.Incoming(0).Counters, &r.Outgoing(0).Counters
			if got := [2]uint64{a.Delayed, a.VeryDelayed}; got != in {
				t.Errorf("%s: link in: %v, want %v", why, got, in)
			}
			if got := [2]uint64{b.Delayed, b.VeryDelayed}; got != out {
				t.Errorf("%s: link out: %v, want %v", why, got, out)
			}
		}
		for id := range uint32(4) {
			send(id, false)
		}
		time.Sleep(900 * time.Millisecond)
		in.Write(Accept(0))
		check("0.9 s", [2]uint64{}, [2]uint64{})
		time.Sleep(time.Second)
		in.Write(Accept(1))
		check("1.9 s", [2]uint64{1, 0}, [2]uint64{1, 0})
		time.Sleep(7 * time.Second)
		in.Write(Settle(2, messaging.Released))
		check("8.9 s", [2]uint64{2, 0}, [2]uint64{2, 0})
		time.Sleep(2 * time.Second)
		in.Write(Accept(3))
		check("10.9 s", [2]uint64{2, 1}, [2]uint64{2, 1})

		send(4, true) // it waits for credit
		send(5, false)
		time.Sleep(3 * time.Second)
		in.Write(Flow(0, 0, 10))
		check("sent settled", [2]uint64{2, 1}, [2]uint64{3, 1})
		in.Write(Accept(5))
		check("unsettled", [2]uint64{3, 1}, [2]uint64{4, 1})
	})
}

// What is not settled for long is counted on the link on which it came, too.
func TestUnsettledIsTalliedOnBothLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 1)
		out := r.Sender("out", "q")
		for id := range uint32(2) {
			out.Write(With(Transfer(0, id), Text("m")))
			synctest.Wait()
		}
		came := time.Now()
		time.Sleep(4 * time.Second)
		in.Write(Flow(0, 1, 1)) // the other one goes now
		synctest.Wait()
		a, b := r.Incoming(0), r.Outgoing(0)
		tally := func(l transport.Link, s *transport.Session) links.Tally {
			now := time.Now()
			return links.Tallies(s, now.Add(-2*time.Second).UnixNano(), now.Add(-5*time.Second).UnixNano())[l]
		}
		q := r.Address("q")
		if got, want := tally(a, a.Session()), (links.Tally{Deliveries: 2, Old: 2, Oldest: came.UnixNano(), Of: q}); got != want {
			t.Errorf("link in: %+v, want %+v", got, want)
		}
		time.Sleep(time.Second + 1)
		if got, want := tally(a, a.Session()), (links.Tally{Deliveries: 2, Old: 2, Stuck: 2, Oldest: came.UnixNano(), Of: q}); got != want {
			t.Errorf("link in a second later: %+v, want %+v", got, want)
		}
		if got, want := tally(b, b.Session()), (links.Tally{Deliveries: 2, Old: 1, Stuck: 1, Oldest: came.UnixNano(), Of: q}); got != want {
			t.Errorf("link out: %+v, want %+v", got, want)
		}
		in.Write(Accept(0), Accept(1))
		synctest.Wait()
		if got := tally(a, a.Session()); got != (links.Tally{}) {
			t.Errorf("settled: %+v", got)
		}
	})
}
