package management

import "sluice/router/control/schema"

// managementKind is the agent itself.
func (d *Desk) managementKind() *kind {
	k := &kind{schema: schema.ByName("management")}
	k.columns = order(k.schema, served)
	k.list = func() []string { return []string{"self"} }
	k.row = func(identity string, to []any) ([]any, bool) {
		return fill(k, to, map[string]any{"name": "self", "identity": "self", "type": k.full()}), identity == "self"
	}
	return k
}
