package web

import "time"

// Edge is what a router measures of its connections of role edge, at one moment.
type Edge struct {
	// Of an edge router.
	Uplink           bool // it is one
	Active           bool // it has an uplink that can be used
	Interior         string
	For              time.Duration // since the uplink was activated
	In, Out, Tracked int           // proxies: receivers, senders, and senders with a destination
	// Of an interior router.
	Edges int // edge routers that use their connection
	// Idle are connections that are there to take over.
	Idle int
}

var (
	descUplink   = gauge("edge_uplink_active", "1 when the edge router has an uplink that can be used.", "interior")
	descUplinkAt = gauge("edge_uplink_seconds", "Time since the active uplink took over.")
	descProxies  = gauge("edge_proxies", "Proxies of addresses on the active uplink: receivers (in) and senders (out).", "direction")
	descTracked  = gauge("edge_proxies_tracked", "Proxy senders whose address has a destination beyond.")
	descEdges    = gauge("edge_routers", "Edge routers that are connected to this interior router and use it.")
	descIdle     = gauge("edge_idle_connections", "Connections of role edge that are there to take over.")
)

// collect reports the connections of role edge.
func (e *Edge) collect(c *collection) {
	c.gauge(descIdle, float64(e.Idle))
	if !e.Uplink {
		c.gauge(descEdges, float64(e.Edges))
		return
	}
	active := 0.0
	if e.Active {
		active = 1
	}
	c.gauge(descUplink, active, e.Interior)
	c.gauge(descUplinkAt, e.For.Seconds())
	c.gauge(descProxies, float64(e.In), "in")
	c.gauge(descProxies, float64(e.Out), "out")
	c.gauge(descTracked, float64(e.Tracked))
}
