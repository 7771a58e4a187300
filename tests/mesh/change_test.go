package mesh

import (
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// In a triangle under load a trunk or a router is lost. Unsettled messages of
// every distribution go on soon: after the loss of a connection within 2 s,
// after silence within 4 s. What was accepted has been delivered.
func TestLoss_TrafficGoesOn(t *testing.T) {
	const prompt, silent = 2 * time.Second, 4 * time.Second
	losses := []struct {
		name       string
		within     time.Duration
		lose, mend func(m *harness.Mesh)
	}{
		{"link cut", prompt,
			func(m *harness.Mesh) { m.Proxy("B-A").Refuse(); m.Proxy("B-A").Reset() },
			func(m *harness.Mesh) { m.Proxy("B-A").Heal() }},
		{"link frozen", silent,
			func(m *harness.Mesh) { m.Proxy("B-A").Freeze() },
			func(m *harness.Mesh) { m.Proxy("B-A").Heal() }},
		{"router killed", prompt,
			func(m *harness.Mesh) { m.Router("B").Kill() },
			func(m *harness.Mesh) { m.Start("B") }},
		{"router stopped", silent,
			func(m *harness.Mesh) { m.Router("B").Signal(syscall.SIGSTOP) },
			func(m *harness.Mesh) { m.Router("B").Signal(syscall.SIGCONT) }},
	}
	for _, loss := range losses {
		t.Run(loss.name, func(t *testing.T) {
			p := distributed(harness.Triangle())
			p.Proxied = true
			// From A, B is nearer than C, and C does not lie behind B.
			p.Trunks = []harness.Trunk{{From: "B", To: "A", Cost: 2}, {From: "C", To: "A", Cost: 5}, {From: "C", To: "B", Cost: 10}}
			m := start(t, p)
			var loads []*load
			for _, distribution := range []string{"closest", "balanced", "multicast"} {
				loads = append(loads, newLoad(t, m, distribution+"/load", "B", "C"))
			}
			time.Sleep(500 * time.Millisecond)
			for _, l := range loads {
				l.mark()
			}
			begin := time.Now()
			loss.lose(m)
			time.Sleep(loss.within + time.Duration(sized(5000, 1500))*time.Millisecond)
			for _, l := range loads {
				l.gone(t, loss.name, time.Since(begin), loss.within)
			}
			loss.mend(m)
			settled(t, m)
			for _, l := range loads {
				l.account(t, loss.name)
			}
			afterwards(t, m)
		})
	}
}

// A load sends numbered messages from A at a steady rate to receivers elsewhere.
type load struct {
	address string
	sent    atomic.Int64
	out     *raw.Sender
	stop    chan struct{}
	done    sync.WaitGroup
	ins     []*raw.Receiver
	ledgers []*raw.Ledger
	yes     raw.Ledger // accepted, as the sender is told

	mu       sync.Mutex
	last     time.Time     // arrival
	gap      time.Duration // the longest time without an arrival since mark
	arrivals int           // since mark
}

func newLoad(t *testing.T, m *harness.Mesh, address string, at ...string) *load {
	t.Helper()
	l := &load{address: address, stop: make(chan struct{})}
	for _, name := range at {
		ledger := &raw.Ledger{}
		l.ledgers = append(l.ledgers, ledger)
		l.ins = append(l.ins, receiver(t, session(t, m.Addr(name)), address, raw.ReceiverOptions{Credit: 1000, Frame: func(f *raw.Frame) {
			ledger.Frame(f)
			l.arrived()
		}}))
	}
	known(t, m, m.Names()...)
	l.out = sender(t, session(t, m.Addr("A")), address, raw.SenderOptions{Outcome: accepted(&l.yes)})
	l.done.Go(func() {
		const batch, every = 10, 5 * time.Millisecond
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := uint64(0); ; {
			for range batch {
				if err := l.out.Send(raw.Numbered(nil, small, n), false); err != nil {
					t.Errorf("%s: %v", address, err)
					return
				}
				n++
				l.sent.Store(int64(n))
			}
			select {
			case <-l.stop:
				return
			case <-tick.C:
			}
		}
	})
	return l
}

func (l *load) arrived() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.gap = max(l.gap, now.Sub(l.last))
	l.last = now
	l.arrivals++
}

// mark begins the measurement of gaps.
func (l *load) mark() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.gap, l.arrivals = time.Now(), 0, 0
}

// gone wants messages to have gone on within a time.
func (l *load) gone(t *testing.T, loss string, after, within time.Duration) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	gap := max(l.gap, time.Since(l.last))
	report(t, "%s, %s: longest pause %v, %d arrivals in %v", loss, l.address, ms(gap), l.arrivals, ms(after))
	// Half a second is for the machine.
	if gap > within+500*time.Millisecond {
		t.Errorf("%s, %s: nothing came for %v", loss, l.address, ms(gap))
	}
}

// account ends the load and wants each message to have one outcome, and those
// that were accepted to have arrived.
func (l *load) account(t *testing.T, loss string) {
	t.Helper()
	close(l.stop)
	l.done.Wait()
	n := int(l.sent.Load())
	must(t, l.out.WaitSettled(n))
	r := l.out.Result()
	quiet(l.ins...)
	if lost := l.yes.Missing(l.ledgers...); len(lost) > 0 {
		t.Errorf("%s, %s: %d messages were accepted and did not arrive: %v…", loss, l.address, len(lost), lost[:min(len(lost), 10)])
	}
	again, copies := 0, 0
	for _, ledger := range l.ledgers {
		different, twice := ledger.Len()
		again += twice
		copies += different
	}
	report(t, "%s, %s: %d sent: %d accepted, %d modified, %d released, %d rejected; %d copies arrived, %d more than once at a receiver",
		loss, l.address, n, r.Accepted, r.Modified, r.Released, r.Rejected, copies, again)
	if r.Twice != 0 || r.Accepted+r.Modified+r.Released+r.Rejected != n || r.Rejected != 0 {
		t.Errorf("%s, %s: outcomes %+v of %d", loss, l.address, r, n)
	}
	// What was under way at the moment of the loss may be doubled, by copies on
	// the old and the new path, and no more.
	if again > 1000 {
		t.Errorf("%s, %s: %d messages came more than once", loss, l.address, again)
	}
}

// afterwards wants all to be as before: exactly once for everybody.
func afterwards(t *testing.T, m *harness.Mesh) {
	t.Helper()
	once(t, m, 200)
	for _, address := range []string{"closest/after", "balanced/after"} {
		var ledgers []*raw.Ledger
		for _, name := range []string{"B", "C"} {
			_, l := accepting(t, session(t, m.Addr(name)), address, 100)
			ledgers = append(ledgers, l)
		}
		known(t, m, m.Names()...)
		out := sender(t, session(t, m.Addr("A")), address, raw.SenderOptions{})
		for i := range 500 {
			must(t, out.Send(raw.Numbered(nil, small, uint64(i)), false))
		}
		must(t, out.WaitSettled(500))
		b, bAgain := ledgers[0].Len()
		c, cAgain := ledgers[1].Len()
		if r := out.Result(); r.Accepted != 500 || b+c != 500 || bAgain+cAgain != 0 {
			t.Errorf("%s: %+v, %d at B and %d at C", address, r, b, c)
		}
	}
}
