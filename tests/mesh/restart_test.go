package mesh

import (
	"fmt"
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// The middle router of a line dies and comes back, again and again, with traffic
// from end to end. Within 2 s of its start every address is reachable, and no
// router grows.
func TestBC85_RouterRestart(t *testing.T) {
	p := harness.Line(3)
	// The middle one connects to one side and is connected to from the other.
	m := start(t, p)
	const addresses = 50
	sessions := map[string]*raw.Session{}
	var ends []*raw.Ledger
	for _, name := range []string{"A", "C"} {
		sessions[name] = session(t, m.Addr(name))
		for i := range addresses {
			_, l := accepting(t, sessions[name], fmt.Sprintf("%s/%d", name, i), 100)
			ends = append(ends, l)
		}
	}
	type stream struct {
		out *raw.Sender
		yes *raw.Ledger
		n   uint64
	}
	outs := map[string][]*stream{}
	for name, far := range map[string]string{"A": "C", "C": "A"} {
		for i := range addresses {
			s := &stream{yes: &raw.Ledger{}}
			own := dial(t, m.Addr(name), raw.Options{}).MustSession()
			s.out = sender(t, own, fmt.Sprintf("%s/%d", far, i), raw.SenderOptions{Outcome: accepted(s.yes)})
			outs[name] = append(outs[name], s)
		}
	}
	send := func() {
		for _, list := range outs {
			for _, s := range list {
				must(t, s.out.WaitCredit(1))
				must(t, s.out.Send(raw.Numbered(nil, small, s.n), false))
				s.n++
			}
		}
	}
	settle := func() {
		for _, list := range outs {
			for _, s := range list {
				must(t, s.out.WaitSettled(int(s.n)))
			}
		}
	}
	send()
	settle()
	size := func(name string) (addresses, goroutines float64, rss int64) {
		v := m.Router(name).Metrics()
		return v["sluice_addresses"], v["go_goroutines"], m.Router(name).RSS()
	}
	addressesBefore, goroutinesBefore, rssBefore := size("A")
	var took []float64
	worst := time.Duration(0)
	rounds := sized(100, 10)
	for range rounds {
		send() // some are under way when it dies
		m.Router("B").Kill()
		m.Start("B")
		begin := time.Now()
		settle() // whatever became of them
		send()
		settle()
		d := time.Since(begin)
		took, worst = append(took, d.Seconds()), max(worst, d)
	}
	if worst > 2500*time.Millisecond { // half a second for the machine
		t.Errorf("all addresses are reachable only %v after a start", ms(worst))
	}
	sent, yes, arrived := 0, 0, 0
	for _, list := range outs {
		for _, s := range list {
			sent += int(s.n)
			n, _ := s.yes.Len()
			yes += n
			r := s.out.Result()
			if r.Twice != 0 || r.Accepted+r.Modified+r.Released != int(s.n) {
				t.Errorf("outcomes %+v of %d", r, s.n)
			}
		}
	}
	for _, l := range ends {
		n, _ := l.Len()
		arrived += n
	}
	harness.Eventually(5*time.Second, func() bool { a, _, _ := size("A"); return a <= addressesBefore })
	addressesAfter, goroutinesAfter, rssAfter := size("A")
	report(t, "middle router of a line killed and started %d times: %d addresses reachable after %.0f ms (median), %v at worst; %d messages sent, %d accepted, %d arrived; its neighbour has %v addresses (before %v), %v goroutines (%v), RSS %s (%s)",
		rounds, 2*addresses, 1000*median(took), ms(worst), sent, yes, arrived,
		addressesAfter, addressesBefore, goroutinesAfter, goroutinesBefore, mib(rssAfter), mib(rssBefore))
	if arrived < yes {
		t.Errorf("%d messages were accepted, %d arrived", yes, arrived)
	}
	if addressesAfter > addressesBefore || goroutinesAfter > goroutinesBefore+5 || rssAfter > rssBefore+32<<20 {
		t.Error("the neighbour has grown")
	}
}
