package e2e

import (
	"fmt"
	"testing"

	"sluice/router/forward"
	"sluice/tests/harness/bubble"
)

// As TestRandomMesh, with edge routers whose uplinks break, are replaced and come
// back.
func TestRandomEdges(t *testing.T) {
	randomly(t, 25, randomEdges)
}

func randomEdges(t *testing.T, d forward.Distribution, redeliver bool, seed int64) {
	w, o := newWorld(t, d, redeliver, seed)
	m := bubble.NewMesh(t, o, "A", "B").Line()
	type uplink struct {
		edge  *bubble.Edge
		to    string
		cable *bubble.Cable
	}
	var uplinks []*uplink
	routers := []*bubble.Router{m.Router("A"), m.Router("B")}
	var edges []*bubble.Edge
	for i, id := range []string{"E", "F"} {
		e := m.AddEdge(o, id)
		edges = append(edges, e)
		routers = append(routers, e.Router)
		uplinks = append(uplinks, &uplink{edge: e, to: []string{"A", "B"}[i]})
		if w.rnd.Intn(2) == 0 {
			uplinks = append(uplinks, &uplink{edge: e, to: []string{"A", "B"}[w.rnd.Intn(2)]})
		}
	}
	for _, u := range uplinks {
		w.note("%s connects to %s", u.edge.ID, u.to)
		u.cable = u.edge.Join(m.Router(u.to))
	}
	m.Settle()
	sweep := func() {
		m.Sweep()
		for _, e := range edges {
			e.Sweep()
		}
	}
	some := func() *bubble.Router { return routers[w.rnd.Intn(len(routers))] }
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
			sweep()
		case 2:
			u := uplinks[w.rnd.Intn(len(uplinks))]
			if u.cable != nil {
				w.note("%s loses its uplink to %s", u.edge.ID, u.to)
				u.cable.Cut()
				u.cable = nil
			} else {
				w.note("%s connects to %s again", u.edge.ID, u.to)
				u.cable = u.edge.Join(m.Router(u.to))
			}
		default:
			if w.rnd.Intn(2) == 0 {
				senders[w.rnd.Intn(3)].step()
			} else {
				receivers[w.rnd.Intn(3)].step()
			}
		}
	}
	for _, u := range uplinks {
		if u.cable == nil {
			u.cable = u.edge.Join(m.Router(u.to))
		}
	}
	m.Settle()
	w.finish(senders, receivers, sweep)
	wait(10) // links that were detached and not closed, with deliveries of senders that have gone …
	w.finish(senders, receivers, sweep)
	m.Idle()
	for _, e := range edges {
		e.Idle()
	}
	if t.Failed() {
		w.fatal(senders[0].p, "not idle")
	}
}
