package management

import (
	"fmt"
	"slices"
	"strings"

	"sluice/amqp/encoding"
	"sluice/router/control/config"
	"sluice/router/control/schema"
)

func (d *Desk) listenerKind() *kind {
	k := &kind{schema: schema.ByName("listener")}
	k.columns = order(k.schema, served)
	all := func() (list []config.Listener, ids []string) {
		names := identities{}
		for _, l := range d.router.Listeners() {
			list = append(list, l.Listener)
			ids = append(ids, names.of("listener", l.Host, l.Port, l.Name))
		}
		return list, ids
	}
	find := listed(k, all, func(identity string) (config.Listener, bool) {
		l, ok := d.router.ListenerWhere(func(l *config.Listener) bool { return identified("listener", l.Host, l.Port, l.Name, identity) })
		return l.Listener, ok
	}, listenerValues)
	k.named = func(name string) (string, bool) {
		// The first with a name is the first with its identity, which has no number.
		l, ok := d.router.ListenerWhere(func(l *config.Listener) bool {
			return l.Name == name && name != "" || l.Name == "" && identified("listener", l.Host, l.Port, "", name)
		})
		return identities{}.of("listener", l.Host, l.Port, l.Name), ok
	}
	k.create = func(name string, a attributes) (string, error) {
		l, err := d.newListener(a)
		if err != nil {
			return "", err
		}
		id := identities{}.of("listener", l.Host, l.Port, l.Name)
		other, taken := d.router.ListenerWhere(func(o *config.Listener) bool {
			return identified("listener", o.Host, o.Port, o.Name, id) || name != "" && o.Name == name
		})
		if taken {
			return "", duplicate("listener", nameOr(name, id), identities{}.of("listener", other.Host, other.Port, other.Name))
		}
		return id, d.router.CreateListener(l)
	}
	k.remove = func(identity string) error {
		l, ok := find(identity)
		if !ok {
			return ErrNotFound
		}
		return d.router.DeleteListener(l)
	}
	return k
}

// newListener checks what is to become a listener.
func (d *Desk) newListener(a attributes) (config.Listener, error) {
	self := d.router.Self()
	if err := roleAllowed(self, "listener", a); err != nil {
		return config.Listener{}, err
	}
	sections, err := d.withProfile(a)
	if err != nil {
		return config.Listener{}, err
	}
	c, err := d.load(append(sections, section{"listener", a})...)
	if err != nil {
		return config.Listener{}, err
	}
	return c.Listeners[0], nil
}

// roleAllowed checks the role of a listener or connector against the mode of the
// router.
func roleAllowed(self config.Router, entity string, a attributes) error {
	role, _ := a["role"].(string)
	joins := role == string(config.RoleInterRouter) || role == string(config.RoleEdge)
	switch {
	case joins && self.Mode == config.Standalone:
		return badRequest("role='standalone' not allowed to connect to or accept connections from other routers.")
	case role == string(config.RoleInterRouter) && self.Mode != config.Interior:
		return badRequest("role='inter-router' only allowed with router mode='interior'")
	case entity == "listener" && role == string(config.RoleEdge) && self.Mode != config.Interior:
		return badRequest("role='edge' only allowed with router mode='interior'")
	}
	return nil
}

// withProfile returns the section of the sslProfile that attributes refer to, so
// that both are checked together.
func (d *Desk) withProfile(a attributes) ([]section, error) {
	name, _ := a["sslProfile"].(string)
	if name == "" {
		return nil, nil
	}
	p, ok := d.router.SSLProfile(name)
	if !ok {
		return nil, badRequest("there is no sslProfile named '%s'", brief(name))
	}
	s := attributes{}
	for key, v := range profileSettings(&p) {
		if v != "" {
			s[key] = v
		}
	}
	return []section{{"sslProfile", s}}, nil
}

// identities makes the identities of listeners and connectors, those that would
// be the same with a number.
type identities map[string]int

func (n identities) of(kind, host, port, name string) string {
	id := UnnamedAs(kind, host, port)
	if name != "" {
		id += ":" + name
	}
	n[id]++
	if n[id] > 1 {
		id = fmt.Sprintf("%s:%d", id, n[id])
	}
	return id
}

// identified tells, without making it, whether an identity is that of the first
// listener or connector with these attributes. There may be thousands to look through.
func identified(kind, host, port, name, identity string) bool {
	before, behind, colon := "", "", ""
	if strings.Contains(host, ":") { // as UnnamedAs writes it
		before, behind = "[", "]"
	}
	if name != "" {
		colon = ":"
	}
	for _, part := range [...]string{kind, "/", before, host, behind, ":", port, colon, name} {
		rest, ok := strings.CutPrefix(identity, part)
		if !ok {
			return false
		}
		identity = rest
	}
	return identity == ""
}

// listed has k list entities that have no numbers of their own: all returns them
// with their identities, where one that comes twice has a number added, and where
// looks for one whose identity has none. It returns what finds one by its identity.
func listed[T any](k *kind, all func() ([]T, []string), where func(identity string) (T, bool), values func(*T, string) map[string]any) (find func(identity string) (T, bool)) {
	find = func(identity string) (T, bool) {
		if e, ok := where(identity); ok {
			return e, true
		}
		list, ids := all()
		if i := slices.Index(ids, identity); i >= 0 {
			return list[i], true
		}
		var none T
		return none, false
	}
	k.list = func() []string { _, ids := all(); return ids }
	k.row = func(identity string, to []any) ([]any, bool) {
		e, ok := find(identity)
		if !ok {
			return nil, false
		}
		return fill(k, to, values(&e, identity)), true
	}
	k.rows = func() ([]string, func(string, []any) ([]any, bool)) {
		list, ids := all()
		at := places(ids)
		return ids, func(identity string, to []any) ([]any, bool) {
			i, ok := at[identity]
			if !ok {
				return nil, false
			}
			return fill(k, to, values(&list[i], identity)), true
		}
	}
	return find
}

// places are where identities are in a list.
func places(ids []string) map[string]int {
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		if _, taken := at[id]; !taken {
			at[id] = i
		}
	}
	return at
}

// UnnamedAs is the name of a listener or connector that has been given none.
func UnnamedAs(kind, host, port string) string {
	if strings.Contains(host, ":") { // of IPv6
		host = "[" + host + "]"
	}
	return fmt.Sprintf("%s/%s:%s", kind, host, port)
}

func duplicate(kind, name, existing string) *Status {
	return badRequest("adding %s '%s' duplicates unique attribute 'name' from existing '%s'", kind, brief(name), existing)
}

func nameOr(name, otherwise string) string {
	if name != "" {
		return name
	}
	return otherwise
}

// limitValues are what listeners and connectors have in common.
func limitValues(l *config.Limits) map[string]any {
	return map[string]any{
		"maxFrameSize": small(int64(l.MaxFrameSize)), "maxSessions": small(int64(l.MaxSessions)), "maxSessionFrames": orZeroNil(int64(l.MaxSessionFrames)),
		"idleTimeoutSeconds": wholeSeconds(l.IdleTimeout), "stripAnnotations": string(l.StripAnnotations), "linkCapacity": small(int64(l.LinkCapacity)),
		"messageLoggingComponents": "none",
		"sessionBytes":             small(l.SessionBytes), "linkBytes": small(l.LinkBytes), "outgoingHighBytes": small(l.OutgoingHigh),
		"outgoingLowBytes": small(l.OutgoingLow), "unboundBytes": small(l.UnboundBytes), "maxMessageSize": small(int64(l.MaxMessageSize)),
		"maxLinks": small(int64(l.MaxLinks)), "trace": l.Trace,
	}
}

func orZeroNil(n int64) any {
	if n == 0 {
		return nil
	}
	return small(n)
}

func listenerValues(l *config.Listener, identity string) map[string]any {
	v := limitValues(&l.Limits)
	for name, x := range map[string]any{
		"name": nameOr(l.Name, UnnamedAs("listener", l.Host, l.Port)), "identity": identity, "type": schema.Prefix + "listener",
		"host": l.Host, "port": l.Port, "socketAddressFamily": orNil(l.Family), "role": string(l.Role), "cost": small(int64(l.Cost)),
		"sslProfile": orNil(l.SSLProfile), "saslMechanisms": orNil(strings.Join(l.SASLMechanisms, " ")), "authenticatePeer": l.AuthenticatePeer,
		"requireEncryption": l.RequireEncrypted, "requireSsl": l.RequireSSL,
		"initialHandshakeTimeoutSeconds": wholeSeconds(l.HandshakeTimeout), "multiTenant": false,
		"failoverUrls": orNil(strings.Join(l.FailoverURLs, ", ")), "healthz": l.Healthz, "metrics": l.Metrics, "websockets": l.WebSockets,
		"http": l.HTTP, "httpRootDir": orNil(l.HTTPRootDir), "websocketOrigins": orNil(strings.Join(l.WebSocketOrigins, " ")), "openProperties": propertyMap(l.OpenProperties),
		"allowInsecure": l.AllowInsecure, "saslUsersFile": orNil(l.SASLUsersFile),
	} {
		v[name] = x
	}
	return v
}

// propertyMap returns openProperties as they are sent; null if none were given.
func propertyMap(m map[string]any) any {
	if m == nil {
		return nil
	}
	v := AMQPValue(m)
	if _, err := encoding.AppendAny(nil, v); err != nil {
		return nil
	}
	return v
}

// AMQPValue turns a value of a configuration into one of AMQP.
func AMQPValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := encoding.Map{}
		for _, key := range sortedKeys(v) {
			m = append(m, encoding.MapEntry{Key: key, Value: AMQPValue(v[key])})
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = AMQPValue(e)
		}
		return list
	case int64:
		return small(v)
	}
	return v
}
