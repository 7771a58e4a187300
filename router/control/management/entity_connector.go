package management

import (
	"maps"
	"slices"
	"strings"

	"sluice/router/control/config"
	"sluice/router/control/schema"
)

func (d *Desk) connectorKind() *kind {
	k := &kind{schema: schema.ByName("connector")}
	k.columns = order(k.schema, served)
	all := func() (list []Connector, ids []string) {
		names := identities{}
		list = d.router.Connectors()
		for i := range list {
			ids = append(ids, names.of("connector", list[i].Host, list[i].Port, list[i].Name))
		}
		return list, ids
	}
	find := listed(k, all, func(identity string) (Connector, bool) {
		return d.router.ConnectorWhere(func(c *config.Connector) bool { return identified("connector", c.Host, c.Port, c.Name, identity) })
	}, connectorValues)
	k.named = func(name string) (string, bool) {
		// The first with a name is the first with its identity, which has no number.
		c, ok := d.router.ConnectorWhere(func(c *config.Connector) bool {
			return c.Name == name && name != "" || c.Name == "" && identified("connector", c.Host, c.Port, "", name)
		})
		return identities{}.of("connector", c.Host, c.Port, c.Name), ok
	}
	k.create = func(name string, a attributes) (string, error) {
		self := d.router.Self()
		if err := roleAllowed(self, "connector", a); err != nil {
			return "", err
		}
		sections, err := d.withProfile(a)
		if err != nil {
			return "", err
		}
		loaded, err := d.load(append(sections, section{"connector", a})...)
		if err != nil {
			return "", err
		}
		c := loaded.Connectors[0]
		id := identities{}.of("connector", c.Host, c.Port, c.Name)
		other, taken := d.router.ConnectorWhere(func(o *config.Connector) bool {
			return identified("connector", o.Host, o.Port, o.Name, id) || name != "" && o.Name == name
		})
		if taken {
			return "", duplicate("connector", nameOr(name, id), identities{}.of("connector", other.Host, other.Port, other.Name))
		}
		return id, d.router.CreateConnector(c)
	}
	k.remove = func(identity string) error {
		c, ok := find(identity)
		if !ok {
			return ErrNotFound
		}
		return d.router.DeleteConnector(c.Connector)
	}
	return k
}

func connectorValues(c *Connector, identity string) map[string]any {
	v := limitValues(&c.Limits)
	for name, x := range map[string]any{
		"name": nameOr(c.Name, UnnamedAs("connector", c.Host, c.Port)), "identity": identity, "type": schema.Prefix + "connector",
		"host": c.Host, "port": c.Port, "protocolFamily": orNil(c.Family), "role": string(c.Role), "cost": small(int64(c.Cost)),
		"sslProfile": orNil(c.SSLProfile), "saslMechanisms": orNil(strings.Join(c.SASLMechanisms, " ")), "allowRedirect": true,
		"verifyHostname": c.VerifyHostname, "saslUsername": orNil(c.SASLUsername),
		// The password is nobody's business who can ask for it.
		"saslPassword": nil,
		"failoverUrls": orNil(strings.Join(c.FailoverURLs, ", ")), "connectionStatus": orNil(c.Status), "connectionMsg": orNil(c.Message),
		"openProperties": propertyMap(c.OpenProperties), "allowInsecure": c.AllowInsecure,
	} {
		v[name] = x
	}
	return v
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
