package mesh

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

var probes atomic.Int64

// settled waits until the routers of a mesh have found each other: every trunk
// is in use at both ends, and an address at each router can be reached from all.
// It returns how long that took.
func settled(t testing.TB, m *harness.Mesh) time.Duration {
	t.Helper()
	start := time.Now()
	if missing := m.WaitTrunks(); missing != "" {
		t.Fatalf("after %v %s", harness.Patience, missing)
	}
	reachable(t, m, m.Names()...)
	return time.Since(start)
}

// start starts the routers of a plan and waits until they have found each other.
func start(t testing.TB, p harness.Plan) *harness.Mesh {
	t.Helper()
	began := time.Now()
	m := harness.StartMesh(t, p)
	settled(t, m)
	report(t, "%d routers and %d trunks are one network after %v", len(p.Nodes), len(p.Trunks), ms(time.Since(began)))
	return m
}

// known waits until routers know all that others knew before: news that come
// together are taken in any order, and so later news are waited for, twice.
func known(t testing.TB, m *harness.Mesh, names ...string) {
	t.Helper()
	reachable(t, m, names...)
	reachable(t, m, names...)
}

// reachable waits until an address at each of some routers can be reached from
// all of them.
func reachable(t testing.TB, m *harness.Mesh, names ...string) {
	t.Helper()
	k := probes.Add(1)
	var conns []*raw.Conn
	sessions := map[string]*raw.Session{}
	for _, name := range names {
		if sessions[name] != nil {
			continue
		}
		c := dial(t, m.Addr(name), raw.Options{})
		conns = append(conns, c)
		sessions[name] = c.MustSession()
	}
	for _, name := range names {
		receiver(t, sessions[name], fmt.Sprintf("probe/%d/%s", k, name), raw.ReceiverOptions{Credit: 1})
	}
	for _, from := range names {
		for _, to := range names {
			out := sender(t, sessions[from], fmt.Sprintf("probe/%d/%s", k, to), raw.SenderOptions{})
			if err := out.WaitCredit(1); err != nil {
				t.Fatalf("an address at %s is not reached from %s: %v", to, from, err)
			}
		}
	}
	for _, c := range conns {
		c.Close()
	}
}
