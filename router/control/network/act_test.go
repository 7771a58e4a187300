package network

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/router/address"
	"sluice/router/control/mesh"
	"sluice/router/forward"
	"sluice/router/table"
)

// News are in force here before others hear of them; what others hear, and
// refusals among it, keeps its order: a HELLO that shows a duplicate id goes out
// before the connection is closed.
func TestAct_NewsBeforeMessages(t *testing.T) {
	routes := &mesh.Routes{}
	add, remove := mesh.RemoteAdd{Router: "B", Key: "M0q"}, mesh.RemoteRemove{Router: "C", Key: "M0q"}
	hello, flood := mesh.Send{Link: 1}, mesh.Send{Link: 2}
	refuse := mesh.Refuse{Link: 1, Error: amqp.Errorf(amqp.CondNotAllowed, "no")}
	notice := mesh.Notice{Kind: mesh.NoticeDuplicate}
	known, told := sorted([]mesh.Output{hello, flood, add, notice, refuse, routes, remove})
	if want := []mesh.Output{add, routes, remove}; !slices.Equal(known, want) {
		t.Errorf("known first: %v", known)
	}
	if want := []mesh.Output{hello, flood, notice, refuse}; !slices.Equal(told, want) {
		t.Errorf("told then: %v", told)
	}
}

// network returns a Network with addresses at router B, which the routes that
// follow know as a neighbour at some cost.
func testNetwork(t testing.TB, addresses int) (n *Network, routes func(cost int64) *mesh.Routes) {
	n, err := New(Config{
		Engine:    mesh.Config{ID: "A", Instance: 1},
		Table:     table.New(func(address.Address) forward.Treatment { return forward.Treatment{} }),
		Treatment: func(address.Address) (forward.Treatment, bool) { return forward.Treatment{}, false },
		Log:       zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Leave)
	engine := func(cost int) *mesh.Engine {
		now := time.Unix(1_800_000_000, 0)
		e, err := mesh.New(mesh.Config{ID: "A", Instance: 1}, now)
		if err != nil {
			t.Fatal(err)
		}
		e.Step(now, mesh.LinkUp{Link: 1, Cost: cost})
		e.Step(now, mesh.Received{Link: 1, Message: mesh.NewMessage("B", "amqp:/_local/qdhello", &mesh.Hello{ID: "B", Instance: 1, Seen: []string{"A"}})})
		e.Tick(now.Add(time.Second))
		return e
	}
	routes = func(cost int64) (r *mesh.Routes) {
		for _, o := range engine(int(cost)).Ready() {
			if o, ok := o.(*mesh.Routes); ok {
				r = o
			}
		}
		if r == nil || r.Lookup("B") == nil || r.Lookup("B").Cost != cost {
			t.Fatalf("routes %+v", r)
		}
		return r
	}
	n.follow(routes(1))
	for i := range addresses {
		n.add(mesh.RemoteAdd{Router: "B", Key: fmt.Sprint("M0", i)})
	}
	return n, routes
}

// reached is how many addresses have a way of a cost.
func reached(n *Network, cost uint32) (count int) {
	for _, r := range n.reach {
		for _, w := range r.ways {
			if w.cost == cost {
				count++
			}
		}
	}
	return count
}

// Many addresses are brought up to date a part at a time; others are told only
// when all are, or after a second.
func TestAct_ManyAddresses(t *testing.T) {
	const rounds = 4
	n, routes := testNetwork(t, rounds*applyAtOnce-1) // and router B itself
	now := time.Unix(1_800_000_000, 0)
	told := func() { n.told = append(n.told, mesh.Notice{Kind: mesh.NoticeDuplicate}) }
	told()
	for i := range rounds {
		if len(n.told) == 0 {
			t.Fatalf("told after %d parts", i)
		}
		if n.act(now); reached(n, 1) != (i+1)*applyAtOnce {
			t.Fatalf("%d addresses after %d parts", reached(n, 1), i+1)
		}
		now = now.Add(hold / rounds / 2)
	}
	if len(n.told) != 0 || len(n.dirty)+len(n.fresh) != 0 || !n.held.IsZero() {
		t.Fatalf("%d not told, %d not applied", len(n.told), len(n.dirty)+len(n.fresh))
	}
	told()
	n.follow(routes(2))
	n.act(now)
	if len(n.told) == 0 || reached(n, 2) != applyAtOnce {
		t.Errorf("%d of other cost", reached(n, 2))
	}
	n.act(now.Add(hold))
	if len(n.told) != 0 || reached(n, 2) != 2*applyAtOnce {
		t.Errorf("%d not told after a second", len(n.told))
	}
}

// Addresses to which the way is as before are left alone.
func TestFollow_OnlyWhatHasChanged(t *testing.T) {
	n, routes := testNetwork(t, 10)
	n.act(time.Time{})
	n.follow(routes(1))
	delete(n.dirty, address.Address{Class: address.Router, Text: "B"}.Key()) // is always looked at
	if len(n.dirty) != 0 {
		t.Errorf("%d addresses are to be changed", len(n.dirty))
	}
	n.follow(routes(3))
	if len(n.dirty) != 11 {
		t.Errorf("%d addresses are to be changed", len(n.dirty))
	}
}

// The engine hears of many addresses of this router a part at a time.
func TestTake_ManyNear(t *testing.T) {
	n, _ := testNetwork(t, 0)
	for i := range 2*takeNear + 1 {
		n.near[fmt.Sprint("M0", i)] = nearness{has: true}
	}
	for want := 2; want >= 0; want-- {
		n.take(time.Unix(1_800_000_000, 0))
		if got := len(n.backlog.near); got != max(0, want*takeNear-takeNear+1) && want > 0 || want == 0 && got != 0 {
			t.Errorf("%d are left", got)
		}
		select {
		case <-n.wake:
			if want == 0 {
				t.Error("wants to run again")
			}
		default:
			if want > 0 {
				t.Error("does not want to run again")
			}
		}
	}
}

// What new paths cost with many addresses.
func BenchmarkFollow(b *testing.B) {
	const addresses = 100_000
	n, routes := testNetwork(b, addresses)
	other := []*mesh.Routes{routes(1), routes(2)}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		n.follow(other[i%2])
		for len(n.dirty) > 0 {
			n.applied()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(i*addresses), "ns/address")
}
