package mesh

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	engine "sluice/router/control/mesh"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// A crowd is a neighbour that tells of a large network.
type crowd struct {
	mu  sync.Mutex
	out *raw.Sender
}

func (c *crowd) tell(m *engine.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Send(m.Append(nil), true)
}

// join attaches the control links of a neighbour with this id at a router, and
// says HELLO until the end of the test.
func join(t *testing.T, addr, at, id string) *crowd {
	t.Helper()
	control := func(a *frames.Attach) {
		caps := []amqp.Symbol{"qd.router"}
		a.Source = &messaging.Source{Capabilities: caps}
		a.Target = messaging.TargetField{Target: &messaging.Target{Capabilities: caps}}
	}
	s := session(t, addr)
	receiver(t, s, "in", raw.ReceiverOptions{Credit: 1000, Attach: control})
	c := &crowd{out: sender(t, s, "out", raw.SenderOptions{Settled: true, Attach: control})}
	hello := func() error {
		return c.tell(engine.NewMessage(id, "amqp:/_local/qdhello", &engine.Hello{ID: id, Instance: 1, Seen: []string{at}}))
	}
	must(t, hello())
	stop, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-stopped })
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(500 * time.Millisecond):
				if hello() != nil {
					return
				}
			}
		}
	}()
	return c
}

// A neighbour that tells of hundreds of routers, all linked with each other, and
// of hundreds of thousands of addresses costs time and bounded memory: other
// neighbours stay, and messages go on.
func TestCrowd(t *testing.T) {
	routers, peers, owners, keys := sized(1000, 200), sized(60, 40), sized(8, 3), sized(100_000, 20_000)
	m := start(t, harness.Pair())
	in := receiver(t, session(t, m.Addr("B")), "live", raw.ReceiverOptions{Credit: 100})
	live := sender(t, session(t, m.Addr("A")), "live", raw.SenderOptions{})
	must(t, live.WaitCredit(1))
	var worst atomic.Int64
	stop, sent := make(chan struct{}), make(chan int)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				sent <- i
				return
			case <-time.After(2 * time.Millisecond):
			}
			began := time.Now()
			if live.Send(raw.Numbered(nil, small, uint64(i)), false) != nil || live.WaitSettled(i+1) != nil {
				t.Error("the live link is lost")
				sent <- i
				return
			}
			worst.Store(max(worst.Load(), int64(time.Since(began))))
		}
	}()
	c := join(t, m.Between("A"), "A", "X0001")
	if !harness.Eventually(harness.Patience, func() bool { return m.Router("A").Neighbours()["X0001"] == 1 }) {
		t.Fatal("it is no neighbour")
	}
	name := func(i int) string { return fmt.Sprintf("X%04d", (i-1+routers)%routers+1) }
	began := time.Now()
	for round := int64(1); round <= 2; round++ {
		for i := 1; i <= routers; i++ {
			u := &engine.LSU{ID: name(i), Instance: 1, LSSeq: round}
			if i == 1 {
				u.Peers = append(u.Peers, engine.Peer{ID: "A", Cost: 1})
			}
			for j := 1; j <= peers/2; j++ {
				u.Peers = append(u.Peers, engine.Peer{ID: name(i + j), Cost: int(round)}, engine.Peer{ID: name(i - j), Cost: int(round)})
			}
			must(t, c.tell(engine.NewMessage(u.ID, "amqp:/_topo/0/A/qdrouter", u)))
		}
	}
	m.Router("A").WaitMetric("sluice_mesh_routers", "all routers", func(v float64) bool { return int(v) >= routers })
	report(t, "%d routers with %d links each are known after %v", routers, peers, ms(time.Since(began)))
	began = time.Now()
	for i := 1; i <= owners; i++ {
		u := &engine.MAU{ID: name(i), MobileSeq: 1, Absolute: true}
		for k := range keys {
			u.Exist = append(u.Exist, fmt.Sprintf("M0crowd/%d/%d", i, k))
		}
		must(t, c.tell(engine.NewMessage(u.ID, "amqp:/_topo/0/A/qdrouter.ma", u)))
	}
	m.Router("A").WaitMetric("sluice_mesh_remote_addresses", "all addresses", func(v float64) bool { return int(v) >= owners*keys })
	report(t, "%d addresses are known after %v; RSS %s", owners*keys, ms(time.Since(began)), mib(m.Router("A").RSS()))
	// Each change of a link concerns all of them.
	for round := int64(3); round <= 12; round++ {
		u := &engine.LSU{ID: name(1), Instance: 1, LSSeq: round, Peers: []engine.Peer{{ID: "A", Cost: 1}, {ID: name(2), Cost: int(round)}}}
		must(t, c.tell(engine.NewMessage(u.ID, "amqp:/_topo/0/A/qdrouter", u)))
	}
	out := sender(t, session(t, m.Addr("A")), "news", raw.SenderOptions{})
	began = time.Now()
	receiver(t, session(t, m.Addr("B")), "news", raw.ReceiverOptions{Credit: 1})
	must(t, out.WaitCredit(1))
	report(t, "a new receiver meanwhile is known after %v", ms(time.Since(began)))
	close(stop)
	n := <-sent
	must(t, in.WaitMessages(n))
	report(t, "slowest of %d messages beside it: %v", n, ms(time.Duration(worst.Load())))
	for _, from := range []string{"A", "B"} {
		if c := m.Router(from).Log(); strings.Contains(c, "is a neighbour no more") {
			t.Errorf("%s has lost a neighbour", from)
		}
	}
}
