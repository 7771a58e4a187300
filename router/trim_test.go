package router

import (
	"slices"
	"testing"
)

func TestTrimmer(t *testing.T) {
	const mib = 1 << 20
	rest := slices.Repeat([]int64{1}, trimPause+trimAfter)
	for name, tt := range map[string]struct {
		inUse []int64 // MiB, one sweep each
		made  []int64 // of all buffers; where it is shorter as much as is in use
		want  int     // times that it is due
	}{
		"steady":              {[]int64{500, 500, 490, 510, 500, 500, 500, 500}, nil, 0},
		"after a burst":       {append([]int64{1000}, rest...), nil, 1},
		"between two sweeps":  {rest, []int64{1000, 1000, 1000, 1000, 1000, 1000}, 1},
		"collected by itself": {rest, []int64{1000, 1000}, 1},
		"small":               {append([]int64{15}, rest...), nil, 0},
		"burst by burst":      {[]int64{1000, 1, 1, 1, 1000, 1, 1, 1, 1000, 1, 1, 1}, nil, 0},
		"a little less":       {[]int64{1000, 600, 600, 600, 600, 600, 600, 600}, nil, 0},
		"and a second":        {slices.Concat([]int64{1000}, rest, []int64{800, 800}, rest), nil, 2},
		"growing by half":     {[]int64{100, 200, 400, 800, 1000}, nil, 0},
		"needed all the time": {slices.Repeat([]int64{10}, 100), slices.Repeat([]int64{200}, 100), 3},
	} {
		var tr trimmer
		got := 0
		for i, n := range tt.inUse {
			made := n
			if i < len(tt.made) {
				made = tt.made[i]
			}
			if tr.due(n*mib, made*mib) {
				got++
			}
		}
		if got != tt.want {
			t.Errorf("%s: due %d times, want %d", name, got, tt.want)
		}
	}
}
