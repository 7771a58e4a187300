package router

import (
	"net"
	"time"

	"sluice/amqp"
	"sluice/amqp/driver"
	"sluice/amqp/encoding"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/admission"
	"sluice/router/control/config"
	"sluice/router/control/edge"
	"sluice/router/control/logging"
	"sluice/router/control/web"
	"sluice/router/edges"
	"sluice/router/trunk"
	"sluice/router/uplink"
)

// joinEdge prepares an edge router for its uplinks, or an interior one for edge
// routers.
func (r *Router) joinEdge() {
	log := r.logs.Logger(logging.RouterCore)
	switch r.cfg.Router.Mode {
	case config.EdgeMode:
		r.uplinks = uplink.NewShared(r.shared.Identity, r.shared.Table)
		r.agent = edge.NewAgent(r.uplinks, log)
		r.agent.Ending = func() bool { return !r.Ready() }
		r.agent.Throttle = r.logs.Throttle(logging.RouterCore, "proxy refused")
	case config.Interior:
		r.services = edge.NewServices(r.shared.Identity, r.shared.Table, r.serveService, log)
		r.edges = &edges.Edges{Table: r.shared.Table}
	}
}

// serveService runs the router's end of a connection of one of its services.
func (r *Router) serveService(c net.Conn) {
	l := links.Limits{
		Capacity:     250,
		LinkBytes:    1 << 20,
		UnboundBytes: 256 << 10,
		OutgoingHigh: 1 << 20,
		OutgoingLow:  1 << 19,
		StripIn:      true,
		Router:       "0/" + r.cfg.Router.ID,
		Private:      true,
	}
	log := r.logs.Logger(logging.Server)
	h := admission.NewConnection(r.shared, l, log, nil, nil)
	driver.New(c, nil, driver.Options{}, transport.Config{
		ContainerID:  r.cfg.Router.ID,
		MaxFrameSize: 16 << 10,
		ChannelMax:   7,
		HandleMax:    4095,
		SessionBytes: 1 << 20,
	}, h).Run()
}

// edgeOpen completes what a connection of role edge says in its open.
func (r *Router) edgeOpen(c *connection, cfg *transport.Config, limits *config.Limits) {
	if c.role != config.RoleEdge {
		return
	}
	caps := []amqp.Symbol{"ANONYMOUS-RELAY", trunk.CapStreaming}
	cfg.OfferedCapabilities, cfg.DesiredCapabilities = caps, caps
	l := linkLimits(limits, r.cfg.Router.ID)
	switch {
	case r.uplinks != nil && cfg.Client:
		c.uplink = &uplink.Uplink{Shared: r.uplinks, ID: c.id, Limits: l}
	case r.edges != nil && !cfg.Client:
		c.edge = &edges.Edge{ID: c.id, Peer: c.peer, Edges: r.edges, Limits: l}
	}
}

// edgeProperties are what open says on a connection of role edge.
func (r *Router) edgeProperties(c *connection, m encoding.Map) encoding.Map {
	if c.role != config.RoleEdge {
		return m
	}
	m = append(m, encoding.MapEntry{Key: amqp.Symbol("qd.annotations-version"), Value: int32(1)})
	if r.uplinks != nil {
		m = append(m, encoding.MapEntry{Key: uplink.PropInstance, Value: uint64(r.started.UnixNano())})
	}
	return m
}

// Edge is the state of an edge router's uplinks; nil for another.
func (r *Router) Edge() *edge.Status {
	if r.agent == nil {
		return nil
	}
	return r.agent.Status()
}

// Edges are the edge routers at an interior router; nil for another.
func (r *Router) Edges() *edges.Edges { return r.edges }

// linking says what an edge router waits for before it is part of a network.
func (r *Router) linking() string {
	s := r.Edge()
	if s == nil || s.Usable || time.Since(r.started) > joinPatience {
		return ""
	}
	for i := range r.cfg.Connectors {
		if r.cfg.Connectors[i].Role == config.RoleEdge {
			return "edge: no uplink is active"
		}
	}
	return ""
}

// sweepEdges gives up silent edge routers, and has links for streams that are not
// used any more detached.
func (r *Router) sweepEdges(now time.Time) {
	if r.edges != nil {
		r.edges.Check(now)
	}
	if now.Sub(r.edgesTrimmed) < 30*time.Second {
		return
	}
	r.edgesTrimmed = now
	if r.edges != nil {
		r.edges.Trim(2)
	}
	if r.uplinks != nil {
		for _, w := range r.uplinks.Hop.Ways() {
			w.Trim(2)
		}
	}
}

// edgeSnapshot measures the connections of role edge.
func (r *Router) edgeSnapshot() *web.Edge {
	switch {
	case r.agent != nil:
		s := r.agent.Status()
		e := &web.Edge{Uplink: true, Interior: s.Interior, Active: s.Usable, Idle: s.Idle, In: s.In, Out: s.Out, Tracked: s.Tracked}
		if s.Usable {
			e.For = time.Since(s.Since)
		}
		return e
	case r.edges != nil:
		e := new(web.Edge)
		for _, v := range r.edges.All() {
			if v.Router != "" {
				e.Edges++
			} else {
				e.Idle++
			}
		}
		return e
	}
	return nil
}
