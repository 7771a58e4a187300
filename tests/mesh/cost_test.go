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
	for _, settled := range []bool{false, true} {
		plain, annotated := cost{settled: settled}, cost{settled: settled, annotations: 50}
		for range sized(5, 3) {
			for _, c := range []*cost{&plain, &annotated} {
				c.near = append(c.near, c.measure(t, m, "A"))
				c.far = append(c.far, c.measure(t, m, "C"))
			}
		}
		one, line := median(plain.near), median(plain.far)/3
		report(t, "settled=%v: %.2f µs of CPU for a message of %d bytes through one router, %.2f for each of three: efficiency %.0f %%", settled, one, small, line, 100*one/line)
		more := median(annotated.far)/median(plain.far) - 1
		moreNear := median(annotated.near)/median(plain.near) - 1
		report(t, "settled=%v: 50 user annotations (1.2 KB) cost %.0f %% more across three routers, %.0f %% through one", settled, 100*more, 100*moreNear)
		if one/line < 0.35 {
			t.Errorf("efficiency %.2f", one/line)
		}
	}
}

// cost measures processor time for messages of one kind, in µs for each.
type cost struct {
	settled     bool
	annotations int
	near, far   []float64
}

// measure sends messages from A to a receiver at another router and returns the
// processor time of all routers for one.
func (c *cost) measure(t *testing.T, m *harness.Mesh, at string) float64 {
	t.Helper()
	n := sized(300_000, 60_000)
	address := "cost." + at
	in := receiver(t, session(t, m.Addr(at)), address, raw.ReceiverOptions{Credit: 500})
	out := sender(t, session(t, m.Addr("A")), address, raw.SenderOptions{Settled: c.settled})
	var sections *messaging.Message
	if c.annotations > 0 {
		sections = &messaging.Message{MessageAnnotations: mine(c.annotations)[3:]}
	}
	message := raw.Numbered(sections, small, 0)
	send := func(k int) {
		for range k {
			must(t, out.Send(message, c.settled))
		}
	}
	send(1000)
	must(t, in.WaitMessages(1000))
	used := func() (sum time.Duration) {
		for _, name := range m.Names() {
			sum += m.Router(name).CPU()
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
