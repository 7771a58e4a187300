package router

import (
	"time"

	"sluice/amqp/transport"
	"sluice/buffers"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/control/config"
	"sluice/router/control/web"
	"sluice/router/forward"
)

// snapshot adds up what connections and addresses count.
func (r *Router) snapshot() web.Snapshot {
	m := r.measuring(false)
	return m.s
}

// measure is snapshot with what single addresses, peers and classes of links
// measure.
func (r *Router) measure() web.Snapshot {
	m := r.measuring(true)
	s := &m.s
	for class := range m.classes {
		s.ByClass = append(s.ByClass, m.classes[class])
	}
	for _, p := range m.peers {
		s.ByPeer = append(s.ByPeer, *p)
	}
	s.PeersAll = m.all
	s.Totals = r.manager.totals(s)
	s.Stuck, s.LinksStuck = int(r.stuck.deliveries.Load()), int(r.stuck.links.Load())
	return *s
}

// A measuring is one time that everything is looked at: first what has gone, then
// addresses, then connections, so that what goes meanwhile is missed rather than
// counted twice.
type measuring struct {
	s       web.Snapshot
	details bool
	now     time.Time

	classes [classes]web.Class
	peers   map[peerKey]*web.Peer
	all     web.Peer
	// neighbors are what connections to other routers carry, by their ids.
	neighbors map[string]*neighbor
	links     []transport.Link // scratch
}

func (r *Router) measuring(details bool) *measuring {
	m := &measuring{details: details, now: time.Now()}
	m.s = web.Snapshot{
		ID: r.cfg.Router.ID, Mode: string(r.cfg.Router.Mode), Version: r.version,
		ConnectionsTotal: r.total.Load(),
		AttachesTotal:    r.shared.Attaches.Load(),
		RefusalsTotal:    r.shared.Refusals.Load(),
		LogLinesDropped:  r.logs.Lost(),
		ChunkBytes:       buffers.InUse(),
		PooledBytes:      buffers.Pooled(),
		BufferLimit:      buffers.Limit(),
		MemoryLimit:      buffers.Limit() * memoryShare,
		Mesh:             r.meshSnapshot(),
		Edge:             r.edgeSnapshot(),
	}
	m.stats(&r.shared.Table.Past)
	r.shared.Table.All(m.address)
	for _, c := range m.begin(r) {
		m.connection(c)
	}
	if details {
		r.mu.Lock()
		r.past.expire(m.now, func(key peerKey) bool { p := m.peers[key]; return p != nil && p.Open > 0 })
		r.mu.Unlock()
	}
	if m.s.Mesh != nil {
		for i := range m.s.Mesh.Neighbors {
			v := &m.s.Mesh.Neighbors[i]
			n := m.neighbor(v.ID)
			v.DeliveriesIn, v.BytesIn = n.in.Deliveries, n.in.Bytes
			v.DeliveriesOut, v.BytesOut = n.out.Deliveries, n.out.Bytes
			v.Queued = n.queued
		}
	}
	return m
}

// A neighbor is what the connections to another router carry.
type neighbor struct {
	carried
	queued int64 // bytes that are not written
}

func (m *measuring) neighbor(id string) *neighbor {
	n := m.neighbors[id]
	if n == nil {
		n = new(neighbor)
		m.neighbors[id] = n
	}
	return n
}

// begin returns the connections, and counts those that have ended.
func (m *measuring) begin(r *Router) []*connection {
	for class := range m.classes {
		m.classes[class].Name = links.Class(class).String()
	}
	m.peers, m.neighbors = make(map[peerKey]*web.Peer), make(map[string]*neighbor)
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*connection, 0, len(r.conns))
	for _, c := range r.conns {
		list = append(list, c)
	}
	for class, t := range r.past.classes {
		m.carried(links.Class(class), t)
	}
	m.s.ContainerIn, m.s.ContainerOut = r.past.containers.in.Deliveries, r.past.containers.out.Deliveries
	for id, t := range r.past.neighbors {
		m.neighbor(id).carried = t
	}
	m.all = r.past.all
	if m.details {
		for key, old := range r.past.peers {
			p := old.Peer
			m.peers[key] = &p
		}
	}
	return list
}

func (m *measuring) carried(class links.Class, t carried) {
	k := &m.classes[class]
	k.CarriedIn.Deliveries += t.in.Deliveries
	k.CarriedIn.Bytes += t.in.Bytes
	k.CarriedOut.Deliveries += t.out.Deliveries
	k.CarriedOut.Bytes += t.out.Bytes
}

func (m *measuring) stats(st *forward.Stats) {
	s := &m.s
	s.GateClosedTotal += st.GateClosed.Load()
	s.Ingress += st.Ingress.Load()
	s.Egress += st.Egress.Load()
	s.DroppedNoDestination += st.DroppedNoDestination.Load()
	s.DroppedTTL += st.DroppedExpired.Load()
	s.DroppedSlow += st.DroppedSlow.Load()
	s.DroppedAstray += st.DroppedAstray.Load()
	s.Redelivered += st.Redelivered.Load()
	s.Accepted += st.Accepted.Load()
	s.Rejected += st.Rejected.Load()
	s.Released += st.Released.Load()
	s.Modified += st.Modified.Load()
	s.Preset += st.Presettled.Load()
	s.TimedOut += st.TimedOut.Load()
	s.Delayed += st.Delayed.Load()
	s.VeryDelayed += st.VeryDelayed.Load()
	s.DroppedPreset += st.DroppedPresettled.Load()
}

func (m *measuring) address(a *forward.Address) {
	v := a.Measure()
	s := &m.s
	s.Addresses++
	if v.Service {
		s.Services++
	}
	s.ContentBytes += v.WaitingBytes + v.Retained
	s.Waiting += v.Waiting
	if v.Gate == links.GateFull {
		s.AddressesFull++
	}
	m.stats(&a.Stats)
	if !m.details || v.Service {
		return
	}
	name, ok := address.ParseKey(a.Key)
	s.ByAddress = append(s.ByAddress, web.Address{
		Name: name.Text, Temporary: !ok || name.Class != address.Mobile,
		In: a.Stats.Ingress.Load(), Out: a.Stats.Shown(), Dropped: a.Stats.Dropped(),
		Waiting: v.Waiting, WaitingBytes: v.WaitingBytes, Gate: int(v.Gate),
		Consumers: v.Consumers, Producers: v.Producers, NextHops: v.NextHops,
		Credit: v.Credit, Outstanding: v.Outstanding,
	})
}

func (m *measuring) connection(c *connection) {
	s := &m.s
	s.Connections++
	if c.ws {
		s.WebSockets++
	}
	one := web.Peer{Open: 1, BytesIn: c.driver.BytesIn.Load(), BytesOut: c.driver.BytesOut.Load()}
	var key peerKey
	opened := false
	var sum carried
	gone, list := c.look(m.links, func(tc *transport.Conn) {
		key, opened = c.peerKey(), c.opened
		if tc.Blocked.Load() {
			one.Blocked = 1
		}
		tc.Sessions(func(ss *transport.Session) {
			if at := links.OldestSent(ss); at != 0 {
				s.OldestUnsettled = max(s.OldestUnsettled, m.now.Sub(time.Unix(0, at)))
			}
		})
	}, func(l transport.Link) {
		one.Links++
		m.link(l, &one, &sum)
	})
	m.links = list
	sum.add(gone)
	m.carried(c.class(), gone)
	if c.role == config.RoleRouteContainer {
		s.ContainerIn += sum.in.Deliveries
		s.ContainerOut += sum.out.Deliveries
	}
	if c.trunk != nil {
		n := m.neighbor(key.container)
		n.add(sum)
		n.queued += one.OutgoingBytes
	}
	if !opened {
		return
	}
	one.DeliveriesIn, one.DeliveriesOut = sum.in.Deliveries, sum.out.Deliveries
	addPeer(&m.all, &one)
	if !m.details {
		return
	}
	p := m.peers[key]
	if p == nil {
		p = &web.Peer{Container: key.container, User: key.user, Role: key.role}
		m.peers[key] = p
	}
	addPeer(p, &one)
}

func (m *measuring) link(l transport.Link, one *web.Peer, sum *carried) {
	s := &m.s
	s.Links++
	switch l := l.(type) {
	case *links.Receiver:
		k := &m.classes[l.Info().Class]
		k.LinksIn++
		t := carried{in: web.Carried{Deliveries: l.Counters.Deliveries, Bytes: l.Counters.Bytes}}
		sum.add(t)
		m.carried(l.Info().Class, t)
		s.SessionBytes += l.Waiting()
		if l.Held() {
			s.LinksHeld++
		}
		if l.Credit() == 0 {
			s.LinksNoCredit++
		}
		s.Accepted += l.Counters.Accepted
		s.Rejected += l.Counters.Rejected
		s.Released += l.Counters.Released
		s.Modified += l.Counters.Modified
		s.Preset += l.Counters.Presettled
		s.Delayed += l.Counters.Delayed
		s.VeryDelayed += l.Counters.VeryDelayed
		s.DroppedPreset += l.Dropped()
	case *links.Sender:
		k := &m.classes[l.Info().Class]
		k.LinksOut++
		t := carried{out: web.Carried{Deliveries: l.Counters.Deliveries, Bytes: l.Counters.Bytes}}
		sum.add(t)
		m.carried(l.Info().Class, t)
		s.OutgoingBytes += l.Outgoing()
		one.OutgoingBytes += l.Outgoing()
		s.TimedOut += l.Counters.TimedOut
	}
}
