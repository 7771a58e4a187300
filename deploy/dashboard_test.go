package deploy

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type dashboard struct {
	Title, UID string
	Templating struct {
		List []struct {
			Name, Type, Query string
		}
	}
	Panels []struct {
		ID          int
		Type, Title string
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ RefID, Expr, LegendFormat string }
	}
}

// The dashboard is one that can be shown, and names only metrics and labels that
// there are.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	c := newChecker(t)
	variables := []string{"__rate_interval"}
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
		if v.Type == "query" {
			m := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Query)
			if m == nil {
				t.Errorf("variable %s: %s", v.Name, v.Query)
				continue
			}
			c.check("variable "+v.Name, "count by ("+m[2]+") ("+m[1]+")")
		}
	}
	var ids []int
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if slices.Contains(ids, p.ID) || p.Title == "" {
			t.Errorf("panel %d %q: not a number of its own, or no title", p.ID, p.Title)
		}
		ids = append(ids, p.ID)
		g := p.GridPos
		if g.W <= 0 || g.H <= 0 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%s: at %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s and %s are at the same place", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("%s: a %s with %d queries", p.Title, p.Type, len(p.Targets))
		}
		for _, q := range p.Targets {
			for _, m := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(q.Expr, -1) {
				if !slices.Contains(variables, m[1]) {
					t.Errorf("%s: there is no variable %s", p.Title, m[1])
				}
			}
			expr := strings.ReplaceAll(q.Expr, "$__rate_interval", "5m")
			labels := c.check(p.Title, expr)
			for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(q.LegendFormat, -1) {
				if !slices.Contains(labels, m[1]) {
					t.Errorf("%s: the legend's %s is no label of %s", p.Title, m[1], q.Expr)
				}
			}
		}
	}
	// What is measured is shown, but for what says little by itself.
	for name := range c.all {
		if strings.HasPrefix(name, "sluice_") && !c.used[name] && !slices.Contains([]string{
			"sluice_addresses", "sluice_edge_idle_connections", "sluice_edge_proxies_tracked", "sluice_edge_uplink_seconds",
			"sluice_mesh_joined", "sluice_mesh_neighbor_cost", "sluice_mesh_neighbor_routing_messages_lost_total", "sluice_mesh_neighbor_stream_bytes",
			"sluice_mesh_neighbor_up", "sluice_mesh_radius_hops", "sluice_mesh_route_cost", "sluice_mesh_route_hops",
		}, name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}
