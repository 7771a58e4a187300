package mesh

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// A multicast message reaches each receiver once on any graph, from any origin
// (15.1 of the reference: the first implementation doubles them on cycles).
func TestBC87_MulticastOnceOnAnyGraph(t *testing.T) {
	plans := map[string]harness.Plan{
		"triangle": distributed(harness.Triangle()),
		"ring":     ringOf(4),
		"full":     distributed(harness.Full(6)),
		"random":   distributed(random(sized(8, 6))),
	}
	for name, p := range plans {
		t.Run(name, func(t *testing.T) {
			if name == "random" { // bodies and bounds are checked most strictly here
				p.Options = append(p.Options, harness.Race(t))
			}
			m := start(t, p)
			once(t, m, sized(20_000, 1000))
		})
	}
}

// random is a connected plan of n routers with more trunks than a tree has.
func random(n int) harness.Plan {
	p := harness.Plan{Nodes: harness.Interior(n)}
	for i := 1; i < n; i++ {
		for j := range i {
			if j == rand.IntN(i) || rand.IntN(3) == 0 || j == i-1 {
				p.Trunks = append(p.Trunks, harness.Trunk{From: p.Nodes[i].Name, To: p.Nodes[j].Name, Cost: 1 + rand.IntN(4)})
			}
		}
	}
	return p
}

// once sends n messages from every router, every third of them settled, to two
// receivers at each, and wants each to come once.
func once(t *testing.T, m *harness.Mesh, n int) {
	t.Helper()
	var ins []*raw.Receiver
	var ledgers []*raw.Ledger
	for _, name := range m.Names() {
		for range 2 {
			in, l := accepting(t, session(t, m.Addr(name)), "multicast/once", 200)
			ins, ledgers = append(ins, in), append(ledgers, l)
		}
	}
	everywhere(t, m, "multicast/once")
	begin := time.Now()
	var outs []*raw.Sender
	for i, name := range m.Names() {
		out := sender(t, session(t, m.Addr(name)), "multicast/once", raw.SenderOptions{})
		outs = append(outs, out)
		go func() {
			for k := range n {
				if err := out.Send(raw.Numbered(nil, small, uint64(i*n+k)), k%3 == 0); err != nil {
					t.Errorf("sending at %s: %v", name, err)
					return
				}
			}
		}()
	}
	total := n * len(outs)
	for i, in := range ins {
		if err := in.WaitMessages(total); err != nil {
			t.Errorf("receiver %d: %v", i, err)
		}
	}
	took := time.Since(begin)
	for i, out := range outs {
		if err := out.WaitSettled(n - (n+2)/3); err != nil {
			t.Errorf("sender %d: %v", i, err)
		}
		if r := out.Result(); r.Accepted != r.Settled {
			t.Errorf("outcomes %+v", r)
		}
	}
	quiet(ins...)
	for i, l := range ledgers {
		if different, again := l.Len(); different != total || again != 0 {
			t.Errorf("receiver %d at %s: %d of %d messages, %d more than once", i, m.Names()[i/2], different, total, again)
		}
	}
	report(t, "multicast from each of %d routers to %d receivers: %d messages, %d copies/s, each once", len(outs), len(ins), total, perSecond(total*len(ins), took))
}

// Of many multicast senders, one receiver stops. Copies are bounded on every
// router, and with patience the slow one loses its copies and nobody else does.
func TestBC31_SlowMulticastReceiverInAMesh(t *testing.T) {
	t.Run("one sender", func(t *testing.T) { slowMulticast(t, harness.Ring(4), "A", "C", 1) })
	t.Run("many senders", func(t *testing.T) {
		slowMulticast(t, harness.Ring(4), "A", "C", sized(24, 5))
	})
	t.Run("edges", func(t *testing.T) { slowMulticast(t, harness.RingWithEdges(), "E1", "E2", 1) })
}

func slowMulticast(t *testing.T, p harness.Plan, from, at string, senders int) {
	p.Entities = "address {\n prefix: news\n distribution: multicast\n multicastPatienceSeconds: 1\n}\n"
	m := start(t, p)
	slow := receiver(t, session(t, m.Addr(at)), "news", raw.ReceiverOptions{})
	slow.AddCredit(10)
	var fast []*raw.Receiver
	for _, name := range m.Names() {
		fast = append(fast, receiver(t, session(t, m.Addr(name)), "news", raw.ReceiverOptions{Credit: 500}))
	}
	everywhere(t, m, "news")
	samplers := sample(t, m)
	end := time.Now().Add(time.Duration(sized(60, 3)) * time.Second)
	var outs []*raw.Sender
	var sent atomic.Int64
	var wg sync.WaitGroup
	for range senders {
		out := sender(t, session(t, m.Addr(from)), "news", raw.SenderOptions{})
		outs = append(outs, out)
		wg.Go(func() {
			message := raw.Numbered(nil, small, 0)
			for time.Now().Before(end) && out.Send(message, false) == nil {
				sent.Add(1)
			}
		})
	}
	wg.Wait()
	for _, out := range outs {
		must(t, out.WaitSettled(out.Result().Sent))
	}
	quiet(fast...)
	for i, r := range fast {
		if n := r.Messages(); n != int(sent.Load()) {
			t.Errorf("the receiver at %s has %d of %d messages", m.Names()[i], n, sent.Load())
		}
	}
	peaks := samplers()
	dropped := map[string]float64{}
	for _, name := range m.Names() {
		dropped[name] = m.Router(name).Metric(`sluice_deliveries_dropped_total{cause="slow-multicast"}`)
	}
	report(t, "multicast from %d senders at %s with a receiver at %s that stops, patience 1 s: %d messages, copies dropped %v, peak RSS %v", senders, from, at, sent.Load(), dropped, peaks)
	if dropped[at] == 0 || sent.Load() < 300 {
		t.Errorf("%d messages sent, slow copies dropped %v", sent.Load(), dropped)
	}
	for name, peak := range peaks {
		if peak > 200<<20 {
			t.Errorf("peak RSS of %s: %v", name, peak)
		}
	}
}

// size is a number of bytes that prints itself.
type size int64

func (s size) String() string { return mib(int64(s)) }

// sample measures the memory of all routers until the function it returns is
// called, which returns the peaks, or the test ends.
func sample(t *testing.T, m *harness.Mesh) func() map[string]size {
	samplers := map[string]*harness.Sampler{}
	for _, name := range m.Names() {
		samplers[name] = m.Router(name).SampleRSS(50 * time.Millisecond)
	}
	peaks := sync.OnceValue(func() map[string]size {
		peaks := map[string]size{}
		for name, s := range samplers {
			peaks[name] = size(s.Stop())
		}
		return peaks
	})
	t.Cleanup(func() { peaks() })
	return peaks
}

// Presettled messages at full speed from several senders arrive settled, in order
// for each sender, and none is lost, over one trunk and two (15.3 of the
// reference: the first implementation throws most away).
func TestPresettled_NoneLostAtFullSpeed(t *testing.T) {
	n := sized(1_000_000, 60_000)
	m := start(t, harness.Line(3))
	for _, at := range []string{"B", "C"} {
		t.Run(at, func(t *testing.T) {
			const senders = 3
			var next [senders]uint64
			wrong := 0
			in := receiver(t, session(t, m.Addr(at)), "fast."+at, raw.ReceiverOptions{Credit: 500, Frame: func(f *raw.Frame) {
				v := raw.Number(f.Payload)
				if from := v >> 32; !f.Settled || from >= senders || v&(1<<32-1) != next[from] {
					wrong++
				} else {
					next[from]++
				}
			}})
			begin := time.Now()
			for i := range senders {
				out := sender(t, session(t, m.Addr("A")), "fast."+at, raw.SenderOptions{Settled: true})
				go func() {
					message := raw.Numbered(nil, small, 0)
					for k := range n {
						raw.Renumber(message, uint64(i)<<32|uint64(k))
						if err := out.Send(message, true); err != nil {
							t.Error(err)
							return
						}
					}
				}()
			}
			must(t, in.WaitMessages(senders*n))
			report(t, "settled messages from %d senders at A to %s: %d, %d/s", senders, at, senders*n, perSecond(senders*n, time.Since(begin)))
			if wrong != 0 {
				t.Errorf("%d messages unsettled, lost, doubled or out of order: %v", wrong, fmt.Sprint(next))
			}
		})
	}
}
