package mesh

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// sparseGraph is a ring with three more edges for each node, of costs from 1 to 4.
func sparseGraph(n int) *graph {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	g := &graph{edges: make([][]edge, n)}
	for i := range n {
		g.ids = append(g.ids, fmt.Sprintf("R%04d", i))
	}
	connect := func(a, b int) {
		cost := int64(1 + rng.IntN(4))
		g.edges[a] = append(g.edges[a], edge{int32(b), cost})
		g.edges[b] = append(g.edges[b], edge{int32(a), cost})
	}
	for i := range n {
		connect(i, (i+1)%n)
		for range 3 {
			if j := rng.IntN(n); j != i {
				connect(i, j)
			}
		}
	}
	return g
}

// One tree, which is what a change costs before anything can be forwarded again.
func BenchmarkTree(b *testing.B) {
	for _, n := range []int{50, 500} {
		b.Run(fmt.Sprintf("routers=%d", n), func(b *testing.B) {
			g := sparseGraph(n)
			var t tree
			b.ReportAllocs()
			for b.Loop() {
				t.calculate(g, 0)
			}
		})
	}
}

// A tree for each router, for the valid origins of all.
func BenchmarkValidOrigins(b *testing.B) {
	for _, n := range []int{50, 500} {
		b.Run(fmt.Sprintf("routers=%d", n), func(b *testing.B) {
			g := sparseGraph(n)
			var t tree
			t.calculate(g, 0)
			b.ReportAllocs()
			for b.Loop() {
				newOrigins(*g, 0, &t).next(math.MaxInt, func(_, _ int32) {}, func(_, _ int32) {})
			}
		})
	}
}

// All that a changed link state costs: graph, paths, valid origins, Routes.
func BenchmarkRoutes(b *testing.B) {
	for _, n := range []int{50, 500} {
		b.Run(fmt.Sprintf("routers=%d", n), func(b *testing.B) {
			g := sparseGraph(n)
			now := time.Unix(1_800_000_000, 0)
			e, err := New(Config{ID: g.ids[0], Instance: 1}, now)
			if err != nil {
				b.Fatal(err)
			}
			for i, edge := range g.edges[0] {
				e.Step(now, LinkUp{Link: uint64(i + 1), Cost: int(edge.cost)})
				e.Step(now, Received{uint64(i + 1), NewMessage(g.ids[edge.to], helloAddress, &Hello{ID: g.ids[edge.to], Instance: 1, Seen: []string{g.ids[0]}})})
			}
			for i := 1; i < n; i++ {
				u := &LSU{ID: g.ids[i], Instance: 1, LSSeq: 1}
				for _, edge := range g.edges[i] {
					u.Peers = append(u.Peers, Peer{g.ids[edge.to], int(edge.cost)})
				}
				e.Step(now, Received{1, NewMessage(u.ID, routerAddress(g.ids[0], routingEndpoint), u)})
			}
			b.ReportAllocs()
			for b.Loop() {
				e.pathsDirty, e.pathsAt = true, now
				e.findPaths()
				e.beginRoutes().next(math.MaxInt)
			}
			if len(e.beginRoutes().routes.Routers) != n-1 {
				b.Fatal("not all have a route")
			}
		})
	}
}
