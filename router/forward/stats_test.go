package forward

import "testing"

// What is shown never falls, whatever comes back.
func TestStats_Shown(t *testing.T) {
	var s Stats
	for _, c := range []struct{ add, egress, shown int }{{5, 5, 5}, {-3, 2, 5}, {2, 4, 5}, {3, 7, 7}, {-1, 6, 7}} {
		s.Egress.Add(uint64(c.add))
		if s.Egress.Load() != uint64(c.egress) || s.Shown() != uint64(c.shown) {
			t.Errorf("after %+d: %d, shown %d; want %+v", c.add, s.Egress.Load(), s.Shown(), c)
		}
	}
}
