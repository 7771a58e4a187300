package manage

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/tests/harness"
)

// mirror is what a controller knows of the addresses that a router is
// configured with.
type mirror struct {
	agent    *agent
	version  string
	prefixes map[string]string // by identity
}

// sync brings the mirror up to date and returns how many rows came for that.
func (m *mirror) sync() (rows int) {
	a := m.agent
	a.t.Helper()
	a.send(map[string]any{"operation": "QUERY", "entityType": prefix + "router.config.address", "since": m.version}, map[string]any{"attributeNames": []any{"identity", "prefix", "distribution"}})
	reply, err := a.receiveMessage()
	must(a.t, err)
	if m.version = reply.ApplicationProperties["version"].(string); m.version == "" {
		a.t.Fatal("no version")
	}
	body := reply.Value.(map[string]any)
	if reply.ApplicationProperties["complete"].(bool) {
		m.prefixes = map[string]string{}
	}
	for _, r := range body["results"].([]any) {
		row := r.([]any)
		m.prefixes[row[0].(string)] = row[1].(string)
		rows++
	}
	for _, id := range body["removed"].([]any) {
		delete(m.prefixes, id.(string))
		rows++
	}
	return rows
}

// BC-95: a controller mirrors the addresses of two routers, one of which is
// restarted over and over. It reads all of them in seconds, and of what changes
// no more than that; the other router's memory does not grow.
func TestBC95_ControllersAndRestarts(t *testing.T) {
	restarts := 5
	if os.Getenv("SLUICE_FULL") != "" {
		restarts = 100
	}
	const n = 10_000
	p := harness.Pair()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "address {\n prefix: mirrored/%d\n distribution: closest\n}\n", i)
	}
	p.Entities = b.String()
	m := harness.StartMesh(t, p)
	url := func(name string) string { return "amqp://" + m.Addr(name) }
	a := &mirror{agent: dial(t, url("A"), "$management")}
	if rows := a.sync(); rows != n {
		t.Fatalf("%d addresses", rows)
	}
	var took []time.Duration
	var memory []int64
	for i := range restarts {
		if i > 0 {
			if i%2 == 0 {
				m.Router("B").Kill()
			} else {
				m.Router("B").Signal(syscall.SIGTERM)
				m.Router("B").Wait()
			}
			m.Start("B")
		}
		m.WaitNeighbour("A", "B", 1)
		began := time.Now()
		b := &mirror{agent: dial(t, url("B"), "$management")}
		if rows := b.sync(); rows != n || len(b.prefixes) != n {
			t.Fatalf("%d addresses after %d restarts", rows, i)
		}
		took = append(took, time.Since(began))
		if rows := b.sync(); rows != 0 {
			t.Errorf("%d rows of what has not changed", rows)
		}
		for _, x := range []*mirror{a, b} {
			x.agent.must("operation=CREATE, type=...router.config.address, name=one-more", map[string]any{"prefix": "one/more"})
			if rows := x.sync(); rows != 1 || len(x.prefixes) != n+1 {
				t.Errorf("%d rows for one that came", rows)
			}
			x.agent.must("operation=DELETE, type=...router.config.address, name=one-more", nil)
			if rows := x.sync(); rows != 1 || len(x.prefixes) != n {
				t.Errorf("%d rows for one that went", rows)
			}
		}
		must(t, b.agent.conn.Close())
		memory = append(memory, m.Router("A").RSS())
	}
	slices.Sort(took)
	report(t, "%d addresses of a router that has started are read in %v (median of %d), %v at worst; the other one's memory %d to %d MiB", n,
		took[len(took)/2].Round(time.Millisecond), len(took), took[len(took)-1].Round(time.Millisecond), slices.Min(memory)>>20, memory[len(memory)-1]>>20)
	if first, last := memory[min(2, len(memory)-1)], memory[len(memory)-1]; last > first+first/2 {
		t.Errorf("memory of the other router grows from %d to %d bytes", first, last)
	}
	if rows := a.agent.query("connection", "identity"); len(rows) != 2 {
		t.Errorf("the other router has %d connections, not those to the controller and to B", len(rows))
	}
}
