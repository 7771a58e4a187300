package harness

import (
	"fmt"
	"strings"
	"time"
)

// Neighbours tells, by its log, which routers a router has as neighbours now,
// by id.
func (b *Binary) Neighbours() map[string]bool {
	n := map[string]bool{}
	for line := range strings.Lines(b.Log()) {
		_, id, ok := strings.Cut(strings.TrimSpace(line), " router=")
		if !ok {
			continue
		}
		switch {
		case strings.Contains(line, "kind=neighbor-up"):
			n[firstWord(id)] = true
		case strings.Contains(line, "kind=neighbor-down"):
			delete(n, firstWord(id))
		}
	}
	return n
}

// WaitTrunks waits until both ends of every trunk between interior routers have
// each other as neighbours, and until every router is ready. It returns what is
// missing after Patience; nothing is "".
func (m *Mesh) WaitTrunks() (missing string) {
	m.t.Helper()
	Eventually(Patience, func() bool { missing = m.missing(); return missing == "" })
	return missing
}

func (m *Mesh) missing() string {
	for _, k := range m.plan.Trunks {
		from, to := m.nodes[k.From], m.nodes[k.To]
		if from.Edge || from.Binary == nil || to.Binary == nil {
			continue
		}
		if !from.Neighbours()[to.ID] || !to.Neighbours()[from.ID] {
			return fmt.Sprintf("%s and %s are no neighbours", k.From, k.To)
		}
	}
	for name, n := range m.nodes {
		if n.Binary != nil && len(n.HTTP) > 0 {
			if status, text := n.Get("/readyz"); status != 200 {
				return fmt.Sprintf("%s is not ready: %s", name, text)
			}
		}
	}
	return ""
}

// WaitNeighbour waits until a router has another one as neighbour, or has not,
// and returns how long that took.
func (m *Mesh) WaitNeighbour(name, other string, there bool) time.Duration {
	m.t.Helper()
	start := time.Now()
	id := m.nodes[other].ID
	if !Eventually(Patience, func() bool { return m.nodes[name].Neighbours()[id] == there }) {
		m.t.Fatalf("%s as neighbour of %s is %v after %v\n%s", other, name, !there, Patience, tail(m.nodes[name].Log(), 4<<10))
	}
	return time.Since(start)
}
