package admission

import (
	"slices"
	"strings"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/forward"
	"sluice/router/trunk"
	"sluice/router/uplink"
)

// Attach implements transport.Handler.
func (c *Connection) Attach(s *transport.Session, a *frames.Attach) (transport.Link, *frames.Attach, *amqp.Error) {
	c.router.Attaches.Add(1)
	var link transport.Link
	var reply *frames.Attach
	var refusal *amqp.Error
	mine := false
	if c.Edge != nil {
		link, reply, refusal, mine = c.Edge.Attach(a)
	}
	if kind := trunk.Capability(a); mine {
	} else if kind != "" || c.Trunk != nil {
		link, reply, refusal = c.attachRouter(a, kind)
	} else if c.Uplink != nil {
		link, reply, refusal = c.Uplink.Attach(a)
	} else if a.Role == amqp.RoleSender {
		link, reply, refusal = c.attachSender(a)
	} else {
		link, reply, refusal = c.attachReceiver(a)
	}
	if refusal != nil {
		c.router.Refusals.Add(1)
		if wrongRole(refusal.Condition) {
			if c.misled {
				return nil, nil, refusal // it asks for many links, and one line is enough
			}
			c.misled = true
		}
		log := c.log
		if t := c.router.RefusalLines; t != nil {
			log = log.Sample(t)
		}
		log.Info().Str("link", a.Name).Str("condition", string(refusal.Condition)).Msg("attach refused: " + refusal.Description)
		return nil, nil, refusal
	}
	return link, reply, nil
}

// Attached implements transport.Handler.
func (c *Connection) Attached(l transport.Link) {
	switch {
	case c.Trunk != nil:
		c.Trunk.Attached(l)
		return
	case c.Uplink != nil:
		c.Uplink.Attached(l)
		return
	case c.Edge != nil && c.Edge.Attached(l):
		return
	}
	switch l := l.(type) {
	case *links.Receiver:
		l.Begin()
		c.log.Debug().Str("link", l.Endpoint().Name()).Str("address", l.Info().Key).Msg("link attached: dir=in")
	case *links.Sender:
		l.Begin()
		c.log.Debug().Str("link", l.Endpoint().Name()).Str("address", l.Info().Key).Msg("link attached: dir=out")
	}
}

// attachRouter answers a peer that wants a link between routers.
func (c *Connection) attachRouter(a *frames.Attach, kind amqp.Symbol) (transport.Link, *frames.Attach, *amqp.Error) {
	switch {
	case c.Trunk == nil:
		return nil, nil, amqp.Errorf(condForbidden, "Connectivity to the node is forbidden: a router connects to a listener of role inter-router, and this one has another role")
	case kind == "":
		return nil, nil, amqp.Errorf(condConnectionRole, "Link attach forbidden on inter-router connection: clients, tools and edge routers need a listener of another role")
	}
	return c.Trunk.Attach(a, kind)
}

// wrongRole tells whether the condition says that the peer is at the wrong listener.
func wrongRole(c amqp.Condition) bool { return c == condForbidden || c == condConnectionRole }

// Conditions of the routers of the existing family.
const (
	condForbidden      amqp.Condition = "qd:forbidden"
	condConnectionRole amqp.Condition = "qd:connection-role"
	condNoRoute        amqp.Condition = "qd:no-route-to-dest"
)

// attachSender answers a peer that wants to send.
func (c *Connection) attachSender(a *frames.Attach) (transport.Link, *frames.Attach, *amqp.Error) {
	t := a.Target.Target
	switch {
	case a.Target.Coordinator != nil:
		return nil, nil, amqp.Errorf(amqp.CondNotImplemented, "transactions are not supported")
	case t == nil:
		return nil, nil, amqp.Errorf(amqp.CondInvalidField, "the target is missing or of a type that is not known here")
	}
	if refusal := unlike(t.Capabilities); refusal != nil {
		return nil, nil, refusal
	}
	target := *t
	target.Durable, target.Timeout, target.ExpiryPolicy, target.Capabilities = 0, 0, transport.Expiry, nil
	reply := &frames.Attach{
		SenderSettleMode:   a.SenderSettleMode,
		ReceiverSettleMode: a.ReceiverSettleMode,
		Source:             a.Source,
		Target:             messaging.TargetField{Target: &target},
		MaxMessageSize:     c.limits.MaxMessageSize,
	}
	if t.Dynamic {
		target.Address, target.HasAddress = "amqp:/"+temporary("_$temp."), true
	} else if t.Address == "" {
		info := links.Info{Class: c.class, Past: &c.In}
		return links.NewReceiver(a, c.limits, &forward.Anonymous{Lookup: c.router.place, Far: c.router.Meshed, Stats: &c.router.Table.Past}, info), reply, nil
	}
	addr, key, refusal := c.resolve(target.Address, true)
	if refusal != nil {
		return nil, nil, refusal
	}
	return links.NewReceiver(a, c.limits, addr, links.Info{Address: target.Address, Key: key, Dynamic: t.Dynamic, Class: c.class, Past: &c.In}), reply, nil
}

// attachReceiver answers a peer that wants to receive.
func (c *Connection) attachReceiver(a *frames.Attach) (transport.Link, *frames.Attach, *amqp.Error) {
	if a.Source == nil {
		return nil, nil, amqp.Errorf(amqp.CondInvalidField, "the source is missing")
	}
	if slices.Contains(a.Source.Capabilities, uplink.CapDownlink) && c.Edge == nil {
		return nil, nil, amqp.Errorf(condForbidden, "Connectivity to the node is forbidden: an edge router connects to a listener of role edge, and this one has another role")
	}
	if refusal := unlike(a.Source.Capabilities); refusal != nil {
		return nil, nil, refusal
	}
	source := *a.Source
	// What is not honoured is not claimed: the router keeps no termini, and
	// does not look into messages.
	source.Durable, source.Timeout, source.ExpiryPolicy = 0, 0, transport.Expiry
	source.Filter, source.DistributionMode, source.Capabilities = nil, "", nil
	reply := &frames.Attach{
		SenderSettleMode:        a.SenderSettleMode,
		ReceiverSettleMode:      a.ReceiverSettleMode,
		Source:                  &source,
		Target:                  a.Target,
		HasInitialDeliveryCount: true,
	}
	switch {
	case source.Dynamic:
		source.Address, source.HasAddress = c.router.dynamicSource(), true
	case source.Address == "":
		return nil, nil, amqp.Errorf(amqp.CondInvalidField, "a source needs an address, or dynamic")
	}
	addr, key, refusal := c.resolve(source.Address, false)
	if refusal != nil {
		return nil, nil, refusal
	}
	return links.NewSender(a, c.limits, addr, links.Info{Address: source.Address, Key: key, Dynamic: source.Dynamic, Class: c.class, Past: &c.Out}), reply, nil
}

// unlike refuses termini of a kind that other links have nothing in common with:
// as an ordinary link they would take the messages of others.
func unlike(capabilities []amqp.Symbol) *amqp.Error {
	for _, c := range capabilities {
		switch {
		case c == capFallback:
			return amqp.Errorf(amqp.CondNotImplemented, "fallback destinations (capability %s) are not supported", c)
		case strings.HasPrefix(string(c), string(capWaypoint)):
			return amqp.Errorf(amqp.CondNotImplemented, "waypoints (capability %s) are not supported", c)
		}
	}
	return nil
}

// Capabilities of termini, from the routers of the existing family: a receiver for
// what nobody else takes, and a link of a broker that messages pass through on
// their way, which may be followed by ".1" to ".9".
const (
	capFallback amqp.Symbol = "qd.fallback"
	capWaypoint amqp.Symbol = "qd.waypoint"
)

// managementNode is where requests to management go. Only the router's own agent
// receives there.
const managementNode = "$management"

// dynamicSource returns the full name of a new address that only this router
// has, as the routers of the existing family form it.
func (rt *Router) dynamicSource() string {
	if rt.Identity.Edge {
		return "amqp:/_edge/" + rt.Identity.ID + "/" + temporary("temp.")
	}
	return "amqp:/_topo/0/" + rt.Identity.ID + "/" + temporary("temp.")
}

// resolve returns the address for the text of a terminus, counted for a link.
// One may send to what is inside other routers, and receive from inside this one
// only.
func (c *Connection) resolve(text string, sends bool) (*forward.Address, string, *amqp.Error) {
	name := address.Parse(text, c.router.Identity)
	switch name.Class {
	case address.Mobile, address.Local:
		if name == address.Uplink && !sends {
			return nil, "", amqp.Errorf(condNoRoute, "No route to the destination node")
		}
	case address.Router, address.Edge:
		if sends && c.router.Meshed {
			break
		}
		fallthrough
	default:
		return nil, "", amqp.Errorf(condNoRoute, "No route to the destination node")
	}
	if name.Text == "" {
		return nil, "", amqp.Errorf(amqp.CondInvalidField, "the address %q names nothing", text)
	}
	if name.Text == managementNode && !sends && !c.limits.Private {
		return nil, "", amqp.Errorf(amqp.CondNotAllowed, "requests to management are for the router itself")
	}
	if name.Class == address.Mobile && c.router.Treatment(name).Distribution == forward.Unavailable {
		return nil, "", notFound()
	}
	a := c.router.Table.Acquire(name)
	return a, a.Key, nil
}
