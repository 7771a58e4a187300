package mesh

import (
	"testing"
	"time"

	"sluice/amqp/messaging"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// A line of three carries small messages at no less than 70 % of one router's
// efficiency for each router, in processor time, and 50 user annotations cost no
// more than 10 %. Machines are noisy: what fails here is half of it.
func TestCost_OfAMessagePerRouter(t *testing.T) {
	m := start(t, harness.Line(3))
	annotated := &messaging.Message{MessageAnnotations: mine(53)[3:]}
	bytes := len(raw.Numbered(annotated, small, 0))
	for _, settled := range []bool{false, true} {
		short := cost{message: raw.Numbered(nil, small, 0), settled: settled}
		long := cost{message: raw.Numbered(nil, bytes-8, 0), settled: settled}
		notes := cost{message: raw.Numbered(annotated, small, 0), settled: settled}
		for range sized(9, 3) {
			for _, c := range []*cost{&short, &long, &notes} {
				c.near = append(c.near, c.measure(t, m, "A"))
				c.far = append(c.far, c.measure(t, m, "C"))
			}
		}
		one, line := median(short.near), median(short.far)/3
		report(t, "settled=%v: %.2f µs of CPU for a message of %d bytes through one router, %.2f for each of three: efficiency %.0f %%", settled, one, small, line, 100*one/line)
		report(t, "settled=%v: %.2f µs for %d bytes through one router, %.2f with 50 user annotations: %+.0f %%; across three %.2f and %.2f: %+.0f %%", settled,
			median(long.near), bytes, median(notes.near), 100*(median(notes.near)/median(long.near)-1),
			median(long.far), median(notes.far), 100*(median(notes.far)/median(long.far)-1))
		if one/line < 0.35 {
			t.Errorf("efficiency %.2f", one/line)
		}
		if median(notes.far) > 3*median(long.far) {
			t.Errorf("annotations cost %.2f µs beside %.2f", median(notes.far), median(long.far))
		}
	}
}

// cost measures processor time for messages of one kind, in µs for each.
type cost struct {
	message   []byte
	settled   bool
	near, far []float64
}

// measure sends messages from A to a receiver at another router and returns the
// processor time of all routers for one.
func (c *cost) measure(t *testing.T, m *harness.Mesh, at string) float64 {
	t.Helper()
	n := sized(300_000, 100_000)
	address := "cost." + at
	in := receiver(t, session(t, m.Addr(at)), address, raw.ReceiverOptions{Credit: 500})
	out := sender(t, session(t, m.Addr("A")), address, raw.SenderOptions{Settled: c.settled})
	send := func(k int) {
		for range k {
			must(t, out.Send(c.message, c.settled))
		}
	}
	send(1000)
	must(t, in.WaitMessages(1000))
	used := func() (sum time.Duration) {
		for _, name := range m.Names() {
			sum += m.Router(name).Spent()
		}
		return sum
	}
	before := used()
	send(n)
	must(t, in.WaitMessages(1000+n))
	if !c.settled {
		must(t, out.WaitSettled(1000+n))
	}
	spent := used() - before
	must(t, in.Detach())
	must(t, out.Detach())
	return float64(spent.Microseconds()) / float64(n)
}
