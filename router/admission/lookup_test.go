package admission

import (
	"testing"

	"sluice/router/address"
	"sluice/router/forward"
	"sluice/router/table"
)

// The phases of a name are different addresses, and so is what is no mobile one.
func TestLookup_Phase(t *testing.T) {
	treatment := func(address.Address) forward.Treatment { return forward.Treatment{Priority: -1} }
	rt := &Router{Identity: address.Identity{ID: "A"}, Table: table.New(treatment), Treatment: treatment}
	for _, key := range []string{"M0q", "M1q", "MFq", "Lq"} {
		name, _ := address.ParseKey(key)
		rt.Table.Acquire(name)
	}
	for _, c := range []struct {
		to    string
		phase byte
		key   string
	}{
		{"q", '0', "M0q"}, {"q", '1', "M1q"}, {"q", 'F', "MFq"}, {"q", '2', ""},
		{"_local/q", '1', "Lq"},
	} {
		a, refusal := rt.lookup([]byte(c.to), c.phase)
		if refusal != nil || (a == nil) != (c.key == "") || a != nil && a.Key != c.key {
			t.Errorf("%s in phase %c: %v, %v, want %q", c.to, c.phase, a, refusal, c.key)
		}
	}
}
