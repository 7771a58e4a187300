package config

import (
	"net"
	"strings"

	"sluice/router/control/schema"
)

// checkTogether checks what concerns several entities.
func (b *builder) checkTogether() {
	b.checkProfiles()
	b.checkListenAddresses()
	b.checkConnectAddresses()
	if len(b.config.Listeners) == 0 && len(b.config.Connectors) == 0 && len(b.mistakes) == 0 {
		b.warn(b.config.Router.Pos, "there is neither a listener nor a connector: nobody can connect")
	}
}

// checkListenAddresses reports listeners that cannot both bind.
func (b *builder) checkListenAddresses() {
	seen := map[string]Position{}
	for _, l := range b.config.Listeners {
		if dialPort(l.Port) == "0" {
			continue
		}
		key := strings.ToLower(l.Address()) + " " + l.Family
		if first, twice := seen[key]; twice {
			b.mistake(l.Pos, "another port", "", "listener on %s was already given on %s", l.Address(), refer(l.Pos, first))
			continue
		}
		seen[key] = l.Pos
	}
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
