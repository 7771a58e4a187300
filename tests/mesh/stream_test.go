package mesh

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// A large message whose receiver has stopped delays no small one on the same
// trunk: they have links and sessions of their own.
func TestBC23_LargeMessageBesideSmallOnes(t *testing.T) {
	m := start(t, harness.Pair())
	in := receiver(t, session(t, m.Addr("B")), "small", raw.ReceiverOptions{Credit: 100})
	out := sender(t, session(t, m.Addr("A")), "small", raw.SenderOptions{})
	sent := 0
	p99 := func() time.Duration {
		var took []time.Duration
		for range sized(10_000, 2000) {
			begin := time.Now()
			must(t, out.Send(raw.Numbered(nil, 1000, uint64(sent)), false))
			sent++
			must(t, out.WaitSettled(sent))
			took = append(took, time.Since(begin))
		}
		slices.Sort(took)
		return took[len(took)*99/100]
	}
	idle := p99()
	q := stick(t, m, "message")
	q.waitStuck(t)
	beside := p99()
	q.finish(t)
	must(t, in.WaitMessages(sent))
	report(t, "p99 of small messages over a trunk %v, beside a large one that is stuck %v", idle, beside)
	if beside > 4*idle+5*time.Millisecond {
		t.Errorf("p99 %v, idle %v", beside, idle)
	}
}

// A stream that has been sent wholly and is not taken at the other end of the
// trunk keeps no other waiting. Streams of this size fit into what the routers
// hold.
func TestStoppedStream_KeepsNoOtherWaiting(t *testing.T) {
	m := start(t, harness.Pair())
	for _, size := range []int64{200_000, 400_000, 700_000, 1 << 20, 2 << 20} {
		t.Run(fmt.Sprint("size=", size), func(t *testing.T) {
			stopped := dial(t, m.Addr("B"), raw.Options{ReadBuffer: 32 << 10})
			address := fmt.Sprint("stopped.", size)
			held := receiver(t, stopped.MustSession(), address, raw.ReceiverOptions{Credit: 10})
			stopped.Pause()
			out := sender(t, session(t, m.Addr("A")), address, raw.SenderOptions{})
			// The first teaches the size; all that can be taken is.
			go func() {
				for range 3 {
					out.Stream(size, raw.NewNoise(1), false)
				}
			}()
			time.Sleep(300 * time.Millisecond)
			l := &raw.Ledger{}
			in := receiver(t, session(t, m.Addr("B")), "live", raw.ReceiverOptions{Credit: 10, Frame: l.Frame})
			live := sender(t, session(t, m.Addr("A")), "live", raw.SenderOptions{})
			begin := time.Now()
			const n = 5
			for i := range n {
				must(t, live.Stream(300_000, raw.NewNoise(uint32(i)), false))
			}
			ok := harness.Eventually(5*time.Second, func() bool { return live.Result().Accepted == n })
			if !ok {
				t.Errorf("after %v %d of %d streams have arrived beside one of %d bytes that is stopped", time.Since(begin), in.Messages(), n, size)
			}
			stopped.Resume()
			must(t, held.WaitMessages(3))
			must(t, in.WaitMessages(n))
			must(t, in.Detach())
		})
	}
}

// More streams at a time than a trunk keeps links for: each arrives whole.
func TestManyStreams_ArriveWhole(t *testing.T) {
	m := start(t, harness.Pair())
	q := stick(t, m, "many streams")
	q.waitStuck(t)
	q.finish(t)
}
