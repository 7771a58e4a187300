package mesh

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// A stopped receiver behind a trunk costs its own senders their credit. All else
// on the trunk keeps its rate, memory is bounded on both routers, nobody is
// disconnected, and when the receiver goes on everything arrives.
//
// Another pair of routers, without the stopped receiver, is measured in turns
// with the first, so that other work of the machine harms both.
func TestStoppedReceiver_BehindATrunk(t *testing.T) {
	with, without := start(t, harness.Pair()), start(t, harness.Pair())
	for _, settled := range []bool{false, true} {
		for _, kind := range []string{"unsettled", "settled", "message", "streams"} {
			t.Run(fmt.Sprintf("fast settled=%v/stuck %s", settled, kind), func(t *testing.T) {
				a, b := newFlood(t, with, settled), newFlood(t, without, settled)
				defer a.end(t)
				defer b.end(t)
				behindATrunk(t, with, kind, a, b)
			})
		}
	}
}

// tolerated is the least part of the rate that must stay: the figure to reach is
// 0.9, noise of the machine lies between.
const tolerated = 0.6

func behindATrunk(t *testing.T, m *harness.Mesh, kind string, with, without *flood) {
	peaks := sample(t, m)
	q := stick(t, m, kind)
	q.waitStuck(t)
	taken := q.taken.Load()
	part := compare(with, without)
	for try := 0; part < tolerated && try < 2; try++ { // what the machine does passes, what the router does stays
		part = max(part, compare(with, without))
	}
	q.waitStuck(t)
	if more := q.taken.Load() - taken; more != 0 {
		t.Errorf("%d bytes more were taken from senders to the stopped receiver", more)
	}
	q.finish(t)
	peak := peaks()
	report(t, "fast messages settled=%v beside stuck %s: %.0f %% of the rate without (%.0f/s); %s had been taken from the stuck senders; peak RSS %v",
		with.settled, kind, 100*part, with.rate, mib(taken), peak)
	if part < tolerated {
		t.Errorf("%.0f %% of the rate is left", 100*part)
	}
	for name, p := range peak {
		if p > 160<<20 {
			t.Errorf("peak RSS of %s: %v", name, p)
		}
	}
}

// flood sends small messages from A to B while it may.
type flood struct {
	settled bool
	in      *raw.Receiver
	conns   [2]*raw.Conn
	wg      sync.WaitGroup
	rate    float64 // messages a second, median of the last comparison

	mu  sync.Mutex // guards the fields below
	may *sync.Cond
	on  bool
	off bool // for good
}

var floods atomic.Int64

func newFlood(t *testing.T, m *harness.Mesh, settled bool) *flood {
	t.Helper()
	f := &flood{settled: settled}
	f.may = sync.NewCond(&f.mu)
	f.conns = [2]*raw.Conn{dial(t, m.Addr("A"), raw.Options{}), dial(t, m.Addr("B"), raw.Options{})}
	address := fmt.Sprint("q1.", floods.Add(1))
	f.in = receiver(t, f.conns[1].MustSession(), address, raw.ReceiverOptions{Credit: 500})
	out := sender(t, f.conns[0].MustSession(), address, raw.SenderOptions{Settled: settled})
	f.wg.Go(func() {
		message := raw.Numbered(nil, small, 0)
		for out.Send(message, settled) == nil {
			f.mu.Lock()
			for !f.on && !f.off {
				f.may.Wait()
			}
			off := f.off
			f.mu.Unlock()
			if off {
				return
			}
		}
	})
	return f
}

func (f *flood) set(on, off bool) {
	f.mu.Lock()
	f.on, f.off = on, off
	f.mu.Unlock()
	f.may.Broadcast()
}

// window lets messages flow for a while and returns how many arrived a second.
func (f *flood) window(d time.Duration) float64 {
	f.set(true, false)
	defer f.set(false, false)
	time.Sleep(d / 4)
	return rates(f.in, 1, d)[0]
}

// compare measures two floods in turns and returns the median of a's rate as a
// part of b's.
func compare(a, b *flood) float64 {
	var part, rate []float64
	for i := range sized(20, 7) {
		var x, y float64
		if i%2 == 0 {
			x = a.window(150 * time.Millisecond)
			y = b.window(150 * time.Millisecond)
		} else {
			y = b.window(150 * time.Millisecond)
			x = a.window(150 * time.Millisecond)
		}
		part, rate = append(part, x/y), append(rate, x)
	}
	a.rate = median(rate)
	return median(part)
}

// end ends a flood, whose connections must have lived.
func (f *flood) end(t *testing.T) {
	for _, c := range f.conns {
		if err := c.Err(); err != nil {
			t.Errorf("the fast client was disconnected: %v", err)
		}
	}
	f.set(false, true)
	f.wg.Wait()
	for _, c := range f.conns {
		c.Close()
	}
}

// stuckTraffic goes to receivers at B that do not read.
type stuckTraffic struct {
	taken   atomic.Int64 // bytes that the senders have sent
	in      *raw.Conn
	outs    []*raw.Conn
	credits []*raw.Sender // whose credit must end
	wg      sync.WaitGroup
	check   []func(t *testing.T)
}

// stick begins traffic of a kind to stopped receivers.
func stick(t *testing.T, m *harness.Mesh, kind string) *stuckTraffic {
	t.Helper()
	q := &stuckTraffic{in: dial(t, m.Addr("B"), raw.Options{ReadBuffer: 32 << 10})}
	add := func(address string, messages int, size int64, settled bool) {
		l := &raw.Ledger{}
		in := receiver(t, q.in.MustSession(), address, raw.ReceiverOptions{Credit: 1000, Frame: l.Frame})
		c := dial(t, m.Addr("A"), raw.Options{SendBuffer: 64 << 10})
		q.outs = append(q.outs, c)
		out := sender(t, c.MustSession(), address, raw.SenderOptions{})
		if messages > 1 {
			q.credits = append(q.credits, out)
		}
		noise := raw.NewNoise(uint32(len(q.outs)))
		q.wg.Go(func() {
			for range messages {
				if err := out.Stream(size, counting{noise, &q.taken}, settled); err != nil {
					t.Error(err)
					return
				}
			}
		})
		q.check = append(q.check, func(t *testing.T) {
			must(t, in.WaitMessages(messages))
			if sum, n := l.Sum(); sum != noise.Sum() || n != int64(messages)*size {
				t.Errorf("%s: %d bytes with checksum %x, %x was sent", address, n, sum, noise.Sum())
			}
			if !settled {
				must(t, out.WaitSettled(messages))
			}
			if r := out.Result(); !settled && (r.Accepted != messages || r.Twice != 0) {
				t.Errorf("%s: outcomes %+v", address, r)
			}
		})
	}
	// The receivers' connection stops when all links are there.
	switch kind {
	case "unsettled", "settled":
		add("q2", sized(20_000, 3000), 10_000, kind == "settled")
	case "message":
		add("q2", 1, int64(sized(1<<30, 64<<20)), false)
	case "streams", "many streams":
		n := 16
		if kind == "many streams" {
			n = 40
		}
		for i := range n {
			add(fmt.Sprintf("q2.%d", i), 1, int64(sized(64<<20, 20<<20)), i%2 == 0)
		}
	}
	q.in.Pause()
	return q
}

type counting struct {
	io.Reader
	n *atomic.Int64
}

func (c counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// waitStuck waits until nothing is taken from the senders any more.
func (q *stuckTraffic) waitStuck(t *testing.T) {
	t.Helper()
	last := int64(-1)
	stuck := harness.Eventually(harness.Patience, func() bool {
		time.Sleep(300 * time.Millisecond)
		now := q.taken.Load()
		same := now == last
		last = now
		return same
	})
	if !stuck {
		t.Fatalf("after %s there is no end", mib(last))
	}
	for _, out := range q.credits {
		if c := out.Credit(); c != 0 {
			t.Errorf("a sender to the stopped receiver has credit for %d", c)
		}
	}
	for _, c := range q.outs {
		if err := c.Err(); err != nil {
			t.Errorf("a sender to the stopped receiver was disconnected: %v", err)
		}
	}
}

// finish lets the receivers go on, and wants all that was sent.
func (q *stuckTraffic) finish(t *testing.T) {
	t.Helper()
	q.in.Resume()
	for _, check := range q.check {
		check(t)
	}
	q.wg.Wait()
	for _, c := range append(q.outs, q.in) {
		c.Close()
	}
}
