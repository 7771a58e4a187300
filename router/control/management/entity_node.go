package management

import (
	"strings"

	"sluice/router/control/schema"
)

func (d *Desk) nodeKind() *kind {
	k := &kind{schema: schema.ByName("router.node")}
	k.columns = order(k.schema, served)
	k.list = func() []string {
		var list []string
		for _, n := range d.router.Nodes() {
			list = append(list, "router.node/"+n.ID)
		}
		return list
	}
	k.row = func(identity string, to []any) ([]any, bool) {
		id, ok := strings.CutPrefix(identity, "router.node/")
		if !ok {
			return nil, false
		}
		for _, n := range d.router.Nodes() {
			if n.ID == id {
				return fill(k, to, nodeValues(&n)), true
			}
		}
		return nil, false
	}
	k.named = func(name string) (string, bool) { return name, true }
	return k
}

func nodeValues(n *Node) map[string]any {
	name := "router.node/" + n.ID
	v := map[string]any{
		"id": n.ID, "protocolVersion": int32(1), "nextHop": orNil(n.NextHop), "address": "amqp:/_topo/0/" + n.ID,
		"validOrigins": texts(n.ValidOrigins), "index": small(int64(n.Index)),
		"name": name, "identity": name, "type": schema.Prefix + "router.node",
	}
	if n.Instance != 0 {
		v["instance"] = small(n.Instance)
	}
	if n.Neighbors != nil {
		v["linkState"] = texts(n.Neighbors)
	}
	if n.Self {
		v["nextHop"] = "(self)"
	} else {
		v["cost"] = small(n.Cost)
		if n.Link >= 0 {
			v["routerLink"] = small(int64(n.Link))
		}
	}
	if !n.Changed.IsZero() {
		v["lastTopoChange"] = small(n.Changed.Unix())
	}
	return v
}
