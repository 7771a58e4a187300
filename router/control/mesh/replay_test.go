package mesh

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// replay lets an engine with the given id live through what one side of a recorded connection has sent, and returns a line
// for each thing it learnt.
func replay(t *testing.T, id, stream string, cost int) (learnt []string, e *Engine) {
	now := time.Unix(1_796_013_600, 0)
	e, err := New(Config{ID: id, Instance: 1_796_013_600}, now)
	if err != nil {
		t.Fatal(err)
	}
	take := func() {
		for _, o := range e.Ready() {
			switch o.(type) {
			case RemoteAdd, RemoteRemove, RouterGone, *Routes, Refuse, Notice:
				_, text := formatOutput(o)
				if len(learnt) == 0 || learnt[len(learnt)-1] != text {
					learnt = append(learnt, text)
				}
			}
		}
	}
	e.Step(now, LinkUp{Link: 1, Cost: cost})
	for _, b := range controlMessages(t, stream) {
		m, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		e.Step(now, Received{Link: 1, Message: m})
		take()
		// The streams hold no times; at this pace no HELLO is late.
		for end := now.Add(200 * time.Millisecond); ; {
			next := e.Next()
			if next.After(end) {
				now = end
				break
			}
			now = next
			e.Tick(now)
			take()
		}
	}
	return learnt, e
}

// What the first implementation said on the wire is understood as it was meant.
func TestReplay(t *testing.T) {
	for _, c := range []struct {
		id, stream string
		cost       int
		want       []string
	}{
		{"QDR.A", "interior-pair.B-to-A.bin", 3, []string{
			"routes radius 0",
			`notice neighbor-up (QDR.B on 1): router "QDR.B" is a neighbour at cost 3`,
			"routes radius 1; neighbor QDR.B cost 3 links [1]; QDR.B #1 via QDR.B cost 3 hops 1 origins [self]",
			"add QDR.B M0golden.q treatment 3", "remove QDR.B M0golden.q",
			"add QDR.B M0mc/x treatment 1", "remove QDR.B M0mc/x",
			"add QDR.B Clr treatment 4", "add QDR.B Dlr treatment 4", "remove QDR.B Clr", "remove QDR.B Dlr",
		}},
		{"QDR.B", "interior-pair.A-to-B.bin", 3, []string{
			"routes radius 0",
			`notice neighbor-up (QDR.A on 1): router "QDR.A" is a neighbour at cost 3`,
			"routes radius 1; neighbor QDR.A cost 3 links [1]; QDR.A #1 via QDR.A cost 3 hops 1 origins [self]",
			"add QDR.A M0pre.q treatment 3", "remove QDR.A M0pre.q",
		}},
		{"QDR.C", "interior-line.B-to-C.bin", 1, []string{
			"routes radius 0",
			`notice neighbor-up (QDR.B on 1): router "QDR.B" is a neighbour at cost 1`,
			"routes radius 1; neighbor QDR.B cost 1 links [1]; QDR.B #1 via QDR.B cost 1 hops 1 origins [self]",
			"routes radius 2; neighbor QDR.B cost 1 links [1]; QDR.B #1 via QDR.B cost 1 hops 1 origins [self]; " +
				"QDR.A #2 via QDR.B cost 4 hops 2 origins [self]",
		}},
		// QDR.A is not there in this replay, so what C asks it has nowhere to go.
		{"QDR.B", "interior-line.C-to-B.bin", 1, []string{
			"routes radius 0",
			`notice neighbor-up (QDR.C on 1): router "QDR.C" is a neighbour at cost 1`,
			"routes radius 1; neighbor QDR.C cost 1 links [1]; QDR.C #1 via QDR.C cost 1 hops 1 origins [self]",
			`notice no-path (QDR.A on 1): no path for a control message to "QDR.A"`,
			"add QDR.C M0hop.q treatment 3", "remove QDR.C M0hop.q",
		}},
	} {
		got, _ := replay(t, c.id, c.stream, c.cost)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s as %s:\n  %s", c.stream, c.id, strings.Join(got, "\n  "))
		}
	}
}
