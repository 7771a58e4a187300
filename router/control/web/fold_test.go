package web

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func row(name string, n uint64) Row {
	return Row{Labels: []string{name}, Counters: []uint64{n}, Gauges: []float64{1}, Activity: n}
}

func shownAs(rows []Row) string {
	s := ""
	for _, r := range rows {
		s += fmt.Sprint(r.Labels[0], "=", r.Counters[0], " ")
	}
	return s
}

// The busiest are shown, and the others added up.
func TestFold(t *testing.T) {
	f := newFolder(2, 1)
	now := time.Unix(0, 0)
	step := func(want string, other uint64, folded int, total uint64, rows ...Row) {
		t.Helper()
		now = now.Add(15 * time.Second)
		shown, o, n := f.fold(rows, []uint64{total}, now)
		if got := shownAs(shown); got != want || o.Counters[0] != other || n != folded {
			t.Errorf("shown %q, other %d, folded %d; want %q, %d, %d", got, o.Counters[0], n, want, other, folded)
		}
	}
	step("a=10 b=20 ", 0, 0, 30, row("a", 10), row("b", 20))
	step("a=10 b=20 ", 5, 1, 35, row("a", 10), row("b", 20), row("c", 5))
	// One that is a little busier takes nobody's place, one that is much busier does.
	step("a=10 b=20 ", 12, 1, 42, row("a", 10), row("b", 20), row("c", 12))
	step("b=20 c=100 ", 12, 1, 130, row("a", 10), row("b", 20), row("c", 100))
	// What a folded one does is in the others, what it did before stays there.
	step("b=20 c=100 ", 13, 1, 131, row("a", 11), row("b", 20), row("c", 100))
	// One that has gone makes room; what it did last is in the others.
	step("a=11 c=100 ", 15, 0, 133, row("a", 11), row("c", 100))
	// One that comes back goes on where it was.
	step("a=11 c=100 ", 18, 1, 136, row("a", 11), row("b", 3), row("c", 100))
	step("b=23 c=100 ", 18, 0, 136, row("b", 3), row("c", 100))
}

// Rows may be kept from being shown.
func TestFoldedRows(t *testing.T) {
	f := newFolder(10, 1)
	hidden := row("h", 7)
	hidden.Folded = true
	shown, other, n := f.fold([]Row{row("a", 1), hidden}, []uint64{8}, time.Unix(0, 0))
	if shownAs(shown) != "a=1 " || other.Counters[0] != 7 || other.Gauges[0] != 1 || n != 1 {
		t.Error(shown, other, n)
	}
}

// No counter ever falls, whatever comes and goes, and all growth is seen by who
// adds up the growth of the series.
func TestCountersNeverFall(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	f := newFolder(5, 1)
	now := time.Unix(0, 0)
	counts := map[string]uint64{}
	var total, seen uint64
	last := map[string]uint64{}
	for range 2000 {
		now = now.Add(time.Duration(rnd.IntN(60)) * time.Second)
		for range rnd.IntN(4) {
			name := fmt.Sprint(rnd.IntN(30))
			if _, is := counts[name]; is && rnd.IntN(3) == 0 {
				delete(counts, name)
				continue
			}
			n := uint64(rnd.IntN(1 << rnd.IntN(12)))
			counts[name] += n
			total += n
		}
		var rows []Row
		for name, n := range counts {
			rows = append(rows, row(name, n))
		}
		shown, other, folded := f.fold(rows, []uint64{total}, now)
		if len(shown)+folded != len(rows) || len(shown) > 5 {
			t.Fatalf("%d shown, %d folded of %d", len(shown), folded, len(rows))
		}
		next := map[string]uint64{"other": other.Counters[0]}
		for _, r := range shown {
			next[r.Labels[0]] = r.Counters[0]
		}
		for name, n := range next {
			if was, is := last[name]; is && n < was {
				t.Fatalf("%s falls from %d to %d", name, was, n)
			} else if is || name == "other" {
				seen += n - was
			}
		}
		last = next
		if len(f.memory) > len(rows)+5*maxMemos {
			t.Fatalf("%d rows are remembered", len(f.memory))
		}
	}
	if seen > total {
		t.Errorf("the series have grown by %d, and all there is by %d", seen, total)
	}
}
