package network

import (
	"slices"
	"strings"

	"sluice/links"
	"sluice/router/address"
	"sluice/router/control/mesh"
	"sluice/router/forward"
)

// reach is a remote address: which routers have it, and what the address here
// has been told about the ways to them.
type reach struct {
	name    address.Address
	routers []location
	address *forward.Address
	ways    []way
}

// location is a router that has an address, and how it treats it.
type location struct {
	router    string
	treatment int
}

type way struct {
	hop     *links.Hop
	cost    uint32
	origins links.Origins
	routers []string // that have the address, behind hop
}

// set notes that a router has the address.
func (r *reach) set(router string, treatment int) {
	r.unset(router)
	r.routers = append(r.routers, location{router, treatment})
}

// unset notes that it has not.
func (r *reach) unset(router string) {
	r.routers = slices.DeleteFunc(r.routers, func(l location) bool { return l.router == router })
}

// router notes that a router can be reached, or cannot any more.
func (n *Network) router(id string, there bool) {
	name := address.Address{Class: address.Router, Text: id}
	key := name.Key()
	switch r := n.reach[key]; {
	case there && r == nil:
		n.reach[key] = &reach{name: name, routers: []location{{id, mesh.TreatmentUnknown}}}
	case there:
		r.set(id, mesh.TreatmentUnknown)
	case r != nil:
		r.unset(id)
	}
	n.dirty[key] = struct{}{}
}

// add notes that a router has an address.
func (n *Network) add(o mesh.RemoteAdd) {
	r := n.reach[o.Key]
	if r == nil {
		name, ok := address.ParseKey(o.Key)
		if !ok || name.Class != address.Mobile && name.Class != address.Edge {
			return // of a kind that is not routed here
		}
		r = &reach{name: name}
		n.reach[o.Key] = r
	}
	r.set(o.Router, o.Treatment)
	n.fresh[o.Key] = struct{}{}
}

// apply brings an address up to date with where it can be reached: one
// destination for each next hop, at the cost of the nearest router behind it,
// for messages from where any of the routers behind it may be reached this way.
func (n *Network) apply(key string) {
	r := n.reach[key]
	if r == nil {
		return
	}
	wanted := n.wanted(r)
	for _, had := range r.ways {
		if wayBy(wanted, had.hop) == nil {
			r.address.DropFar(had.hop)
		}
	}
	for _, w := range wanted {
		had := wayBy(r.ways, w.hop)
		if had != nil && had.cost == w.cost && slices.Equal(had.origins, w.origins) && slices.Equal(had.routers, w.routers) {
			continue
		}
		if had == nil {
			// Each far destination counts as a link of the address.
			r.address = n.cfg.Table.AcquireAs(r.name, n.treatment(r))
		}
		r.address.SetFar(w.hop, w.cost, w.origins, w.routers)
	}
	r.ways = wanted
	if len(r.routers) == 0 {
		delete(n.reach, key)
	}
}

// wanted are the ways to an address: one for each next hop.
func (n *Network) wanted(r *reach) (ways []way) {
	if n.routes == nil {
		return nil
	}
	for _, l := range r.routers {
		route := n.routes.Lookup(l.router)
		if route == nil {
			continue
		}
		to := way{n.hops[route.NextHop], uint32(min(route.Cost, 1<<30)), links.Origins(route.ValidOrigins), []string{l.router}}
		if w := wayBy(ways, to.hop); w != nil {
			w.cost, w.origins, w.routers = min(w.cost, to.cost), union(w.origins, to.origins), append(w.routers, l.router)
		} else {
			ways = append(ways, to)
		}
	}
	return ways
}

func wayBy(ways []way, hop *links.Hop) *way {
	for i := range ways {
		if ways[i].hop == hop {
			return &ways[i]
		}
	}
	return nil
}

func union(a, b links.Origins) links.Origins {
	out := make(links.Origins, max(len(a), len(b)))
	copy(out, a)
	for i := range b {
		out[i] |= b[i]
	}
	return out
}

// treatment is how an address is treated that this router has no configuration
// for and has not seen: as the routers say that have it.
func (n *Network) treatment(r *reach) func(address.Address) forward.Treatment {
	return func(name address.Address) forward.Treatment {
		t, explicit := n.cfg.Treatment(name)
		if explicit || name.Class != address.Mobile {
			return t
		}
		by := slices.SortedFunc(slices.Values(r.routers), func(a, b location) int { return strings.Compare(a.router, b.router) })
		for _, l := range by {
			switch l.treatment {
			case mesh.TreatmentMulticast:
				t.Distribution = forward.Multicast
				return t
			case mesh.TreatmentClosest:
				t.Distribution = forward.Closest
				return t
			case mesh.TreatmentBalanced:
				t.Distribution = forward.Balanced
				return t
			}
		}
		return t
	}
}

// Leave gives back the addresses of other routers. It is for the time after Run,
// when there are no trunks any more.
func (n *Network) Leave() {
	for _, r := range n.reach {
		for _, w := range r.ways {
			r.address.DropFar(w.hop)
		}
	}
	clear(n.reach)
}

// dropHops forgets hops that no address uses any more.
func (n *Network) dropHops() {
	for id := range n.hops {
		if n.routes.Neighbor(id) == nil { // there have been routes, or there were no hops
			delete(n.hops, id)
		}
	}
}
