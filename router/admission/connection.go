package admission

import (
	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/edges"
	"sluice/router/forward"
	"sluice/router/trunk"
	"sluice/router/uplink"
)

// A Connection answers for one connection. It implements transport.Handler and
// is guarded like the transport.Conn.
type Connection struct {
	router *Router
	limits links.Limits
	class  links.Class // of its links
	log    zerolog.Logger

	// User is who the peer has proved to be, "anonymous" if it proved nothing.
	User      string
	Mechanism string
	// Container is the peer's container-id.
	Container string
	misled    bool // it has asked for links that its listener does not have

	// Trunk is set where the peer is another router.
	Trunk *trunk.Trunk
	// Uplink is set where this is an edge router and the peer an interior one;
	// Edge where it is the other way round.
	Uplink *uplink.Uplink
	Edge   *edges.Edge

	// In and Out are what links have carried, by the direction of their messages,
	// that have gone.
	In, Out links.Totals

	onOpen   func(*Connection)
	onClosed func(*transport.CloseCause)
}

// NewConnection returns the handler of a connection. The callbacks may be nil.
func NewConnection(rt *Router, limits links.Limits, log zerolog.Logger, onOpen func(*Connection), onClosed func(*transport.CloseCause)) *Connection {
	return &Connection{router: rt, limits: limits, log: log, User: anonymousUser, onOpen: onOpen, onClosed: onClosed}
}

const anonymousUser = "anonymous"

// Authenticated implements transport.Handler.
func (c *Connection) Authenticated(_ *transport.Conn, user, mechanism string) {
	if user != "" {
		c.User = user
	}
	c.Mechanism = mechanism
}

// Opened implements transport.Handler.
func (c *Connection) Opened(conn *transport.Conn, open *frames.Open) *amqp.Error {
	c.Container = open.ContainerID
	if c.onOpen != nil {
		c.onOpen(c)
	}
	if c.Trunk != nil {
		c.Trunk.Transit = forward.Anonymous{Lookup: c.router.lookup, Stats: &c.router.Table.Past}
		if err := c.Trunk.Start(conn, open); err != nil {
			return amqp.Errorf(amqp.CondResourceLimitExceeded, "the links between routers cannot be attached: %v", err)
		}
	}
	if c.Uplink != nil {
		c.Uplink.Down = forward.Anonymous{Lookup: c.router.lookup, Stats: &c.router.Table.Past}
		c.Uplink.Start(conn, open)
	}
	if c.Edge != nil {
		c.Edge.Up = forward.Anonymous{Lookup: c.router.lookup, Stats: &c.router.Table.Past}
		c.Edge.Start(conn, open)
		c.limits, c.class = c.Edge.Limits, links.EdgeUplink
	}
	return nil
}

// Closed implements transport.Handler.
func (c *Connection) Closed(_ *transport.Conn, cause *transport.CloseCause) {
	if c.Trunk != nil {
		c.Trunk.Close()
	}
	if c.Uplink != nil {
		c.Uplink.Close()
	}
	if c.Edge != nil {
		c.Edge.Close()
	}
	if c.onClosed != nil {
		c.onClosed(cause)
	}
}
