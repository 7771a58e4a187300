package router

import (
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/control/config"
	"sluice/router/control/logging"
	"sluice/router/control/mesh"
	"sluice/router/control/network"
	"sluice/router/forward"
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
		Treatment: func(a address.Address) (forward.Treatment, bool) { return r.treatments.Load().explicit(a) },
		Marks:     links.Limits{OutgoingHigh: farHigh, OutgoingLow: farLow},
		Close:     r.refuseNeighbour,
		Log:       r.logs.Logger(logging.RouterHello),
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
		for _, w := range nb.Ways {
			w.Trim(2)
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
