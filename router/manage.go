package router

import (
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/amqp/driver"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/admission"
	"sluice/router/control/config"
	"sluice/router/control/logging"
	"sluice/router/control/management"
	"sluice/router/control/mesh"
	"sluice/router/control/web"
	"sluice/router/forward"
)

// manager is the router as management sees it (management.Router).
type manager struct {
	r     *Router
	agent *management.Agent

	mu       sync.Mutex // guards the fields below; connections' locks are taken under it
	known    map[transport.Link]*knownLink
	byNumber map[uint64]*knownLink
	// See shrink.Map.
	mostKnown, mostNumbered int
	numbered                uint64 // links that have been given a number
	looked                  time.Time

	topology string // as of changed
	changed  time.Time

	service struct {
		mu sync.Mutex // a leaf lock; guards the field below
		d  *driver.Driver
	}
}

// manage prepares management.
func (r *Router) manage() {
	m := &manager{r: r, known: make(map[transport.Link]*knownLink), byNumber: make(map[uint64]*knownLink)}
	m.agent = management.NewAgent(m, m.serve, r.logs.Logger(logging.Agent))
	m.agent.Throttle = r.logs.Throttle(logging.Agent, "requests to management dropped")
	r.manager = m
	if fed := r.shared.Table.Fed; fed != nil {
		// Who asks an edge router means that one.
		key := address.Parse(managementNode, r.shared.Identity).Key()
		r.shared.Table.Fed = func(a *forward.Address, has bool) {
			if a.Key != key {
				fed(a, has)
			}
		}
	}
}

// serve runs the router's end of the agent's connection. It is not among those
// with peers: nobody can close it, it does not keep a shutdown waiting, and its
// links are known to nobody else.
func (m *manager) serve(c net.Conn) {
	r := m.r
	l := links.Limits{
		// A reply that nobody reads holds no more than this, wherever it waits.
		Capacity:     16,
		LinkBytes:    256 << 10,
		UnboundBytes: 64 << 10,
		OutgoingHigh: 512 << 10,
		OutgoingLow:  256 << 10,
		StripIn:      true,
		Router:       "0/" + r.cfg.Router.ID,
		Private:      true,
	}
	h := admission.NewConnection(r.shared, l, r.logs.Logger(logging.Agent), nil, nil)
	d := driver.New(c, nil, driver.Options{}, transport.Config{
		ContainerID:  r.cfg.Router.ID,
		MaxFrameSize: 16 << 10,
		ChannelMax:   1023,
		HandleMax:    4095,
		SessionBytes: 256 << 10,
	}, h)
	m.service.mu.Lock()
	m.service.d = d
	m.service.mu.Unlock()
	d.Run()
	m.service.mu.Lock()
	m.service.d = nil
	m.service.mu.Unlock()
}

// relieve is Router.relieve for the agent's connection.
func (m *manager) relieve() {
	m.service.mu.Lock()
	d := m.service.d
	m.service.mu.Unlock()
	if d != nil {
		d.Do(relieve)
	}
}

// watch looks at the links every few seconds, so that management can say for how
// long they have been as they are.
func (m *manager) watch(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.topologyLocked(now)
	if now.Sub(m.looked) >= watchInterval {
		m.lookLocked(now)
	}
}

// topologyLocked notes when the mesh changes, and returns when it last did.
func (m *manager) topologyLocked(now time.Time) time.Time {
	n := m.r.Network()
	if n == nil {
		return time.Time{}
	}
	var b strings.Builder
	for i := range n.Routers {
		b.WriteString(n.Routers[i].ID + " " + n.Routers[i].NextHop + " " + strconv.FormatInt(n.Routers[i].Cost, 10) + "\n")
	}
	if t := b.String(); t != m.topology {
		m.topology, m.changed = t, now
	}
	return m.changed
}

// Nodes are the routers of the mesh, this one first.
func (m *manager) Nodes() []management.Node {
	n := m.r.Network()
	if n == nil {
		return nil
	}
	m.mu.Lock()
	changed := m.topologyLocked(time.Now())
	m.mu.Unlock()
	self := management.Node{ID: n.Self, Self: true, Instance: m.r.started.UnixMilli(), Neighbors: []string{}, Link: -1, Changed: changed}
	for i := range n.Neighbors {
		self.Neighbors = append(self.Neighbors, n.Neighbors[i].ID)
	}
	list := []management.Node{self}
	for i := range n.Routers {
		route := &n.Routers[i]
		node := management.Node{ID: route.ID, Link: -1, Cost: route.Cost, Index: route.Number, ValidOrigins: validOrigins(n.Routers, route), Neighbors: []string{}}
		for _, p := range route.Peers {
			node.Neighbors = append(node.Neighbors, p.ID)
		}
		if route.NextHop == route.ID {
			if len(route.Links) > 0 {
				node.Link = int(route.Links[0])
			}
		} else {
			node.NextHop = route.NextHop
		}
		list = append(list, node)
	}
	return list
}

// validOrigins are the other routers whose messages may pass here on their way.
func validOrigins(all []mesh.Route, to *mesh.Route) []string {
	list := []string{}
	for i := range all {
		if to.ValidOrigins.Has(all[i].Number) {
			list = append(list, all[i].ID)
		}
	}
	return list
}

// Self is the router entity.
func (m *manager) Self() config.Router { return m.r.cfg.Router }

// Overview is the router as a whole.
func (m *manager) Overview() management.Overview {
	r := m.r
	s := r.snapshot()
	o := management.Overview{
		Version: r.version, Started: r.started,
		Addresses: s.Addresses, Connections: s.Connections, ConnectionsTotal: s.ConnectionsTotal,
		Accepted: s.Accepted, Rejected: s.Rejected, Released: s.Released, Modified: s.Modified, Presettled: s.Preset, DroppedPresettled: s.DroppedPreset,
		IncomingBytes: s.SessionBytes, MessageBytes: s.ContentBytes, OutgoingBytes: s.OutgoingBytes, BufferBytes: s.ChunkBytes,
		ContainerIn: s.ContainerIn, ContainerOut: s.ContainerOut, Delayed: s.Delayed, VeryDelayed: s.VeryDelayed, Ingress: s.Ingress, Egress: s.Egress, MemoryUsage: virtualMemory(),
	}
	m.asEntity(&o, &s)
	o.Host, _ = os.Hostname()
	o.Managed = m.changes()
	o.Resident, o.MemoryParts = web.Resident(), make(map[string]int64)
	for _, p := range s.Memory() {
		o.MemoryParts[p.Name] = p.Bytes
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lookLocked(time.Now())
	m.countLinksLocked(&o)
	return o
}

// asEntity fills in the counts of deliveries of the network as the router entity has
// them: what comes from other routers and goes to them is transit.
func (m *manager) asEntity(o *management.Overview, s *web.Snapshot) {
	if s.Mesh != nil {
		o.Nodes = len(s.Mesh.Routers)
		for i := range s.Mesh.Neighbors {
			n := &s.Mesh.Neighbors[i]
			o.Ingress -= min(n.DeliveriesIn, o.Ingress)
			o.Egress -= min(n.DeliveriesOut, o.Egress)
			o.Transit += n.DeliveriesOut
		}
	}
	// What goes to the agent leaves the router as little as what comes from it
	// enters.
	requests, replies := m.agent.Counts()
	o.Ingress -= min(replies, o.Ingress)
	o.Egress -= min(requests, o.Egress)
}

// totals are what the router entity counts, for metrics. Links are as the last look
// has found them.
func (m *manager) totals(s *web.Snapshot) *web.Totals {
	o := management.Overview{Ingress: s.Ingress, Egress: s.Egress}
	m.asEntity(&o, s)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.countLinksLocked(&o)
	return &web.Totals{
		Connections: s.Connections, Links: s.Links, Addresses: s.Addresses, Routers: o.Nodes,
		Stuck: o.Stuck, Blocked: o.BlockedLinks,
		Presettled: s.Preset, DroppedPresettled: s.DroppedPreset,
		Accepted: s.Accepted, Released: s.Released, Rejected: s.Rejected, Modified: s.Modified,
		Ingress: o.Ingress, Egress: o.Egress, Transit: o.Transit,
		ContainerIn: s.ContainerIn, ContainerOut: s.ContainerOut,
		Delayed: s.Delayed, VeryDelayed: s.VeryDelayed,
	}
}

// countLinksLocked counts links, and what is stuck on them, as of the last look.
func (m *manager) countLinksLocked(o *management.Overview) {
	o.Links = len(m.known)
	for _, k := range m.known {
		// On the link on which it came and on that on which it went, as routers of
		// the existing family count, and thresholds of those who watch them do.
		o.Stuck += k.tally.Old
		if !k.noCredit.IsZero() && time.Since(k.noCredit) >= stuckAfter {
			o.BlockedLinks++
		}
	}
}

// virtualMemory is the size of the process in bytes, 0 where the system does not
// tell.
func virtualMemory() uint64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _, _ := strings.Cut(string(b), " ")
	n, _ := strconv.ParseUint(pages, 10, 64)
	return n * uint64(os.Getpagesize())
}
