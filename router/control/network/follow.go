package network

import (
	"slices"

	"sluice/amqp"
	"sluice/links"
	"sluice/router/control/mesh"
	"sluice/router/trunk"
)

// follow takes new paths over: for the data plane at once, for each address as
// far as it is concerned.
func (n *Network) follow(r *mesh.Routes) {
	old := n.routes
	n.routes = r
	numbers := make(map[string]uint32, len(r.Routers)+1)
	numbers[mesh.NodeView(r.Self)] = mesh.SelfNumber
	for i := range r.Routers {
		numbers[mesh.NodeView(r.Routers[i].ID)] = uint32(r.Routers[i].Number)
	}
	picture := &trunk.Picture{Numbers: numbers, Radius: r.Radius, Before: map[uint32]uint32{}, Trunks: map[uint64]uint32{}}
	for i := range r.Routers {
		if o := &r.Routers[i]; o.Before >= 0 {
			picture.Before[uint32(o.Number)] = uint32(o.Before)
		}
	}
	for i := range r.Neighbors {
		for _, id := range r.Neighbors[i].Links {
			picture.Trunks[id] = uint32(r.Neighbors[i].Number)
		}
	}
	n.picture.Store(picture)
	for i := range r.Neighbors {
		nb := &r.Neighbors[i]
		h := n.hops[nb.ID]
		if h == nil {
			h = links.NewHop(nb.ID, n.cfg.Marks)
			n.hops[nb.ID] = h
		}
		var ways []*links.Way
		for _, id := range nb.Links {
			if p := n.trunks[id]; p != nil {
				ways = append(ways, p.trunk.Way())
			}
		}
		if !slices.Equal(ways, h.Ways()) {
			h.SetWays(ways)
		}
	}
	n.dropSilent(old, r)
	for id, h := range n.hops {
		if r.Neighbor(id) == nil && len(h.Ways()) > 0 {
			h.SetWays(nil)
		}
	}
	// Every router is an address, for messages to what is inside it.
	for i := range r.Routers {
		n.router(r.Routers[i].ID, true)
	}
	if old != nil {
		for i := range old.Routers {
			if id := old.Routers[i].ID; r.Lookup(id) == nil {
				n.router(id, false)
			}
		}
	}
	changed := changes(old, r)
	for key, at := range n.reach {
		if slices.ContainsFunc(at.routers, func(l location) bool { return changed[l.router] }) {
			n.dirty[key] = struct{}{}
		}
	}
}

// changes are the routers to which the way has changed.
func changes(old, r *mesh.Routes) map[string]bool {
	changed := map[string]bool{}
	for i := range r.Routers {
		now := &r.Routers[i]
		var before *mesh.Route
		if old != nil {
			before = old.Lookup(now.ID)
		}
		if before == nil || before.NextHop != now.NextHop || before.Cost != now.Cost || !slices.Equal(before.ValidOrigins, now.ValidOrigins) {
			changed[now.ID] = true
		}
	}
	if old != nil {
		for i := range old.Routers {
			if id := old.Routers[i].ID; r.Lookup(id) == nil {
				changed[id] = true
			}
		}
	}
	return changed
}

// dropSilent closes connections to neighbours that say nothing any more: what is
// on them would wait for the idle time-out, and the credit of its senders with it.
func (n *Network) dropSilent(old, r *mesh.Routes) {
	if old == nil {
		return
	}
	for i := range old.Neighbors {
		before := &old.Neighbors[i]
		var links []uint64
		if now := r.Neighbor(before.ID); now != nil {
			links = now.Links
		}
		for _, id := range before.Links {
			if p := n.trunks[id]; p != nil && !slices.Contains(links, id) {
				n.cfg.Close(p.trunk, amqp.Errorf(amqp.CondConnectionForced, "router %q has said nothing for too long", before.ID))
			}
		}
	}
}
