package trunk

import (
	"testing"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/frames"
)

func properties(t *testing.T, m encoding.Map) []byte {
	b, err := encoding.AppendAny(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What a router says of itself in open is read up to the first key that is no
// symbol, and counts only if it has the right type.
func TestOpenProperties(t *testing.T) {
	product := encoding.MapEntry{Key: amqp.Symbol("product"), Value: "qpid-dispatch-router"}
	cost := encoding.MapEntry{Key: amqp.Symbol("qd.inter-router-cost"), Value: int32(7)}
	for _, c := range []struct {
		what string
		m    encoding.Map
		late bool
		cost int
	}{
		{"nothing", encoding.Map{}, false, 1},
		{"both", encoding.Map{product, cost}, true, 7},
		{"in any order", encoding.Map{cost, {Key: amqp.Symbol("version"), Value: []any{"1.19.0"}}, product}, true, 7},
		{"another product", encoding.Map{{Key: amqp.Symbol("product"), Value: "sluice"}}, false, 1},
		{"behind a key that is no symbol", encoding.Map{{Key: "product", Value: "x"}, product, cost}, false, 1},
		{"of other types", encoding.Map{{Key: amqp.Symbol("product"), Value: int32(1)}, {Key: amqp.Symbol("qd.inter-router-cost"), Value: uint32(7)}}, false, 1},
	} {
		b := properties(t, c.m)
		if got := SettlesLate(&frames.Open{Properties: b}); got != c.late {
			t.Errorf("%s: settles late %t", c.what, got)
		}
		if got := costOf(b); got != c.cost {
			t.Errorf("%s: cost %d", c.what, got)
		}
	}
	if SettlesLate(&frames.Open{}) || costOf(nil) != 1 {
		t.Error("without properties")
	}
}

func FuzzOpenProperties(f *testing.F) {
	f.Add([]byte("\xc1\x20\x04\xa3\x07product\xa1\x01x\xa3\x03abc\x54\x03"))
	f.Add([]byte("\xd1\x00\x00\x00\x05\xff\xff\xff\xff\xa3"))
	f.Fuzz(func(t *testing.T, b []byte) {
		SettlesLate(&frames.Open{Properties: b})
		costOf(b)
	})
}
