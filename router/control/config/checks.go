package config

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"sluice/router/control/schema"
)

// checkTogether checks what concerns several entities.
func (b *builder) checkTogether() {
	b.checkProfiles()
	b.checkRoles()
	b.checkListenAddresses()
	b.checkConnectAddresses()
	b.checkOwnDoors()
	b.checkGeneratedID()
	if len(b.config.Listeners) == 0 && len(b.config.Connectors) == 0 && len(b.mistakes) == 0 {
		b.warn(b.config.Router.Pos, "there is neither a listener nor a connector: nobody can connect")
	}
}

// checkListenAddresses reports listeners that cannot both bind.
func (b *builder) checkListenAddresses() {
	var seen []binding
	for i := range b.config.Listeners {
		l := &b.config.Listeners[i]
		own := bindingOf(l)
		if own.port == 0 {
			continue
		}
		for _, first := range seen {
			same := own.port == first.port && strings.EqualFold(own.host, first.host) && own.families == first.families
			switch {
			case same:
				b.mistake(l.Pos, "another port", "", "listener on %s was already given on %s", l.Address(), refer(l.Pos, first.pos))
			case own.takes(first) || first.takes(own):
				b.mistake(l.Pos, "another port", "", "listener on %s and that on %s, given on %s, cannot have the same port: one of them is for all addresses",
					l.Address(), first.address, refer(l.Pos, first.pos))
			default:
				continue
			}
			break
		}
		seen = append(seen, own)
	}
}

// A binding is what a listener takes of the host's ports.
type binding struct {
	pos      Position
	address  string
	host     string
	all      bool    // all addresses of the families
	families [2]bool // IPv4, IPv6
	port     int     // 0: any that is free, or not known
}

func bindingOf(l *Listener) binding {
	own := binding{pos: l.Pos, address: l.Address(), host: l.Host}
	own.port, _ = net.LookupPort("tcp", dialPort(l.Port))
	if l.Host == "localhost" && l.Family != "IPv6" {
		own.host = "127.0.0.1" // which net.Listen prefers
	}
	ip, err := netip.ParseAddr(own.host)
	own.all = own.host == "" || err == nil && ip.IsUnspecified()
	switch {
	case err == nil:
		own.families = [2]bool{ip.Is4(), ip.Is6()}
	case l.Family != "":
		own.families = [2]bool{l.Family == "IPv4", l.Family == "IPv6"}
	default: // all of them, or a name: it may have either
		own.families = [2]bool{true, true}
	}
	return own
}

// takes reports whether b, which is for all addresses, takes that of c.
func (b binding) takes(c binding) bool {
	if !b.all || b.port != c.port {
		return false
	}
	// A name that may have either takes one of them.
	for i, is := range c.families {
		if is && !b.families[i] && !c.all {
			return false
		}
	}
	return b.families[0] && c.families[0] || b.families[1] && c.families[1]
}

// checkConnectAddresses reports connectors that cannot be told apart. Several
// connections to one place are fine if the connectors have names.
func (b *builder) checkConnectAddresses() {
	seen := map[string]Position{}
	for _, c := range b.config.Connectors {
		if c.Name != "" {
			continue
		}
		key := strings.ToLower(net.JoinHostPort(c.Host, dialPort(c.Port)))
		if first, twice := seen[key]; twice {
			b.mistake(c.Pos, "a name for each of them", "", "connector to %s was already given on %s", c.Address(), refer(c.Pos, first))
			continue
		}
		seen[key] = c.Pos
	}
}

// checkOwnDoors warns of connectors that lead to a listener of the same router:
// routers are in files of their own.
func (b *builder) checkOwnDoors() {
	for i := range b.config.Connectors {
		c := &b.config.Connectors[i]
		if !loopback(c.Host) {
			continue
		}
		to := bindingOf(&Listener{Host: c.Host, Port: c.Port, Family: c.Family})
		for j := range b.config.Listeners {
			l := &b.config.Listeners[j]
			own := bindingOf(l)
			if own.port != to.port || own.port == 0 || !strings.EqualFold(own.host, to.host) && !own.takes(to) {
				continue
			}
			means := "the router would connect to itself"
			switch {
			case l.HTTP:
				means = "that speaks HTTP, not AMQP"
			case l.Role != c.Role:
				means = fmt.Sprintf("the router would connect to itself, and with role %s to one of role %s", c.Role, l.Role)
			}
			b.warn(c.Pos, "connector to %s leads to the listener on %s of the same router: %s; the other router has a configuration of its own",
				c.Address(), refer(c.Pos, l.Pos), means)
			break
		}
	}
}

// checkGeneratedID warns of an interior router without an id.
func (b *builder) checkGeneratedID() {
	if b.generated && b.config.Router.Mode == Interior {
		b.warn(b.config.Router.Pos, "router has no id: each start makes another one up, and the network takes it for a new router; give it one: router { id: NAME }")
	}
}

// checkGroups checks the groups of a vhost, which are entities inside of one.
func (b *builder) checkGroups(e *entity) {
	g := e.get("groups")
	if g == nil {
		return
	}
	settings := schema.ByName("vhostUserGroupSettings")
	for _, group := range g.value.attrs {
		if group.value.kind != mapValue {
			b.mistake(group.value.pos, "a map of settings", "", "group %s is %s", quoted(group.name), group.value.kind)
			continue
		}
		inner := &entity{schema: settings, pos: group.pos, given: map[string]*given{}}
		checkGroup(inner, settings, group, b.reporter)
	}
}

// checkGroup checks one group. users is required by the schema, but in fact not
// of the group that holds for everybody else, and a group may leave out
// remoteHosts, which then matches nobody.
func checkGroup(inner *entity, settings *schema.Entity, group attr, r *reporter) {
	relaxed := *settings
	relaxed.Attributes = nil
	for _, a := range settings.Attributes {
		optional := *a
		optional.Required = false
		relaxed.Attributes = append(relaxed.Attributes, &optional)
	}
	checkAttributes(inner, &relaxed, group.value.attrs, r)
}
