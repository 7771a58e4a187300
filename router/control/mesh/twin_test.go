package mesh

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A twin is the path calculation once more, slow and obviously right: shortest distances between all pairs by trying
// every node as a stop on the way, and the rule for ties written down as a sentence.
type twin struct {
	ids  []string  // sorted
	cost [][]int64 // of the edge from one to another; -1 without
	dist [][]int64 // of the shortest path; -1 without
	pred [][]int   // by root, then node: the node before; -1 for the root and without path
	path [][][]int // by root, then node: the nodes from root to node, both included
}

func newTwin(ids []string, cost [][]int64) *twin {
	n := len(ids)
	w := &twin{ids: ids, cost: cost}
	for i := range n {
		w.dist = append(w.dist, slices.Clone(cost[i]))
		w.dist[i][i] = 0
	}
	for stop := range n {
		for i := range n {
			for j := range n {
				a, b := w.dist[i][stop], w.dist[stop][j]
				if a >= 0 && b >= 0 && (w.dist[i][j] < 0 || a+b < w.dist[i][j]) {
					w.dist[i][j] = a + b
				}
			}
		}
	}
	for root := range n {
		pred, path := make([]int, n), make([][]int, n)
		for v := range n {
			// Of the nodes that can come before v on a shortest path, the one with the lowest (distance, id).
			pred[v] = -1
			for u := range n {
				if v == root || u == v || w.dist[root][v] < 0 || w.dist[root][u] < 0 || cost[u][v] < 0 || w.dist[root][u]+cost[u][v] != w.dist[root][v] {
					continue
				}
				if p := pred[v]; p < 0 || w.dist[root][u] < w.dist[root][p] {
					pred[v] = u
				}
			}
		}
		for v := range n {
			if w.dist[root][v] < 0 {
				continue
			}
			for u := v; u >= 0; u = pred[u] {
				path[v] = append(path[v], u)
			}
			slices.Reverse(path[v])
		}
		w.pred, w.path = append(w.pred, pred), append(w.path, path)
	}
	return w
}

// passes reports whether self lies strictly between origin and destination on the tree of origin.
func (w *twin) passes(origin, self, destination int) bool {
	i := slices.Index(w.path[origin][destination], self)
	return i > 0 && i < len(w.path[origin][destination])-1
}

// randomCosts draws a graph with few different costs, so that ties abound. Some edges are cheaper one way, or lead one
// way only.
func randomCosts(t *rapid.T, n int) [][]int64 {
	cost := make([][]int64, n)
	for i := range cost {
		cost[i] = make([]int64, n)
	}
	for i := range n {
		cost[i][i] = -1
		for j := range i {
			a := int64(rapid.IntRange(-2, 3).Draw(t, "cost"))
			b := a
			if rapid.IntRange(0, 9).Draw(t, "asymmetric") == 0 {
				b = int64(rapid.IntRange(-1, 3).Draw(t, "back"))
			}
			if a <= 0 {
				a = -1
			}
			if b <= 0 {
				b = -1
			}
			cost[i][j], cost[j][i] = a, b
		}
	}
	return cost
}

func graphOf(ids []string, cost [][]int64) *graph {
	g := &graph{ids: ids, edges: make([][]edge, len(ids))}
	for i := range ids {
		for j, c := range cost[i] {
			if c > 0 {
				g.edges[i] = append(g.edges[i], edge{int32(j), c})
			}
		}
	}
	return g
}

// Paths, hops, next hops, valid origins and the nodes before are those of the slow twin on any graph.
func TestPathsAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "nodes")
		ids := make([]string, n)
		for i := range ids {
			ids[i] = string(rune('A' + i))
		}
		cost := randomCosts(t, n)
		w := newTwin(ids, cost)
		g := graphOf(ids, cost)
		for self := range n {
			var tr tree
			tr.calculate(g, int32(self))
			ways, radius := tr.paths()
			most := 0
			for v := range n {
				want := path{cost: w.dist[self][v], nextHop: -1}
				if p := w.path[self][v]; len(p) > 1 {
					want.hops, want.nextHop = int32(len(p)-1), int32(p[1])
					most = max(most, len(p)-1)
				}
				if ways[v] != want {
					t.Fatalf("from %s to %s: %+v, want %+v", ids[self], ids[v], ways[v], want)
				}
			}
			if radius != most {
				t.Fatalf("radius of %s is %d, want %d", ids[self], radius, most)
			}
			got := map[[2]int]bool{}
			before := slices.Repeat([]int{-1}, n)
			origins := newOrigins(*g, int32(self), &tr)
			for !origins.next(1, func(o, d int32) { got[[2]int{int(o), int(d)}] = true }, func(o, v int32) { before[o] = int(v) }) {
			}
			for o := range n {
				want := -1
				if p := w.path[o][self]; len(p) > 1 && w.dist[self][o] >= 0 {
					want = p[len(p)-2]
				}
				if before[o] != want {
					t.Fatalf("what enters at %s comes to %s by node %d, want %d", ids[o], ids[self], before[o], want)
				}
				for d := range n {
					want := w.dist[self][o] >= 0 && w.dist[self][d] >= 0 && o != self && d != self && w.passes(o, self, d)
					if got[[2]int{o, d}] != want {
						t.Fatalf("%s is a valid origin for %s at %s: %t, want %t", ids[o], ids[d], ids[self], !want, want)
					}
				}
			}
		}
	})
}
