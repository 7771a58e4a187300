package router

import "testing"

func TestTrimmer(t *testing.T) {
	const mib = 1 << 20
	for name, tt := range map[string]struct {
		inUse []int64 // MiB, one sweep each
		want  int     // times that it is due
	}{
		"steady":          {[]int64{500, 500, 490, 510, 500, 500, 500, 500}, 0},
		"after a burst":   {[]int64{1000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1},
		"small":           {[]int64{60, 1, 1, 1, 1, 1, 1, 1, 1}, 0},
		"burst by burst":  {[]int64{1000, 1, 1, 1, 1000, 1, 1, 1, 1000, 1, 1, 1}, 0},
		"a little less":   {[]int64{1000, 600, 600, 600, 600, 600, 600, 600}, 0},
		"and a second":    {[]int64{1000, 1, 1, 1, 1, 1, 800, 800, 1, 1, 1, 1, 1}, 2},
		"growing by half": {[]int64{100, 200, 400, 800, 1000}, 0},
	} {
		var tr trimmer
		got := 0
		for _, n := range tt.inUse {
			if tr.due(n * mib) {
				got++
			}
		}
		if got != tt.want {
			t.Errorf("%s: due %d times, want %d", name, got, tt.want)
		}
	}
}
