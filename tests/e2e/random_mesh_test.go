package e2e

import (
	"fmt"
	"testing"

	"sluice/router/forward"
	"sluice/tests/harness/bubble"
)

// As TestRandomTraffic, with clients on several routers whose connections break
// and come back.
func TestRandomMesh(t *testing.T) {
	randomly(t, 25, randomMesh)
}

func randomMesh(t *testing.T, d forward.Distribution, redeliver bool, seed int64) {
	// A message whose trunk breaks may have arrived all the same: with redelivery
	// it comes twice.
	w, o := newWorld(t, d, redeliver, seed)
	ids := []string{"A", "B", "C", "D"}[:2+w.rnd.Intn(3)]
	m := bubble.NewMesh(t, o, ids...)
	type edge struct {
		a, b  string
		cable *bubble.Cable
	}
	var edges []*edge
	for i := 1; i < len(ids); i++ {
		edges = append(edges, &edge{a: ids[w.rnd.Intn(i)], b: ids[i]})
	}
	for i := range ids {
		for _, b := range ids[i+1:] {
			if w.rnd.Intn(3) == 0 {
				edges = append(edges, &edge{a: ids[i], b: b}) // often parallel to another
			}
		}
	}
	for _, e := range edges {
		w.note("%s and %s are connected", e.a, e.b)
		e.cable = m.Join(e.a, e.b, 1+w.rnd.Intn(3))
	}
	m.Settle()
	some := func() *bubble.Router { return m.Router(ids[w.rnd.Intn(len(ids))]) }
	w.r = m.Router("A")
	var senders []*randomSender
	var receivers []*randomReceiver
	for i := range 3 {
		receivers = append(receivers, &randomReceiver{world: w, r: some(), name: fmt.Sprint("in", i)})
		receivers[i].connect()
	}
	m.Soon()
	for i := range 3 {
		senders = append(senders, &randomSender{world: w, r: some(), name: fmt.Sprint("out", i)})
		senders[i].connect()
	}
	for range 300 {
		switch w.rnd.Intn(24) {
		case 0, 1:
			wait(w.rnd.Intn(3))
			m.Sweep()
		case 2:
			e := edges[w.rnd.Intn(len(edges))]
			if e.cable != nil {
				w.note("%s and %s lose their connection", e.a, e.b)
				e.cable.Cut()
				e.cable = nil
			} else {
				w.note("%s and %s connect again", e.a, e.b)
				e.cable = m.Join(e.a, e.b, 1+w.rnd.Intn(3))
			}
		default:
			if w.rnd.Intn(2) == 0 {
				senders[w.rnd.Intn(3)].step()
			} else {
				receivers[w.rnd.Intn(3)].step()
			}
		}
	}
	for _, e := range edges {
		if e.cable == nil {
			e.cable = m.Join(e.a, e.b, 1)
		}
	}
	m.Settle()
	w.finish(senders, receivers, m.Sweep)
	wait(10) // links that were detached and not closed, with deliveries of senders that have gone …
	w.finish(senders, receivers, m.Sweep)
	m.Idle()
	if t.Failed() {
		w.fatal(senders[0].p, "not idle")
	}
}
