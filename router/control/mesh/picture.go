package mesh

import (
	"slices"
	"time"
)

// pathsState is the outcome of the last path calculation.
type pathsState struct {
	graph  graph
	self   int32
	tree   tree
	radius int
}

// findPaths calculates the paths if a link state has changed since, unless it is too early for that, forgets routers that
// nothing leads to, and draws the consequences for those that have gained or lost their path.
func (e *Engine) findPaths() {
	if !e.pathsDirty || e.now.Before(e.pathsAt) {
		return
	}
	e.pathsDirty, e.routesDirty = false, true
	e.dropUnmentioned()
	p := &e.paths
	p.graph, p.self = e.buildGraph()
	e.pathsAt = e.now.Add(pathsSpacing(&p.graph))
	p.tree.calculate(&p.graph, p.self)
	ways, radius := p.tree.paths()
	p.radius = radius
	for _, r := range slices.Clone(e.sorted) {
		i, _ := slices.BinarySearch(p.graph.ids, r.id)
		w := ways[i]
		had := r.reachable
		r.reachable = w.cost >= 0
		switch {
		case r.reachable:
			r.cost, r.hops, r.nextHop = w.cost, int(w.hops), p.graph.ids[w.nextHop]
			if !had {
				e.pathFound(r)
			}
		case had:
			// Not a destination from now on, but what it has told is kept: the path may come back.
			e.hide(r)
			r.probeAt = time.Time{}
		}
	}
}

// pathFound makes r and this router learn of each other what they missed.
func (e *Engine) pathFound(r *router) {
	if !r.hasLS {
		r.lsr.news(e.now)
	}
	if r.lsr.want {
		r.lsr.due = e.now
	}
	if r.mar.want {
		r.mar.due = e.now
	}
	// Floods may arrive a little before the path is known.
	if at := r.mobile.confirmed; !at.IsZero() && e.now.Before(at.Add(e.cfg.LateCopy)) {
		e.current(r)
	} else {
		r.probeAt = e.now.Add(probeDelay)
	}
	e.advertiseAt(e.now.Add(greetDelay))
}

// dropUnmentioned removes the routers that have fallen silent and are in no link state.
func (e *Engine) dropUnmentioned() {
	mentioned := map[string]bool{}
	for _, p := range e.self.peers {
		mentioned[p.ID] = true
	}
	for _, r := range e.sorted {
		for _, p := range r.ls.peers {
			mentioned[p.ID] = true
		}
	}
	for _, r := range slices.Clone(e.sorted) {
		if r.forgotten && !mentioned[r.id] {
			e.remove(r)
		}
	}
}

// buildGraph makes a graph of all link states. A router that is mentioned but has told none is taken to have one edge of
// cost 1, back to the first router that mentions it.
func (e *Engine) buildGraph() (g graph, self int32) {
	n := len(e.sorted) + 1
	g = graph{ids: make([]string, 0, n), edges: make([][]edge, n)}
	index := make(map[string]int32, n)
	for _, r := range e.sorted {
		g.ids = append(g.ids, r.id)
	}
	at, _ := slices.BinarySearch(g.ids, e.cfg.ID)
	g.ids = slices.Insert(g.ids, at, e.cfg.ID)
	self = int32(at)
	for i, id := range g.ids {
		index[id] = int32(i)
	}
	for i, id := range g.ids {
		peers := e.self.peers
		if int32(i) != self {
			peers = e.routers[id].ls.peers
		}
		for _, p := range peers {
			to, known := index[p.ID]
			if !known || to == int32(i) {
				continue // beyond the limit, or nonsense
			}
			g.edges[i] = append(g.edges[i], edge{to, int64(p.Cost)})
		}
	}
	for i := range g.ids {
		for _, to := range g.edges[i] {
			if to.to == self || len(g.edges[to.to]) > 0 || e.routers[g.ids[to.to]].hasLS {
				continue
			}
			g.edges[to.to] = []edge{{int32(i), 1}}
		}
	}
	return g, self
}

// reachableRouters returns the routers with a path, nearest first.
func (e *Engine) reachableRouters() []*router {
	list := make([]*router, 0, len(e.paths.tree.order))
	for _, i := range e.paths.tree.order[1:] {
		list = append(list, e.routers[e.paths.graph.ids[i]])
	}
	return list
}

// calculateIfDue makes a new picture for the data plane if something has changed, but not more often than it takes, and not
// all of it at once in a large mesh.
func (e *Engine) calculateIfDue() {
	if e.building == nil {
		if e.findPaths(); e.pathsDirty || !e.routesDirty || e.now.Before(e.routesAt) {
			return
		}
		e.routesDirty = false
		e.routesAt = e.now.Add(routesSpacing(len(e.paths.tree.order)))
		e.building = e.beginRoutes()
		for i := range e.gone {
			e.gone[i].left = true
		}
	}
	if !e.building.next(originsSlice) {
		return
	}
	r := e.building.routes
	e.building = nil
	if !r.equal(e.routes) {
		e.routes = r
		e.emit(r)
	}
	// Only now is nothing in use any more that has the number.
	e.gone = slices.DeleteFunc(e.gone, func(g goneRouter) bool {
		if g.left {
			e.numbers[g.Number] = false
			e.emit(g.RouterGone)
		}
		return g.left
	})
}

// A building is Routes in the making: what is missing is what comes from others.
type building struct {
	routes  *Routes
	origins *origins
	numbers []int   // by node
	place   []int32 // by node
}

// next goes on, as far as so many visits go, and reports whether the Routes is complete.
func (b *building) next(visits int) (done bool) {
	return b.origins.next(visits, func(origin, destination int32) {
		b.routes.Routers[b.place[destination]].ValidOrigins.add(b.numbers[origin])
	}, func(origin, node int32) {
		if b.origins.has[node] {
			b.routes.Routers[b.place[origin]].Before = b.numbers[node]
		}
	})
}

func (e *Engine) beginRoutes() *building {
	p := &e.paths
	routes := &Routes{
		Self: e.cfg.ID, Radius: p.radius,
		Neighbors: make([]Neighbor, 0, len(e.self.neighbors)), Routers: make([]Route, 0, len(p.tree.order)),
		byID: make(map[string]int32, len(p.tree.order)), byNumber: make([]int32, len(e.numbers)),
	}
	for i := range routes.byNumber {
		routes.byNumber[i] = -1
	}
	links := map[string][]uint64{}
	for _, n := range e.self.neighbors {
		ids := make([]uint64, len(n.links))
		for i, l := range n.links {
			ids[i] = l.id
		}
		links[n.id] = ids
		if r := e.routers[n.id]; r != nil {
			routes.Neighbors = append(routes.Neighbors, Neighbor{ID: n.id, Number: r.number, Cost: n.cost, Links: ids})
		}
	}
	b := &building{
		routes: routes, origins: newOrigins(p.graph, p.self, &p.tree),
		numbers: make([]int, len(p.graph.ids)), place: make([]int32, len(p.graph.ids)),
	}
	for _, r := range e.reachableRouters() {
		i, _ := slices.BinarySearch(p.graph.ids, r.id)
		b.numbers[i], b.place[i] = r.number, int32(len(routes.Routers))
		routes.byID[r.id], routes.byNumber[r.number] = b.place[i], b.place[i]
		origins := newNumberSet(len(e.numbers) - 1)
		origins.add(SelfNumber)
		routes.Routers = append(routes.Routers, Route{
			ID: r.id, Number: r.number, Cost: r.cost, Hops: r.hops, NextHop: r.nextHop, Links: links[r.nextHop], Before: -1, ValidOrigins: origins,
			Peers: r.ls.peers,
		})
	}
	return b
}
