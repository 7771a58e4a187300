package router

import (
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/control/config"
	"sluice/router/control/logging"
	"sluice/router/control/mesh"
	"sluice/router/control/network"
	"sluice/router/control/web"
	"sluice/router/trunk"
)

// Marks of what an address may have under way to another router, in bytes
// without an outcome.
const (
	farHigh = 1 << 20
	farLow  = farHigh / 2
)

// joinMesh prepares an interior router for others.
func (r *Router) joinMesh() error {
	c := &r.cfg.Router
	if c.Mode != config.Interior {
		return nil
	}
	n, err := network.New(network.Config{
		Engine: mesh.Config{
			ID: c.ID,
			// In milliseconds: two lives within a second differ.
			Instance:       r.started.UnixMilli(),
			HelloInterval:  c.HelloInterval,
			HelloMaxAge:    c.HelloMaxAge,
			RAInterval:     c.RAInterval,
			RAIntervalFlux: c.RAIntervalFlux,
			RemoteLSMaxAge: c.RemoteLSMaxAge,
		},
		Table:     r.shared.Table,
		Treatment: r.treatments.explicit,
		Marks:     links.Limits{OutgoingHigh: farHigh, OutgoingLow: farLow},
		Close:     r.refuseNeighbour,
		Log:       r.logs.Logger(logging.RouterHello),
		Ending:    func() bool { return !r.Ready() },
		Throttle:  func(kind string) zerolog.Sampler { return r.logs.Throttle(logging.RouterHello, kind) },
	})
	r.network = n
	r.shared.Meshed = true
	return err
}

// refuseNeighbour closes the connection of a trunk.
func (r *Router) refuseNeighbour(t *trunk.Trunk, err *amqp.Error) {
	for _, c := range r.connections() {
		if c.id == t.ID {
			c.driver.Close(err)
		}
	}
}

// meshOpen completes what a connection of role inter-router says in its open.
func (r *Router) meshOpen(c *connection, cfg *transport.Config, limits *config.Limits) {
	if c.role != config.RoleInterRouter {
		return
	}
	caps := []amqp.Symbol{"ANONYMOUS-RELAY", trunk.CapStreaming, trunk.CapSure}
	cfg.OfferedCapabilities, cfg.DesiredCapabilities = caps, caps
	c.trunk = &trunk.Trunk{
		ID: c.id, Cost: c.cost, Network: r.network, Picture: r.network.Picture(),
		Limits: linkLimits(limits, r.cfg.Router.ID), Connects: cfg.Client,
	}
}

// routerProperties are what open says to other routers.
func (c *connection) routerProperties(m encoding.Map) encoding.Map {
	if c.cost > 1 {
		m = append(m, encoding.MapEntry{Key: amqp.Symbol("qd.inter-router-cost"), Value: int32(c.cost)})
	}
	if c.role == config.RoleInterRouter {
		m = append(m, encoding.MapEntry{Key: amqp.Symbol("qd.annotations-version"), Value: int32(1)})
	}
	return m
}

// trimStreams has links for streams that are not used any more detached.
func (r *Router) trimStreams(now time.Time) {
	if r.network == nil || now.Sub(r.trimmed) < 30*time.Second {
		return
	}
	r.trimmed = now
	for _, nb := range r.network.Status().Neighbors {
		for _, t := range nb.Trunks {
			t.Way().Trim(2)
		}
	}
}

// Network is the state of the mesh; nil for a router that is alone.
func (r *Router) Network() *network.Status {
	if r.network == nil {
		return nil
	}
	return r.network.Status()
}

// joinPatience is how long a router with connectors to others is not ready
// because nobody has answered. Whoever starts first finds nobody.
const joinPatience = 10 * time.Second

// joining says what the router waits for before it is part of the mesh.
func (r *Router) joining() string {
	n := r.Network()
	if n == nil || n.Joined || time.Since(r.started) > joinPatience {
		return ""
	}
	for i := range r.cfg.Connectors {
		if r.cfg.Connectors[i].Role == config.RoleInterRouter {
			if len(n.Neighbors) > 0 {
				return "the mesh is not joined: addresses of other routers are not known yet"
			}
			return "the mesh is not joined: no other router has answered"
		}
	}
	return ""
}

// meshSnapshot measures the mesh, but for what the connections carry.
func (r *Router) meshSnapshot() *web.Mesh {
	n := r.Network()
	if n == nil {
		return nil
	}
	m := &web.Mesh{Joined: n.Joined, Radius: n.Radius, Addresses: n.Addresses}
	now := time.Now()
	for i := range n.Routers {
		m.Routers = append(m.Routers, web.MeshRouter{ID: n.Routers[i].ID, NextHop: n.Routers[i].NextHop, Cost: n.Routers[i].Cost, Hops: n.Routers[i].Hops})
	}
	for i := range n.Neighbors {
		nb := &n.Neighbors[i]
		v := web.Neighbor{
			ID: nb.ID, Cost: nb.Cost, Connections: len(nb.Trunks), Heard: now.Sub(nb.Heard),
			Sent: nb.Sent, Received: nb.Received, Lost: nb.Lost,
		}
		for _, t := range nb.Trunks {
			all, idle := t.Way().Streams()
			v.Streams += all - idle
		}
		m.Neighbors = append(m.Neighbors, v)
	}
	return m
}
