package harness

import (
	"fmt"
	"strings"
	"time"
)

// Neighbours are the routers that a router has as neighbours now, by id, with
// the number of connections to each.
func (b *Binary) Neighbours() map[string]int {
	b.t.Helper()
	return neighbours(b.Metrics())
}

func neighbours(metrics map[string]float64) map[string]int {
	n := map[string]int{}
	for name, v := range metrics {
		id, ok := strings.CutPrefix(name, `sluice_mesh_neighbor_connections{router="`)
		if id = strings.TrimSuffix(id, `"}`); ok && metrics[`sluice_mesh_neighbor_up{router="`+id+`"}`] == 1 {
			n[id] = int(v)
		}
	}
	return n
}

// WaitTrunks waits until every trunk between interior routers that run is in use
// at both ends, every interior router has a path to every other, and all are
// ready. It returns what is missing after Patience; nothing is "".
func (m *Mesh) WaitTrunks() (missing string) {
	m.t.Helper()
	Eventually(Patience, func() bool { missing = m.missing(); return missing == "" })
	return missing
}

func (m *Mesh) missing() string {
	seen := map[string]map[string]float64{}
	interior := 0
	for name, n := range m.nodes {
		if n.Binary == nil {
			continue
		}
		if status, text := n.Get("/readyz"); status != 200 {
			return fmt.Sprintf("%s is not ready: %s", name, text)
		}
		if !n.Edge {
			interior++
			seen[name] = n.Metrics()
		}
	}
	for name, metrics := range seen {
		if got := int(metrics["sluice_mesh_routers"]); got < interior-1 && len(m.Ends(name)) > 0 {
			return fmt.Sprintf("%s has a path to %d routers of %d", name, got, interior-1)
		}
		want := map[string]int{}
		for _, k := range m.plan.Trunks {
			from, to := m.nodes[k.From], m.nodes[k.To]
			switch {
			case from.Edge || from.Binary == nil || to.Binary == nil:
			case k.From == name:
				want[to.ID]++
			case k.To == name:
				want[from.ID]++
			}
		}
		got := neighbours(metrics)
		for id, n := range want {
			if got[id] != n {
				return fmt.Sprintf("%s has %d connections to %s, want %d", name, got[id], id, n)
			}
		}
	}
	return ""
}

// WaitNeighbour waits until a router has so many connections to another one as
// its neighbour, and returns how long that took.
func (m *Mesh) WaitNeighbour(name, other string, connections int) time.Duration {
	m.t.Helper()
	start := time.Now()
	id := m.nodes[other].ID
	if !Eventually(Patience, func() bool { return m.nodes[name].Neighbours()[id] == connections }) {
		m.t.Fatalf("%s has %d connections to %s after %v, want %d\n%s", name, m.nodes[name].Neighbours()[id], other, Patience, connections, tail(m.nodes[name].Log(), 4<<10))
	}
	return time.Since(start)
}

// WaitTracked waits until an edge router knows that somebody receives, beyond
// its uplink, from an address that it has a sender to.
func (m *Mesh) WaitTracked(name string) {
	m.t.Helper()
	if n := m.nodes[name]; n.Edge {
		n.WaitMetric("sluice_edge_proxies_tracked", "an address", func(v float64) bool { return v >= 1 })
	}
}
