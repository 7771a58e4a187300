package network

import (
	"github.com/rs/zerolog"
	"maps"
	"slices"

	"sluice/amqp"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/control/mesh"
	"sluice/router/forward"
	"sluice/router/trunk"
)

// reach is a remote address: which routers have it, and what the address here
// has been told about the ways to them.
type reach struct {
	name    address.Address
	routers map[string]int // treatment by router
	address *forward.Address
	ways    map[*links.Hop]way
}

type way struct {
	cost    uint32
	origins links.Origins
}

// act does what the engine wants done. What the data plane must know is done
// first: a neighbour that has the news acts on them at once, and what it sends
// because of them must not arrive before they are in force here.
func (n *Network) act() {
	changed := false
	known, told := sorted(n.engine.Ready())
	for _, o := range known {
		switch o := o.(type) {
		case *mesh.Routes:
			n.follow(o)
			changed = true
		case mesh.RemoteAdd:
			n.add(o)
		case mesh.RemoteRemove:
			if r := n.reach[o.Key]; r != nil {
				delete(r.routers, o.Router)
				n.dirty[o.Key] = struct{}{}
			}
		}
	}
	for key := range n.dirty {
		n.apply(key)
	}
	clear(n.dirty)
	for _, o := range told {
		switch o := o.(type) {
		case mesh.Send:
			n.send(o)
		case mesh.Refuse:
			if p := n.trunks[o.Link]; p != nil {
				n.cfg.Log.Error().Uint64("conn", o.Link).Msg("neighbour refused: " + o.Error.Description)
				n.cfg.Close(p.trunk, o.Error)
			}
		case mesh.Notice:
			n.notice(o)
		}
	}
	if changed {
		n.dropHops()
	}
	n.report()
}

// sorted separates what the data plane must know from what others are told, each
// in its order.
func sorted(outputs []mesh.Output) (known, told []mesh.Output) {
	for _, o := range outputs {
		switch o.(type) {
		case *mesh.Routes, mesh.RemoteAdd, mesh.RemoteRemove:
			known = append(known, o)
		default:
			told = append(told, o)
		}
	}
	return known, told
}

func (n *Network) send(o mesh.Send) {
	p := n.trunks[o.Link]
	if p == nil {
		return
	}
	if err := p.trunk.Send(o.Message.Append(nil)); err != nil {
		p.lost++
		log := n.log("send")
		log.Warn().Err(err).Uint64("conn", o.Link).Msg("a routing message was not sent")
		return
	}
	p.sent++
}

func (n *Network) notice(o mesh.Notice) {
	log := n.log(string(o.Kind)) // peers choose the ids, and as many as they like
	level := zerolog.WarnLevel
	switch o.Kind {
	case mesh.NoticeNeighborUp, mesh.NoticeNeighborDown, mesh.NoticeRestart:
		level = zerolog.InfoLevel
	case mesh.NoticeNoPath:
		level = zerolog.DebugLevel
	}
	e := log.WithLevel(level).Str("kind", string(o.Kind))
	if o.Router != "" {
		e = e.Str("router", o.Router)
	}
	if o.Link != 0 {
		e = e.Uint64("conn", o.Link)
	}
	e.Msg(o.Text)
}

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
	for key := range n.reach {
		n.dirty[key] = struct{}{}
	}
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

// router notes that a router can be reached, or cannot any more.
func (n *Network) router(id string, there bool) {
	name := address.Address{Class: address.Router, Text: id}
	key := name.Key()
	switch r := n.reach[key]; {
	case there && r == nil:
		n.reach[key] = &reach{name: name, routers: map[string]int{id: mesh.TreatmentUnknown}, ways: map[*links.Hop]way{}}
	case there:
		r.routers[id] = mesh.TreatmentUnknown
	case r != nil:
		delete(r.routers, id)
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
		r = &reach{name: name, routers: map[string]int{}, ways: map[*links.Hop]way{}}
		n.reach[o.Key] = r
	}
	r.routers[o.Router] = o.Treatment
	n.dirty[o.Key] = struct{}{}
}

// apply brings an address up to date with where it can be reached: one
// destination for each next hop, at the cost of the nearest router behind it,
// for messages from where any of the routers behind it may be reached this way.
func (n *Network) apply(key string) {
	r := n.reach[key]
	if r == nil {
		return
	}
	wanted := make(map[*links.Hop]way, len(r.ways))
	for id := range r.routers {
		if n.routes == nil {
			break
		}
		route := n.routes.Lookup(id)
		if route == nil {
			continue
		}
		h := n.hops[route.NextHop]
		w, ok := wanted[h]
		if c := uint32(min(route.Cost, 1<<30)); !ok || c < w.cost {
			w.cost = c
		}
		w.origins = union(w.origins, route.ValidOrigins)
		wanted[h] = w
	}
	for h := range r.ways {
		if _, ok := wanted[h]; !ok {
			r.address.DropFar(h)
			delete(r.ways, h)
		}
	}
	for h, w := range wanted {
		had, ok := r.ways[h]
		if ok && had.cost == w.cost && slices.Equal(had.origins, w.origins) {
			continue
		}
		if !ok {
			// Each far destination counts as a link of the address.
			r.address = n.cfg.Table.AcquireAs(r.name, n.treatment(r))
		}
		r.address.SetFar(h, w.cost, w.origins)
		r.ways[h] = w
	}
	if len(r.routers) == 0 {
		delete(n.reach, key)
	}
}

func union(a links.Origins, b mesh.NumberSet) links.Origins {
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
		for _, id := range slices.Sorted(maps.Keys(r.routers)) {
			switch r.routers[id] {
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
		for h := range r.ways {
			r.address.DropFar(h)
		}
	}
	clear(n.reach)
}

// dropHops forgets hops that no address uses any more.
func (n *Network) dropHops() {
	for id := range n.hops {
		if n.routes.Neighbor(id) == nil {
			delete(n.hops, id)
		}
	}
}
