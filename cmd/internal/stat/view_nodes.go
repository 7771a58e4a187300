package stat

import (
	"context"
	"time"
)

var nodes = &View{
	Name: "nodes", Also: []string{"routers", "node"}, About: "routers of the mesh, as one of them sees it",
	typ:   "router.node",
	names: []string{"id"},
	order: []string{"router"},
	columns: []Column{
		of(text, "router", "id").cut(12),
		made(text, "next-hop", nextHop, "nextHop").cut(12),
		of(text, "link", "routerLink").rank(3),
		of(count, "cost", "cost"),
		of(text, "neighbors", "linkState").cut(12).rank(1),
		of(text, "valid-origins", "validOrigins").cut(12).rank(4),
		made(age, "changed", changed, "lastTopoChange").rank(2),
		of(text, "version", "protocolVersion").onlyWide(),
		of(text, "instance", "instance").onlyWide(),
		of(text, "address", "address").onlyWide(),
	},
	empty: alone,
}

// alone says why a router knows no other routers.
func alone(ctx context.Context, r Router) string {
	if modeOf(ctx, r) == "edge" {
		return edgeRouter(r) + "it does not know the routers of the network; " +
			"\"sluice stat connections\" shows its uplink (role edge), and \"sluice stat edges\" the edge routers of an interior router"
	}
	return "router " + r.ID + " is alone: it knows no other routers"
}

func nextHop(r *Record) any {
	switch hop := r.text("nextHop"); {
	case hop == "(self)":
		return "itself"
	case hop == "":
		return "direct"
	default:
		return hop
	}
}

// changed is how long ago the topology has changed.
func changed(r *Record) any {
	n, ok := r.number("lastTopoChange")
	if !ok || n <= 0 {
		return nil
	}
	return max(time.Since(time.Unix(int64(n), 0)).Seconds(), 0)
}
