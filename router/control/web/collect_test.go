package web

import (
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

// scrape reads the series of a snapshot that begin with a prefix.
func scrape(t *testing.T, m *Metrics, prefix string) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "sluice_"+prefix) {
			lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "sluice_")))
		}
	}
	return strings.Join(lines, "; ")
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// The busiest addresses have series of their own, temporary ones never.
func TestAddressSeries(t *testing.T) {
	s := Snapshot{Ingress: 112, Egress: 100, ByAddress: []Address{
		{Name: "busy", In: 100, Out: 90, Waiting: 3, Gate: 1},
		{Name: "idle", In: 2},
		{Name: "temp.1", Temporary: true, In: 1000},
		{Name: "less", In: 10, Out: 10},
	}}
	m := NewMetrics(2, func() Snapshot { return s })
	want(t, scrape(t, m, "address_deliveries_total"), `address_deliveries_total{address="busy",direction="in"} 100; address_deliveries_total{address="busy",direction="out"} 90; `+
		`address_deliveries_total{address="less",direction="in"} 10; address_deliveries_total{address="less",direction="out"} 10; `+
		`address_deliveries_total{address="other",direction="in"} 2; address_deliveries_total{address="other",direction="out"} 0`)
	want(t, scrape(t, m, "address_gate"), `address_gate{address="busy"} 1; address_gate{address="less"} 0`)
	want(t, scrape(t, m, "address_waiting{"), `address_waiting{address="busy"} 3; address_waiting{address="less"} 0; address_waiting{address="other"} 0`)
	want(t, scrape(t, m, "series_folded"), `series_folded{by="address"} 2; series_folded{by="connection"} 0`)
}

// Names come from peers: whatever they are, they make labels, and none collides
// with that of the others.
func TestHostileLabels(t *testing.T) {
	long := strings.Repeat("ä", 200)
	s := Snapshot{
		Ingress: 4, PeersAll: Peer{BytesIn: 100},
		ByAddress: []Address{{Name: "other", In: 1}, {Name: "a\xff\x00", In: 1}, {Name: long + "1", In: 1}, {Name: long + "2", In: 1}},
		ByPeer:    []Peer{{Container: "other", Role: "normal"}, {Container: "\xc3", User: "u\"\n\\", Role: "normal", BytesIn: 1}, {Container: long, Role: "edge"}},
	}
	m := NewMetrics(10, func() Snapshot { return s })
	got := scrape(t, m, "address_deliveries_total")
	if !utf8.ValidString(got) || strings.Count(got, long[:maxLabel]+"…") != 2 || !strings.Contains(got, `address="other",direction="in"} 1`) || !strings.Contains(got, `direction="in"} 2`) {
		t.Error(got)
	}
	want(t, scrape(t, m, "connection_open{container=\"other\""), `connection_open{container="other",role="normal",user=""} 0`)
	want(t, scrape(t, m, "connection_bytes_total{container=\"other\",direction=\"in\",role=\"\""), `connection_bytes_total{container="other",direction="in",role="",user=""} 99`)
}

// A counter that is read lower than before, because something was on its way from
// one place to another, stays where it was.
func TestCountersStay(t *testing.T) {
	s := Snapshot{Ingress: 10, Accepted: 5, ByClass: []Class{{Name: "endpoint", CarriedIn: Carried{Deliveries: 7}}}}
	m := NewMetrics(10, func() Snapshot { return s })
	scrape(t, m, "")
	s.Ingress, s.Accepted, s.ByClass[0].CarriedIn.Deliveries = 9, 6, 3
	want(t, scrape(t, m, "deliveries_ingress_total"), "deliveries_ingress_total 10")
	want(t, scrape(t, m, `deliveries_outcomes_total{outcome="accepted"}`), `deliveries_outcomes_total{outcome="accepted"} 6`)
	want(t, scrape(t, m, `class_deliveries_total{class="endpoint",direction="in"}`), `class_deliveries_total{class="endpoint",direction="in"} 7`)
}

// The parts of the memory are never negative, and there are all of them.
func TestMemoryParts(t *testing.T) {
	for _, held := range []int64{0, 1 << 20, 1 << 40} {
		sum := int64(0)
		for _, p := range memory(held, held, 1000, 1000, 1000) {
			if p.Bytes < 0 {
				t.Errorf("%s: %d", p.Name, p.Bytes)
			}
			sum += p.Bytes
		}
		anonymous, mapped, ok := resident()
		if ok && sum > (anonymous+mapped)*3/2 {
			t.Errorf("%d of %d", sum, anonymous+mapped)
		}
	}
}
