package web

import (
	"cmp"
	"math"
	"slices"
	"time"

	"sluice/router/shrink"
)

// A Row is what one of many things measures: an address, or the connections of
// one peer.
type Row struct {
	Labels   []string  // its name; unique
	Counters []uint64  // that never fall while the row is there
	Gauges   []float64 // as of now
	// Activity is a count of what the row has done, by which the busiest are
	// found.
	Activity uint64
	// Folded rows are never shown by themselves.
	Folded bool
}

// A folder shows the busiest of many rows, and adds up the others. What it shows
// are counters to whoever scrapes: none of them falls while its row is there, and
// that of the others never does, although rows come and go between the two.
type folder struct {
	most   int // rows that are shown
	memory map[string]*memo
	// largest is of memory, see shrink.Map.
	largest int
	totals  []uint64 // of all rows, as of the last time
	other   []uint64
	at      time.Time
}

// A memo is what was known of a row when it was last there.
type memo struct {
	counters []uint64 // as they were counted
	base     []uint64 // of earlier lives
	activity uint64
	score    float64 // recent activity
	shown    bool
	seen     time.Time
}

const (
	// halfLife is the time after which activity counts half.
	halfLife = 5 * time.Minute
	// incumbent is how much busier a row must be than one that is shown, to take
	// its place: series that come and go are of no use.
	incumbent = 2
	// remembered is how long a row that has gone is known, so that its counters
	// go on when it comes back.
	remembered = time.Hour
	// maxMemos is how many rows that have gone are known, for each that is shown.
	maxMemos = 4
)

func newFolder(most, counters int) *folder {
	return &folder{most: most, memory: make(map[string]*memo), totals: make([]uint64, counters), other: make([]uint64, counters)}
}

// fold returns the rows to show, with their counters, and what the others add up
// to; folded is how many those are. Totals are the counters of all that there
// has ever been, rows that have gone included.
func (f *folder) fold(rows []Row, totals []uint64, now time.Time) (shown []Row, other Row, folded int) {
	decay := 1.0
	if !f.at.IsZero() {
		decay = math.Exp2(-now.Sub(f.at).Seconds() / halfLife.Seconds())
	}
	f.at = now
	ranked := make([]ranking, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		key := keyOf(r.Labels)
		m := f.memory[key]
		if m == nil {
			m = &memo{counters: make([]uint64, len(r.Counters)), base: make([]uint64, len(r.Counters))}
			f.memory[key] = m
		}
		if r.Activity < m.activity {
			m.activity = 0
		}
		m.score = m.score*decay + float64(r.Activity-m.activity)
		m.activity, m.seen = r.Activity, now
		if !r.Folded {
			ranked = append(ranked, ranking{r, m, key})
		}
	}
	slices.SortFunc(ranked, func(a, b ranking) int {
		if c := cmp.Compare(b.rank(), a.rank()); c != 0 {
			return c
		}
		return cmp.Compare(a.key, b.key)
	})
	growth := make([]uint64, len(totals))
	for i, t := range totals {
		growth[i] = t - min(f.totals[i], t)
		f.totals[i] = max(f.totals[i], t)
	}
	kept := ranked[:min(f.most, len(ranked))]
	keep := make(map[*Row]bool, len(kept))
	for _, k := range kept {
		keep[k.row] = true
	}
	other.Gauges = nil
	for i := range rows {
		r := &rows[i]
		m := f.memory[keyOf(r.Labels)]
		m.shown = keep[r]
		grown := m.advance(r.Counters)
		if !m.shown {
			folded++
			if other.Gauges == nil {
				other.Gauges = make([]float64, len(r.Gauges))
			}
			for j, g := range r.Gauges {
				other.Gauges[j] += g
			}
			continue
		}
		counters := make([]uint64, len(r.Counters))
		for j := range counters {
			counters[j] = m.base[j] + m.counters[j]
			growth[j] -= min(grown[j], growth[j])
		}
		shown = append(shown, Row{Labels: r.Labels, Counters: counters, Gauges: r.Gauges})
	}
	for i, g := range growth {
		f.other[i] += g
	}
	other.Counters = slices.Clone(f.other)
	f.forget(now)
	return shown, other, folded
}

type ranking struct {
	row  *Row
	memo *memo
	key  string
}

func (k ranking) rank() float64 {
	if k.memo.shown {
		return incumbent * (k.memo.score + 1)
	}
	return k.memo.score
}

// advance takes the counters of a row as of now, and returns by how much they
// have grown. Where they are lower than before the row has gone and come back.
func (m *memo) advance(counters []uint64) []uint64 {
	grown := make([]uint64, len(counters))
	for i, c := range counters {
		if c < m.counters[i] {
			m.base[i] += m.counters[i]
			m.counters[i] = 0
		}
		grown[i] = c - m.counters[i]
		m.counters[i] = c
	}
	return grown
}

// forget drops what is known of rows that have gone.
func (f *folder) forget(now time.Time) {
	var gone []string
	for key, m := range f.memory {
		if !m.seen.Equal(now) {
			m.shown = false
			gone = append(gone, key)
		}
	}
	slices.SortFunc(gone, func(a, b string) int { return f.memory[b].seen.Compare(f.memory[a].seen) })
	for i, key := range gone {
		if i >= maxMemos*f.most || now.Sub(f.memory[key].seen) > remembered {
			delete(f.memory, key)
		}
	}
	f.memory = shrink.Map(f.memory, &f.largest)
}

// keyOf is a name for labels.
func keyOf(labels []string) string {
	key := ""
	for _, l := range labels {
		key += l + "\xff" // in no label
	}
	return key
}
