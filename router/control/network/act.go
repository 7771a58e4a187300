package network

import (
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

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

const (
	// applyAtOnce is how many addresses are brought up to date before anything
	// else is done, in some milliseconds.
	applyAtOnce = 8192

	// hold is for how long others are not told what is not in force here yet.
	// It is reached only if what is told changes all the time.
	hold = time.Second
)

// act does what the engine wants done. What the data plane must know is done
// first: a neighbour that has the news acts on them at once, and what it sends
// because of them must not arrive before they are in force here. HELLOs do not
// wait for that.
func (n *Network) act(now time.Time) {
	known, told := sorted(n.engine.Ready())
	for _, o := range known {
		switch o := o.(type) {
		case *mesh.Routes:
			n.follow(o)
		case mesh.RemoteAdd:
			n.add(o)
		case mesh.RemoteRemove:
			if r := n.reach[o.Key]; r != nil {
				r.unset(o.Router)
				n.fresh[o.Key] = struct{}{}
			}
		}
	}
	for _, o := range told {
		if isHello(o) {
			n.send(o.(mesh.Send))
		} else {
			n.told = append(n.told, o)
		}
	}
	switch {
	case n.applied(), !n.held.IsZero() && now.Sub(n.held) >= hold:
		n.tellAll()
		n.held = time.Time{}
	case n.held.IsZero():
		n.held = now
	}
	n.report()
}

func isHello(o mesh.Output) bool {
	s, ok := o.(mesh.Send)
	if !ok {
		return false
	}
	_, ok = s.Message.Body.(*mesh.Hello)
	return ok
}

// applied brings addresses up to date and reports whether all are. Those that
// have come or gone come before those to which the way has changed.
func (n *Network) applied() bool {
	left := applyAtOnce
	for _, keys := range []map[string]struct{}{n.fresh, n.dirty} {
		for key := range keys {
			if left--; left < 0 {
				n.poke()
				return false
			}
			n.apply(key)
			delete(keys, key)
		}
	}
	n.dropHops()
	return true
}

// tellAll tells others what they have been kept waiting for.
func (n *Network) tellAll() {
	for _, o := range n.told {
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
	n.told = nil
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
	case mesh.NoticeNeighborUp, mesh.NoticeRestart:
		level = zerolog.InfoLevel
	case mesh.NoticeNeighborDown:
		if n.cfg.Ending != nil && n.cfg.Ending() {
			level = zerolog.InfoLevel
		}
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
