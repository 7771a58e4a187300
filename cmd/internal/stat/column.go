package stat

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sluice/cmd/internal/management"
	"sluice/cmd/internal/table"
)

// kind says how the values of a column are written and sorted.
type kind uint8

const (
	text    kind = iota
	count        // a number of things
	size         // bytes
	age          // seconds
	flagged      // yes or no
	rate         // per second
	moment       // seconds since 1970
)

// number tells whether values of the kind are quantities: they stand to the
// right, and the largest is of most interest.
func (k kind) number() bool { return k != text && k != flagged && k != moment }

// A Column is made of attributes.
type Column struct {
	table.Column
	label   string   // in lists; empty: the title
	needs   []string // attributes; where a router has none of them there is no column
	kind    kind
	value   func(*Record) any // string, float64, bool or nil
	wide    bool              // only where there is room without end
	counter bool              // only goes up: its rate is of interest
	any     bool              // needs only one of its attributes
}

// of returns a column that shows one attribute.
func of(k kind, title, attribute string) Column {
	return Column{
		Column: table.Column{Title: title, Right: k.number()}, kind: k, needs: []string{attribute},
		value: func(r *Record) any { return words(r.get(attribute)) },
	}
}

// made returns a column that is made of several attributes.
func made(k kind, title string, value func(*Record) any, needs ...string) Column {
	return Column{Column: table.Column{Title: title, Right: k.number()}, kind: k, needs: needs, value: value}
}

// total returns a column that adds up attributes.
func total(k kind, title string, needs ...string) Column {
	c := made(k, title, func(r *Record) any { return r.sum(needs...) }, needs...)
	c.any = true
	return c
}

// unlessZero has nothing instead of 0, where that means that there is no such
// thing.
func (c Column) unlessZero() Column {
	value := c.value
	c.value = func(r *Record) any {
		if v := value(r); v != 0.0 {
			return v
		}
		return nil
	}
	return c
}

// cut says how narrow the column may become.
func (c Column) cut(width int) Column { c.Cut = width; return c }

// rank says how early the column goes when there is no room; never if 0.
func (c Column) rank(n int) Column { c.Rank = n; return c }

// onlyWide says that the column is for those who ask for all.
func (c Column) onlyWide() Column { c.wide = true; return c }

// counting says that the value is a counter.
func (c Column) counting() Column { c.counter = true; return c }

// called gives the column a longer name for lists.
func (c Column) called(label string) Column { c.label = label; return c }

// in tells whether the attributes of the column are among those served.
func (c *Column) in(served map[string]bool) bool {
	for _, name := range c.needs {
		if served[name] == c.any {
			return c.any
		}
	}
	return !c.any || len(c.needs) == 0
}

// cell returns the text of a value.
func (c *Column) cell(v any) string {
	if n, ok := v.(float64); ok {
		switch c.kind {
		case size:
			return table.Bytes(n)
		case age:
			return table.Age(time.Duration(n) * time.Second)
		case rate:
			return table.Rate(n)
		case moment:
			return time.Unix(int64(n), 0).Format(time.DateTime)
		}
	}
	return shown(v)
}

// nothing stands for a value that is not there.
const nothing = "-"

// shown returns a value as it is read best.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return nothing
	case string:
		return management.Printable(v)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	}
	if n, ok := asNumber(v); ok {
		return table.Count(int64(n))
	}
	return management.Printable(fmt.Sprint(v))
}

// descends tells whether the column is sorted from its largest value on: that
// is what is looked for in numbers.
func (c *Column) descends() bool { return c.kind.number() }

// compare orders values: numbers by size, text by its letters and the numbers in
// it. What is not there comes last, whatever the direction.
func compare(a, b any, descending bool) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	order := 0
	x, isX := a.(float64)
	y, isY := b.(float64)
	switch p, q := a.(bool); {
	case isX && isY:
		order = cmp.Compare(x, y)
	case q:
		r, _ := b.(bool)
		order = cmp.Compare(truth(p), truth(r))
	default:
		s, _ := a.(string)
		t, _ := b.(string)
		order = natural(s, t)
	}
	if descending {
		return -order
	}
	return order
}

func truth(b bool) int {
	if b {
		return 0 // what is so comes first
	}
	return 1
}

// natural compares text in which runs of digits count as numbers: a9 < a10.
func natural(a, b string) int {
	for a != "" && b != "" {
		m, n := digits(a), digits(b)
		if m > 0 && n > 0 {
			x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[m:], b[n:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}
