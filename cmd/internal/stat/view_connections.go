package stat

import (
	"context"
	"slices"
	"strings"

	"sluice/cmd/internal/management"
	"sluice/router/control/schema"
)

var connections = &View{
	Name: "connections", Also: []string{"connection"}, About: "who is connected",
	typ:   "connection",
	names: []string{"container", "host", "user", "name"},
	order: []string{"id"},
	columns: []Column{
		of(text, "id", "identity"),
		of(text, "container", "container").cut(12),
		of(text, "host", "host").cut(15),
		of(text, "role", "role"),
		of(text, "dir", "dir").rank(6),
		made(text, "security", security, "isEncrypted").rank(5),
		made(text, "authentication", authentication, "isAuthenticated").rank(4),
		of(text, "tenant", "tenant").onlyWide(),
		of(count, "links", "linkCount").rank(2),
		of(size, "in", "bytesIn").rank(3).counting(),
		of(size, "out", "bytesOut").rank(3).counting(),
		of(flagged, "blocked", "blocked").rank(1),
		of(age, "last-dlv", "lastDlvSeconds").rank(7),
		of(age, "uptime", "uptimeSeconds").rank(2),
		made(text, "product", product, "properties").onlyWide(),
		of(count, "frames-in", "framesIn").onlyWide(),
		of(count, "frames-out", "framesOut").onlyWide(),
		of(text, "admin", "adminStatus").onlyWide(),
		of(text, "oper", "operStatus").onlyWide(),
	},
}

var edges = &View{
	Name: "edges", Also: []string{"edge"}, About: "edge routers that are connected",
	typ:   "connection",
	names: connections.names,
	order: []string{"id"},
	keep:  func(r *Record) bool { return r.text("role") == "edge" && r.text("dir") != "out" },
	columns: append(slices.Clone(connections.columns[:7:7]),
		of(text, "tenant", "tenant").onlyWide(),
		of(flagged, "active", "active"),
		of(count, "links", "linkCount").rank(2),
		of(size, "in", "bytesIn").rank(3).counting(),
		of(size, "out", "bytesOut").rank(3).counting(),
		of(age, "last-dlv", "lastDlvSeconds").rank(7),
		of(age, "uptime", "uptimeSeconds").rank(2),
	),
	empty: noEdges,
}

// noEdges says why a router has no edge routers.
func noEdges(ctx context.Context, r Router) string {
	switch modeOf(ctx, r) {
	case "edge":
		return edgeRouter(r) + "edge routers connect to interior routers, and \"sluice stat edges\" asks those"
	case "standalone":
		return "router " + r.ID + " is standalone: edge routers connect to routers of mode interior, to a listener of role edge"
	}
	return "router " + r.ID + " has no edge routers"
}

// edgeRouter begins what is said of an edge router.
func edgeRouter(r Router) string { return "router " + r.ID + " is an edge router: " }

// modeOf asks a router for its mode; empty if it does not say.
func modeOf(ctx context.Context, r Router) string {
	for page, err := range (management.Query{Type: schema.Prefix + "router", Attributes: []string{"mode"}}).Run(ctx, r.Node) {
		if err != nil {
			break
		}
		if at := page.Column("mode"); at >= 0 && len(page.Rows) > 0 {
			mode, _ := page.Rows[0][at].(string)
			return mode
		}
	}
	return ""
}

func security(r *Record) any {
	switch {
	case !r.yes("isEncrypted"):
		return "none"
	case r.text("sasl") == "GSSAPI":
		return "Kerberos"
	case r.text("sslProto") == "":
		return "TLS"
	}
	return r.text("sslProto") + "(" + r.text("sslCipher") + ")"
}

func authentication(r *Record) any {
	sasl, user := r.text("sasl"), r.text("user")
	switch {
	case !r.yes("isAuthenticated"):
		return "none"
	case sasl == "ANONYMOUS" || user == "anonymous":
		return "anonymous"
	case sasl == "EXTERNAL":
		return user + "(x.509)"
	case sasl == "":
		return user
	}
	return user + "(" + sasl + ")"
}

// product is what the peer says that it is.
func product(r *Record) any {
	properties, _ := r.get("properties").(map[string]any)
	name, _ := properties["product"].(string)
	version, _ := properties["version"].(string)
	return words(strings.TrimSpace(name + " " + version))
}
