package deploy

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

// template finds what an annotation takes from its alert.
var template = regexp.MustCompile(`\{\{\s*(.*?)\s*\}\}`)

// The rules are complete, and name only metrics and labels that there are.
func TestAlerts(t *testing.T) {
	data, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file rules
	if err := yaml.UnmarshalWithOptions(data, &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	c := newChecker(t)
	var names []string
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if slices.Contains(names, r.Alert) || !regexp.MustCompile(`^Sluice[A-Z]\w+$`).MatchString(r.Alert) {
				t.Errorf("%s: not a name of its own", r.Alert)
			}
			names = append(names, r.Alert)
			labels := c.check(r.Alert, r.Expr)
			if _, err := time.ParseDuration(r.For); err != nil && r.For != "" {
				t.Errorf("%s: for %s", r.Alert, r.For)
			}
			if s := r.Labels["severity"]; len(r.Labels) != 1 || s != "warning" && s != "critical" {
				t.Errorf("%s: labels %v", r.Alert, r.Labels)
			}
			if len(r.Annotations) != 2 || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s: annotations %v", r.Alert, r.Annotations)
			}
			for _, text := range r.Annotations {
				for _, m := range template.FindAllStringSubmatch(text, -1) {
					if label := regexp.MustCompile(`^\$labels\.(\w+)$`).FindStringSubmatch(m[1]); label != nil {
						if !slices.Contains(labels, label[1]) {
							t.Errorf("%s: the alert has no label %s, but %v", r.Alert, label[1], labels)
						}
					} else if !regexp.MustCompile(`^\$value( \| (humanize|humanize1024|humanizeDuration))?$`).MatchString(m[1]) {
						t.Errorf("%s: template %s", r.Alert, m[0])
					}
				}
			}
		}
	}
	for _, metric := range []string{ // what has to be watched
		"sluice_links_stuck", "sluice_address_gate", "sluice_address_credit", "sluice_mesh_neighbor_up",
		"sluice_deliveries_dropped_total", "sluice_memory_bytes", "sluice_log_lines_dropped_total",
	} {
		if !c.used[metric] {
			t.Errorf("no rule looks at %s", metric)
		}
	}
	if len(names) < 10 {
		t.Errorf("%d rules", len(names))
	}
}

// The checks find what they are for.
func TestCheckerFindsMistakes(t *testing.T) {
	for _, expr := range []string{
		"sluice_nothing", "sum(", `sluice_stage_bytes{stagf="session"}`, `sluice_stage_bytes{stage="sessions"}`,
		"sum by (part) (sluice_connections)", "sluice_connections > on (router) sluice_links", "rollup(sluice_connections)",
		"sluice_mesh_joined and sluice_mesh_neighbor_up",
	} {
		sub := new(testing.T)
		c := &checker{t: sub, all: series(t), used: map[string]bool{}}
		c.check("test", expr)
		if !sub.Failed() {
			t.Errorf("%s is taken", expr)
		}
	}
}
