package mesh

import (
	"slices"
)

// A neighbor is a router at the end of some usable links. Several are one neighbour.
type neighbor struct {
	id    string
	cost  int // of the cheapest link
	links []*link
}

// slow reports whether the neighbour calculates paths in steps.
func (n *neighbor) slow() bool {
	return slices.ContainsFunc(n.links, func(l *link) bool { return l.slow })
}

// linksChanged brings neighbours and the own link state up to date after any change of a link.
func (e *Engine) linksChanged() {
	var list []neighbor
	for _, l := range e.order {
		if !l.usable() {
			continue
		}
		i, found := slices.BinarySearchFunc(list, l.peer, func(n neighbor, id string) int { return compareIDs(n.id, id) })
		if !found {
			list = slices.Insert(list, i, neighbor{id: l.peer, cost: l.cost})
		}
		list[i].cost = min(list[i].cost, l.cost)
		list[i].links = append(list[i].links, l)
	}
	old := e.self.neighbors
	if slices.EqualFunc(old, list, func(a, b neighbor) bool {
		return a.id == b.id && a.cost == b.cost && slices.Equal(a.links, b.links)
	}) {
		return
	}
	e.self.neighbors = list
	e.routesDirty = true

	peers := make([]Peer, len(list))
	for i, n := range list {
		peers[i] = Peer{ID: n.id, Cost: n.cost}
	}
	if slices.Equal(peers, e.self.peers) {
		return // a link more or less between the same two
	}
	for _, n := range old {
		if _, still := findNeighbor(list, n.id); !still {
			e.notice(NoticeNeighborDown, n.id, n.links[0].id, "router %q is a neighbour no more", n.id)
		}
	}
	for _, n := range list {
		if _, before := findNeighbor(old, n.id); !before {
			e.notice(NoticeNeighborUp, n.id, n.links[0].id, "router %q is a neighbour at cost %d", n.id, n.cost)
			if n.slow() {
				e.holdMobile()
			}
		}
	}
	e.self.peers = peers
	e.self.seq++
	e.pathsDirty = true
	e.topologyChanged()
	e.scheduleTell()
	for _, n := range list {
		if r := e.routers[n.id]; r != nil && !r.reachable {
			e.newcomers = append(e.newcomers, n.id)
		}
	}
}

// introduce passes the last RAs of all that can be reached on to the neighbours to which there was no path before: they,
// and those behind them, then know at once whom and what to ask for. Otherwise they would wait for the next RA of each,
// since one like the last is taken for a late copy of that at first.
func (e *Engine) introduce() {
	for _, id := range e.newcomers {
		n, still := findNeighbor(e.self.neighbors, id)
		if !still {
			continue
		}
		for _, r := range e.sorted {
			if r.reachable && r.mobile.exposed && r.advertised != nil && !r.advertised.passed(id) {
				e.send(n.links[0], r.advertised.Passed(e.cfg.ID))
			}
		}
	}
	e.newcomers = nil
}

func findNeighbor(list []neighbor, id string) (*neighbor, bool) {
	i, found := slices.BinarySearchFunc(list, id, func(n neighbor, id string) int { return compareIDs(n.id, id) })
	if !found {
		return nil, false
	}
	return &list[i], true
}

// linkTo returns the link on which the way to a router begins, or nil when there is none. Of several to the same neighbour
// it is always the same one, so that messages stay in order.
func (e *Engine) linkTo(id string) *link {
	e.findPaths()
	r := e.routers[id]
	if r == nil || !r.reachable {
		return nil
	}
	n, ok := findNeighbor(e.self.neighbors, r.nextHop)
	if !ok {
		return nil
	}
	return n.links[0]
}
