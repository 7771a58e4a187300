package router

import (
	"slices"
	"time"

	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/control/config"
	"sluice/router/control/web"
)

// past is what connections have carried that have ended, so that nothing that is
// counted ever falls. It is guarded by Router.mu, under which a connection is
// taken off the list, so that each counts once.
type past struct {
	all        web.Peer
	classes    [classes]carried
	containers carried            // connections of role route-container
	neighbors  map[string]carried // by their ids
	peers      map[peerKey]*pastPeer
}

// classes is the number of classes of links.
const classes = 3

// carried is what links have carried, by the direction of their messages.
type carried struct{ in, out web.Carried }

func (c *carried) add(o carried) {
	c.in.Deliveries += o.in.Deliveries
	c.in.Bytes += o.in.Bytes
	c.out.Deliveries += o.out.Deliveries
	c.out.Bytes += o.out.Bytes
}

// A peerKey is what makes connections those of one peer.
type peerKey struct{ container, user, role string }

// A pastPeer is what the connections of a peer that have ended have carried.
type pastPeer struct {
	web.Peer
	ended time.Time // the last one
}

const (
	// pastPeers is how many peers are known of whose connections have ended, and
	// pastTime for how long: as many and as long as it takes a scrape to see what
	// they did last.
	pastPeers = 1024
	// pastNeighbors is how many routers are known that have been neighbours: more
	// than there are.
	pastNeighbors = 1024
	// maxName is the most bytes of a name by which something is known.
	maxName  = 256
	pastTime = 5 * time.Minute
)

// end counts a connection that has ended. It is called with Router.mu held.
func (p *past) end(c *connection, now time.Time) {
	t := c.gone()
	p.classes[c.class()].add(t)
	if c.role == config.RoleRouteContainer {
		p.containers.add(t)
	}
	if !c.opened {
		return
	}
	key := c.peerKey()
	if n, known := p.neighbors[key.container]; c.trunk != nil && (known || len(p.neighbors) < pastNeighbors) {
		if p.neighbors == nil {
			p.neighbors = make(map[string]carried)
		}
		n.add(t)
		p.neighbors[key.container] = n
	}
	one := web.Peer{
		BytesIn: c.driver.BytesIn.Load(), BytesOut: c.driver.BytesOut.Load(),
		DeliveriesIn: t.in.Deliveries, DeliveriesOut: t.out.Deliveries,
	}
	addPeer(&p.all, &one)
	old := p.peers[key]
	if old == nil {
		if p.peers == nil {
			p.peers = make(map[peerKey]*pastPeer)
		}
		if len(p.peers) >= pastPeers {
			p.expire(now, func(peerKey) bool { return false })
		}
		old = &pastPeer{Peer: web.Peer{Container: key.container, User: key.user, Role: key.role}}
		p.peers[key] = old
	}
	old.ended = now
	addPeer(&old.Peer, &one)
}

// expire forgets peers that have been gone for long, or at least the half that
// has been gone for longest if there are too many. Those that are there, with other
// connections, are kept: what they count must not fall.
func (p *past) expire(now time.Time, there func(peerKey) bool) {
	var times []time.Time
	for key, old := range p.peers {
		if now.Sub(old.ended) > pastTime && !there(key) {
			delete(p.peers, key)
		} else {
			times = append(times, old.ended)
		}
	}
	if len(times) < pastPeers {
		return
	}
	slices.SortFunc(times, time.Time.Compare)
	for key, old := range p.peers {
		if !old.ended.After(times[pastPeers/2]) {
			delete(p.peers, key)
		}
	}
}

func addPeer(to, from *web.Peer) {
	to.Open += from.Open
	to.Links += from.Links
	to.Blocked += from.Blocked
	to.OutgoingBytes += from.OutgoingBytes
	to.BytesIn += from.BytesIn
	to.BytesOut += from.BytesOut
	to.DeliveriesIn += from.DeliveriesIn
	to.DeliveriesOut += from.DeliveriesOut
}

// peerKey is whose connection it is, which is known when it has been opened. Peers
// choose their names, and long ones are cut.
func (c *connection) peerKey() peerKey {
	cut := func(name string) string { return name[:min(len(name), maxName)] }
	container := cut(c.handler.Container)
	if !joins(c.role) { // routers are known by theirs
		container = web.ContainerLabel(container)
	}
	return peerKey{container, cut(c.handler.User), string(c.role)}
}

// class is the class of a connection's links.
func (c *connection) class() links.Class {
	switch {
	case c.trunk != nil:
		return links.RouterData
	case c.edge != nil || c.uplink != nil:
		return links.EdgeUplink
	}
	return links.Endpoint
}

// gone is what the links of a connection have carried that have gone. It is
// called under the connection's lock, or when it has ended.
func (c *connection) gone() (t carried) {
	add := func(to *web.Carried, from *links.Totals) {
		to.Deliveries += from.Deliveries.Load()
		to.Bytes += from.Bytes.Load()
	}
	add(&t.in, &c.handler.In)
	add(&t.out, &c.handler.Out)
	var w *links.Way
	switch {
	case c.trunk != nil:
		add(&t.in, &c.trunk.Past)
		w = c.trunk.Way()
	case c.uplink != nil:
		add(&t.in, &c.uplink.In)
		add(&t.out, &c.uplink.Out)
		w = c.uplink.Way()
	case c.edge != nil:
		add(&t.in, &c.edge.In)
		add(&t.out, &c.edge.Out)
		w = c.edge.Way()
	}
	if w != nil {
		add(&t.out, &w.Past)
	}
	return t
}

// linksAtOnce is how many links are looked at in one hold of their connection's
// lock: some ten microseconds.
const linksAtOnce = 256

// look calls f for each link of the connection, under the lock of that, which it
// gives up now and then. Links that go meanwhile are seen all the same, and what
// the connection's links carried that had gone before is returned, so that each
// counts once; first is called before.
func (c *connection) look(scratch []transport.Link, first func(*transport.Conn), f func(transport.Link)) (t carried, rest []transport.Link) {
	list, at := scratch[:0], 0
	some := func() {
		for n := 0; n < linksAtOnce && at < len(list); n++ {
			f(list[at])
			at++
		}
	}
	c.driver.Do(func(tc *transport.Conn) {
		first(tc)
		t = c.gone()
		tc.Sessions(func(s *transport.Session) { s.Links(func(l transport.Link) { list = append(list, l) }) })
		some()
	})
	for at < len(list) {
		c.driver.Do(func(*transport.Conn) { some() })
	}
	clear(list)
	return t, list
}
