package deploy

import (
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/router/control/web"
)

// series are the metrics that there are, by name, with the values that each label
// has been seen with.
func series(t *testing.T) map[string]map[string][]string {
	t.Helper()
	all := map[string]map[string][]string{}
	for _, s := range []web.Snapshot{
		{ // a router that is alone
			ByClass: []web.Class{{Name: "endpoint"}}, ByAddress: []web.Address{{Name: "a"}}, ByPeer: []web.Peer{{Container: "c", Role: "normal"}},
		},
		{Mesh: &web.Mesh{Routers: make([]web.MeshRouter, 1), Neighbors: make([]web.Neighbor, 1)}, Edge: &web.Edge{}},
		{Edge: &web.Edge{Uplink: true}},
	} {
		h := web.Handler(web.Options{Metrics: web.NewMetrics(10, func() web.Snapshot { return s })})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if w.Code != 200 {
			t.Fatal(w.Body)
		}
		for line := range strings.Lines(w.Body.String()) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			line, _, _ = strings.Cut(line, " ")
			name, rest, _ := strings.Cut(line, "{")
			if all[name] == nil {
				all[name] = map[string][]string{}
			}
			for _, pair := range strings.Split(strings.TrimSuffix(rest, "}"), "\",") {
				if label, value, ok := strings.Cut(pair, "="); ok {
					all[name][label] = append(all[name][label], strings.Trim(value, "\""))
				}
			}
		}
	}
	return all
}
