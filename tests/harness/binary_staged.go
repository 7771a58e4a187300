package harness

import "strings"

// Staged is what a router holds and for whom, for the report of a test that
// finds it standing still.
func (b *Binary) Staged() map[string]float64 {
	b.t.Helper()
	held := map[string]float64{}
	for name, v := range b.Metrics() {
		for _, prefix := range []string{"sluice_stage_bytes", "sluice_buffer", "sluice_deliveries_waiting", "sluice_deliveries_unsettled",
			"sluice_addresses_full", "sluice_links", "sluice_mesh_neighbor_stream", "sluice_mesh_neighbor_deliveries"} {
			if v != 0 && strings.HasPrefix(name, prefix) {
				held[strings.TrimPrefix(name, "sluice_")] = v
			}
		}
	}
	return held
}
