package mesh

import (
	"fmt"
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// A network of any shape is one router to its clients, soon after its start.
func TestTopologies_AreOneRouter(t *testing.T) {
	plans := []struct {
		name string
		plan harness.Plan
	}{
		{"pair", harness.Pair()},
		{"line", harness.Line(3)},
		{"triangle", harness.Triangle()},
		{"ring", harness.Ring(4)},
		{"full", harness.Full(6)},
	}
	for _, p := range plans {
		t.Run(p.name, func(t *testing.T) {
			m := start(t, p.plan)
			names := m.Names()
			last := names[len(names)-1]
			in := receiver(t, session(t, m.Addr(last)), "q", raw.ReceiverOptions{Credit: 100})
			out := sender(t, session(t, m.Addr(names[0])), "q", raw.SenderOptions{})
			for i := range 1000 {
				must(t, out.Send(raw.Numbered(nil, small, uint64(i)), i%2 == 0))
			}
			must(t, in.WaitMessages(1000))
			must(t, out.WaitSettled(500))
			if r := out.Result(); r.Accepted != 500 || r.Twice != 0 {
				t.Errorf("outcomes %+v", r)
			}
		})
	}
}

// A new receiver anywhere can be reached from everywhere within 200 ms, and its
// end is known as soon: credit comes and goes.
func TestNewReceiver_KnownEverywhere(t *testing.T) {
	m := start(t, harness.Ring(4))
	var came, went []float64
	sessions := map[string]*raw.Session{}
	for _, name := range m.Names() {
		sessions[name] = session(t, m.Addr(name))
	}
	for round := range 12 {
		address := fmt.Sprintf("new/%d", round)
		var outs []*raw.Sender
		for _, name := range m.Names() {
			outs = append(outs, sender(t, sessions[name], address, raw.SenderOptions{}))
		}
		at := sessions[m.Names()[round%4]]
		begin := time.Now()
		in := receiver(t, at, address, raw.ReceiverOptions{Credit: 10})
		for _, out := range outs {
			must(t, out.WaitCredit(1))
		}
		came = append(came, time.Since(begin).Seconds())
		begin = time.Now()
		must(t, in.Detach())
		for i, out := range outs {
			if !harness.Eventually(harness.Patience, func() bool { return out.Credit() == 0 }) {
				t.Fatalf("the sender at %s keeps credit for an address without receivers", m.Names()[i])
			}
		}
		went = append(went, time.Since(begin).Seconds())
	}
	report(t, "a receiver in a ring of four is known everywhere after %.0f ms, and its end after %.0f ms (medians of %d)", 1000*median(came), 1000*median(went), len(came))
	if median(came) > 0.2 || median(went) > 0.2 {
		t.Errorf("medians of %.3f and %.3f s", median(came), median(went))
	}
}

// News and messages do not overtake each other: messages that wait for a
// receiver are not released by a router on the way that has passed the news of
// one on and does not know it itself.
func TestNewReceiver_IsNotOvertaken(t *testing.T) {
	m := line(t)
	sent, in := session(t, m.Addr("A")), session(t, m.Addr("D"))
	early := session(t, m.Addr("A"))
	for round := range sized(1000, 60) {
		address := fmt.Sprintf("overtaken/%d", round)
		// It gives the sender credit and takes nothing.
		receiver(t, early, address, raw.ReceiverOptions{})
		out := sender(t, sent, address, raw.SenderOptions{})
		const n = 5
		for i := range n {
			must(t, out.Send(raw.Numbered(nil, small, uint64(i)), false))
		}
		late := receiver(t, in, address, raw.ReceiverOptions{Credit: 10})
		if err := out.WaitSettled(n); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if r := out.Result(); r.Accepted != n || late.Messages() != n {
			t.Fatalf("round %d: outcomes %+v, %d messages came", round, r, late.Messages())
		}
	}
}
