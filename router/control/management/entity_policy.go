package management

import "sluice/router/control/schema"

const policyID = "policy/policy"

// policyKind says what holds of policy, which is not supported yet: nothing is
// enforced, whatever the configuration says, and nobody has been denied anything.
// Tools show connections in this place, and expect the entity to be there.
func (d *Desk) policyKind() *kind {
	k := &kind{schema: schema.ByName("policy")}
	k.columns = order(k.schema, served)
	k.list = func() []string { return []string{policyID} }
	k.row = func(identity string, to []any) ([]any, bool) {
		if identity != policyID {
			return nil, false
		}
		o := d.router.Overview()
		none := uint64(0)
		return fill(k, to, map[string]any{
			"name": policyID, "identity": policyID, "type": k.full(),
			"enableVhostPolicy": false, "enableVhostNamePatterns": false, "policyDir": "", "defaultVhost": "",
			"connectionsProcessed": o.ConnectionsTotal, "connectionsCurrent": uint64(o.Connections),
			"connectionsDenied": none, "linksDenied": none, "maxMessageSizeDenied": none, "totalDenials": none,
		}), true
	}
	return k
}
