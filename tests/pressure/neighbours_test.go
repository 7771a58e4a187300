package pressure

import (
	"fmt"
	"hash/crc32"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/amqp"
	"sluice/amqp/messaging"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// Two links of one session: one sends large messages towards a receiver that
// has stopped reading, the other small ones towards a fast receiver. The small
// ones never stop for longer than a second, whichever link was first.
func TestSessionSiblings_FastLinkGoesOn(t *testing.T) {
	for _, largeFirst := range []bool{true, false} {
		for _, settled := range []bool{false, true} {
			t.Run(fmt.Sprintf("largeFirst=%v/settled=%v", largeFirst, settled), func(t *testing.T) { siblings(t, largeFirst, settled) })
		}
	}
}

func siblings(t *testing.T, largeFirst, settled bool) {
	b := harness.Start(t, harness.Loopback)
	slow := dial(t, b.Addr(), raw.Options{ReadBuffer: 16 << 10})
	receiver(t, slow.MustSession(), "slow", raw.ReceiverOptions{Credit: 1000})
	slow.Pause()
	var last, gap atomic.Int64
	fast := receiver(t, session(t, b.Addr()), "fast", raw.ReceiverOptions{Credit: 1000, Frame: func(*raw.Frame) {
		now := time.Now().UnixNano()
		if before := last.Swap(now); before != 0 {
			gap.Store(max(gap.Load(), now-before))
		}
	}})
	conn := dial(t, b.Addr(), raw.Options{})
	s := conn.MustSession()
	var wg sync.WaitGroup
	start := func(address string, size int) {
		out := sender(t, s, address, raw.SenderOptions{})
		wg.Go(func() {
			message := raw.Data(make([]byte, size))
			for out.Send(message, settled) == nil {
			}
		})
	}
	if largeFirst {
		start("slow", 1<<20)
		b.WaitMetric(`sluice_stage_bytes{stage="outgoing"}`, "a full link", func(v float64) bool { return v >= 512<<10 })
		start("fast", small)
	} else {
		start("fast", small)
		must(t, fast.WaitMessages(1000))
		start("slow", 1<<20)
	}
	must(t, fast.WaitMessages(1000))
	before := fast.Messages()
	time.Sleep(2 * time.Second)
	moved := fast.Messages() - before
	silent := time.Duration(max(gap.Load(), time.Now().UnixNano()-last.Load()))
	report(t, "beside a stopped link of the same session: %d small messages/s, longest pause %v", moved/2, silent.Round(time.Millisecond))
	if silent > time.Second || moved == 0 {
		t.Errorf("the fast link stood still for %v (%d messages)", silent, moved)
	}
	if err := conn.Err(); err != nil || s.Err() != nil {
		t.Errorf("the sender was disconnected: %v, %v", err, s.Err())
	}
	conn.Abort()
	wg.Wait()
}

// Three receivers compete, one of them slow. It holds no more than its credit;
// the fast ones carry the rest.
func TestCompetingReceivers_SlowOneHoardsNothing(t *testing.T) {
	n := sized(20_000, 20_000)
	const credit, pause = 10, 50 * time.Millisecond
	b := harness.Start(t, harness.Loopback)
	ids := make(chan amqp.DeliveryNumber, credit)
	var held, most atomic.Int32
	slow := receiver(t, session(t, b.Addr()), "work", raw.ReceiverOptions{Manual: true, Frame: func(f *raw.Frame) {
		most.Store(max(most.Load(), held.Add(1)))
		ids <- f.ID
	}})
	slow.AddCredit(credit)
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case id := <-ids:
				time.Sleep(pause) // the work
				held.Add(-1)
				slow.Settle(id, messaging.Accepted)
				slow.AddCredit(1)
			case <-done:
				return
			}
		}
	})
	fast := []*raw.Receiver{
		receiver(t, session(t, b.Addr()), "work", raw.ReceiverOptions{Credit: credit}),
		receiver(t, session(t, b.Addr()), "work", raw.ReceiverOptions{Credit: credit}),
	}
	out := sender(t, session(t, b.Addr()), "work", raw.SenderOptions{})
	message := raw.Data(make([]byte, small))
	start := time.Now()
	for range n {
		must(t, out.Send(message, false))
	}
	// All but what the slow one holds is done at once.
	must(t, out.WaitSettled(n-credit))
	took := time.Since(start)
	must(t, out.WaitSettled(n))
	close(done)
	wg.Wait()
	a, c, s := fast[0].Messages(), fast[1].Messages(), slow.Messages()
	report(t, "competing receivers: fast %d and %d, slow %d of %d in %v; the slow one held at most %d", a, c, s, n, took.Round(time.Millisecond), most.Load())
	if most.Load() > credit {
		t.Errorf("the slow receiver held %d, its credit was %d", most.Load(), credit)
	}
	if limit := int(took/pause) + 2*credit; s > limit {
		t.Errorf("the slow receiver got %d messages, it can do %d", s, limit)
	}
	if a+c+s != n || min(a, c) < (n-s)/4 {
		t.Errorf("%d and %d messages for the fast receivers", a, c)
	}
	if took > time.Duration(n)*pause/20 {
		t.Errorf("%v: messages waited behind the slow receiver", took)
	}
}

// Every body of a multicast arrives intact while one of four receivers connects
// and leaves all the time. The binary has the race detector and poisoned buffers.
func TestMulticast_BodiesIntactWhileReceiversComeAndGo(t *testing.T) {
	n := sized(1_000_000, 60_000)
	b := harness.Start(t, harness.Listeners("", "address {\n prefix: news\n distribution: multicast\n}"), harness.Race(t))
	var wrong atomic.Int64
	intact := func(f *raw.Frame) {
		p := f.Payload
		if !f.First || !f.Last || len(p) < 17 {
			wrong.Add(1)
			return
		}
		body := p[5:]
		sum := uint32(body[0])<<24 | uint32(body[1])<<16 | uint32(body[2])<<8 | uint32(body[3])
		if crc32.Checksum(body[4:], castagnoli) != sum {
			wrong.Add(1)
		}
	}
	var in []*raw.Receiver
	for range 3 {
		in = append(in, receiver(t, session(t, b.Addr()), "news", raw.ReceiverOptions{Credit: 200, Frame: intact}))
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	visits := 0
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			c, err := raw.Dial(b.Addr(), raw.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			s, err := c.Session()
			var r *raw.Receiver
			if err == nil {
				r, err = s.Receiver("news", raw.ReceiverOptions{Credit: 100, Frame: intact})
			}
			if err == nil {
				err = r.WaitMessages(50 + visits%100)
			}
			if err != nil {
				select {
				case <-stop: // nothing comes any more
				default:
					t.Error(err)
				}
			}
			switch visits++; visits % 3 {
			case 0:
				c.Close()
			case 1:
				r.Detach()
				c.Close()
			default:
				c.Abort() // in the middle
			}
		}
	})
	out := sender(t, session(t, b.Addr()), "news", raw.SenderOptions{})
	noise := raw.NewNoise(7)
	message, body := make([]byte, 0, 256), make([]byte, small)
	start := time.Now()
	for i := range n {
		noise.Read(body[4:])
		sum := crc32.Checksum(body[4:], castagnoli)
		body[0], body[1], body[2], body[3] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
		message = append(append(message[:0], raw.DataHeader(small)...), body...)
		must(t, out.Send(message, i%10 == 0))
	}
	close(stop)
	// One more for a visitor that waits.
	for range 200 {
		must(t, out.Send(message, true))
	}
	for _, r := range in {
		must(t, r.WaitMessages(n+200))
	}
	took := time.Since(start)
	wg.Wait()
	report(t, "multicast to 3 and a visitor (%d visits), race detector: %d messages, %d/s", visits, n, perSecond(n, took))
	if wrong.Load() != 0 {
		t.Errorf("%d damaged bodies", wrong.Load())
	}
	for i, r := range in {
		if r.Messages() != n+200 {
			t.Errorf("receiver %d got %d messages, want %d", i, r.Messages(), n+200)
		}
	}
	if visits < 3 {
		t.Errorf("only %d visits", visits)
	}
}
