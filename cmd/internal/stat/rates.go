package stat

import "time"

// A tally is what the counters of a view were at a look.
type tally struct {
	at     map[string]time.Time // by router
	counts map[string][]any     // by router and entity: float64, or nil
}

func newTally() *tally {
	return &tally{at: make(map[string]time.Time), counts: make(map[string][]any)}
}

// note remembers the counters of an entity, and returns how fast each has grown
// since the look before: nil where that is not known.
func (t *tally) note(before *tally, columns []*Column, r *Record) []any {
	id := r.Router + "\x00" + r.text("identity")
	now := make([]any, len(columns))
	rates := make([]any, len(columns))
	for i, c := range columns {
		now[i] = c.value(r)
	}
	t.counts[id] = now
	if before == nil {
		return rates
	}
	was, elapsed := before.counts[id], t.at[r.Router].Sub(before.at[r.Router]).Seconds()
	if len(was) != len(columns) || elapsed <= 0 || before.at[r.Router].IsZero() {
		return rates
	}
	for i := range columns {
		a, isA := was[i].(float64)
		b, isB := now[i].(float64)
		if isA && isB && b >= a { // less: it is another entity, or the router has started anew
			rates[i] = (b - a) / elapsed
		}
	}
	return rates
}

// perSecond returns the column for the rate of a counter.
func perSecond(c *Column) Column {
	kind := rate
	if c.kind == size {
		kind = size
	}
	title := c.Title + "/s"
	r := Column{kind: kind, value: nil}
	r.Column = c.Column
	r.Title, r.Cut = title, 0
	return r
}
