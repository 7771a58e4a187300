package mesh

import (
	"testing"

	"sluice/tests/harness"
)

// A router whose id another one has already is refused, both say so, and the
// rest of the network goes on. When the other has gone it is welcome.
func TestDuplicateID(t *testing.T) {
	p := distributed(harness.Triangle())
	p.Nodes = append(p.Nodes, harness.Node{Name: "other", ID: "B"})
	p.Trunks = append(p.Trunks, harness.Trunk{From: "other", To: "A"})
	m := harness.Prepare(t, p)
	for _, name := range []string{"A", "B", "C"} {
		m.Start(name)
	}
	mesh := m.Only("A", "B", "C")
	if missing := mesh.WaitTrunks(); missing != "" {
		t.Fatal(missing)
	}
	l := newLoad(t, mesh, "closest/q", "B", "C")
	l.mark()
	other := m.Start("other")
	other.WaitLog("each router needs its own", 1)
	m.Router("A").WaitLog("each router needs its own", 1)
	reachable(t, m, "A", "B", "C")
	l.gone(t, "duplicate id", 0, 0)
	l.account(t, "duplicate id")
	if n := other.Neighbours(); len(n) != 0 {
		t.Errorf("the second B has neighbours %v", n)
	}
	if n := m.Router("A").Neighbours(); n["B"] != 1 || n["C"] != 1 {
		t.Errorf("A has neighbours %v", n)
	}
	m.Router("B").Kill()
	reachable(t, m, "A", "other")
	reachable(t, m, "C", "other")
}

// Two routers with one id that meet directly refuse each other, alike.
func TestDuplicateID_Neighbours(t *testing.T) {
	p := harness.Plan{
		Nodes:  []harness.Node{{Name: "one", ID: "same"}, {Name: "two", ID: "same"}, {Name: "three"}},
		Trunks: []harness.Trunk{{From: "two", To: "one"}, {From: "three", To: "one"}},
	}
	m := harness.StartMesh(t, p)
	m.Router("one").WaitLog("each router needs its own", 1)
	m.Router("two").WaitLog("each router needs its own", 1)
	reachable(t, m, "one", "three")
	for _, name := range []string{"one", "two"} {
		if n := m.Router(name).Neighbours()["same"]; n != 0 {
			t.Errorf("%s has a neighbour with its own id", name)
		}
	}
}
