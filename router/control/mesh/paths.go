package mesh

// A graph is the mesh as its link states tell it. Nodes are numbered in the order of their ids, byte by byte, so that
// comparing numbers is comparing ids. Edges have a direction: the cost of u to v is what u says.
type graph struct {
	ids   []string
	edges [][]edge
}

type edge struct {
	to   int32
	cost int64 // from 1
}

// A tree holds the shortest paths from one node.
type tree struct {
	cost  []int64 // -1 when there is no path
	pred  []int32 // node before; -1 for the root and where there is no path
	order []int32 // nodes with a path, in the order in which they were taken; the root is first
	heap  []visit
}

type visit struct {
	cost int64
	node int32
}

func (a visit) before(b visit) bool { return a.cost < b.cost || a.cost == b.cost && a.node < b.node }

// calculate sets t to the shortest paths from root. All routers must break ties alike, or their valid origins do not fit
// together: nodes are taken in the order of (cost, id), and the node before another changes only for a lower cost.
func (t *tree) calculate(g *graph, root int32) {
	n := len(g.ids)
	if cap(t.cost) < n {
		t.cost, t.pred, t.order = make([]int64, n), make([]int32, n), make([]int32, 0, n)
	}
	t.cost, t.pred, t.order, t.heap = t.cost[:n], t.pred[:n], t.order[:0], t.heap[:0]
	for i := range n {
		t.cost[i], t.pred[i] = -1, -1
	}
	t.cost[root] = 0
	t.push(visit{0, root})
	for len(t.heap) > 0 {
		v := t.pop()
		if v.cost != t.cost[v.node] {
			continue // a lower one was found after it had been pushed
		}
		t.order = append(t.order, v.node)
		for _, e := range g.edges[v.node] {
			cost := v.cost + e.cost
			if c := t.cost[e.to]; c < 0 || cost < c {
				t.cost[e.to], t.pred[e.to] = cost, v.node
				t.push(visit{cost, e.to})
			}
		}
	}
}

func (t *tree) push(v visit) {
	h := append(t.heap, v)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	t.heap = h
}

func (t *tree) pop() visit {
	h := t.heap
	top := h[0]
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	i := 0
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	t.heap = h
	return top
}

// A path is what a router knows of the way to another.
type path struct {
	cost    int64
	hops    int32
	nextHop int32 // the first node on the way, -1 for the root itself and where there is no path
}

// paths returns the ways along the tree, by node, and the largest number of hops.
func (t *tree) paths() (list []path, radius int) {
	list = make([]path, len(t.cost))
	for i := range list {
		list[i] = path{cost: t.cost[i], nextHop: -1}
	}
	if len(t.order) == 0 {
		return list, 0
	}
	root := t.order[0]
	for _, v := range t.order[1:] {
		before := t.pred[v]
		list[v].hops = list[before].hops + 1
		list[v].nextHop = list[before].nextHop
		if before == root {
			list[v].nextHop = v
		}
		radius = max(radius, int(list[v].hops))
	}
	return list, radius
}

// An origins finds out what may pass through a node on its way, one tree after the other.
type origins struct {
	g     graph
	self  int32
	has   []bool  // nodes with a path from self
	todo  []int32 // origins
	tree  tree
	under []bool
	edges int // of the graph
}

// newOrigins begins with a graph, which must not change any more, and the tree from self, which may.
func newOrigins(g graph, self int32, fromSelf *tree) *origins {
	o := &origins{g: g, self: self, has: make([]bool, len(g.ids)), under: make([]bool, len(g.ids))}
	for _, v := range fromSelf.order {
		o.has[v] = true
		if v != self {
			o.todo = append(o.todo, v)
		}
	}
	for _, edges := range g.edges {
		o.edges += len(edges)
	}
	return o
}

// next visits at least one origin, and more until about so many nodes and edges have been visited; it reports whether that
// were all. It calls valid for each pair of nodes such that what enters the mesh at origin may pass through self on its way
// to destination: self lies strictly between the two on the tree of origin. Both are nodes with a path from self. It calls
// before for each origin whose tree has self in it, with the node before self.
func (o *origins) next(visits int, valid, before func(origin, node int32)) (done bool) {
	for len(o.todo) > 0 && visits > 0 {
		origin := o.todo[0]
		o.todo = o.todo[1:]
		visits -= len(o.has) + o.edges
		t := &o.tree
		t.calculate(&o.g, origin)
		if v := t.pred[o.self]; v >= 0 {
			before(origin, v)
		}
		for _, v := range t.order {
			up := t.pred[v]
			o.under[v] = up >= 0 && up != origin && (up == o.self || o.under[up])
			if o.under[v] && o.has[v] {
				valid(origin, v)
			}
		}
	}
	return len(o.todo) == 0
}
