package trunk

import "testing"

// What is for all comes from each router by one neighbour only. What is not known
// to come another way goes on.
func TestPicture_Again(t *testing.T) {
	p := &Picture{
		Before: map[uint32]uint32{1: 1, 2: 2, 3: 1},
		Trunks: map[uint64]uint32{10: 1, 11: 1, 20: 2},
	}
	for _, c := range []struct {
		what   string
		origin uint32
		trunk  uint64
		again  bool
	}{
		{"from a neighbour itself", 1, 10, false},
		{"from a neighbour itself, by a second trunk", 1, 11, false},
		{"from a neighbour, past another one", 1, 20, true},
		{"from behind a neighbour", 3, 10, false},
		{"from behind a neighbour, past another one", 3, 20, true},
		{"from a router without a path", 4, 10, false},
		{"from an unknown router", unknown, 10, false},
		{"by a trunk that is no neighbour's yet", 1, 30, false},
	} {
		if got := p.again(c.origin, c.trunk); got != c.again {
			t.Errorf("%s: again is %t", c.what, got)
		}
	}
}
