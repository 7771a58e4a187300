package stat

import (
	"fmt"
	"slices"
)

// An item is a row that is to be printed.
type item struct {
	cells []string // for a table
	line  []byte   // for JSON
	keys  []any    // what it is sorted by
}

// An order is how rows are sorted: by the first key, then by the next.
type order []struct {
	column  *Column
	descend bool
}

func (o order) compare(a, b *item) int {
	for i := range o {
		if c := compare(a.keys[i], b.keys[i], o[i].descend); c != 0 {
			return c
		}
	}
	return 0
}

// keys are what a record is sorted by.
func (o order) keys(r *Record) []any {
	keys := make([]any, len(o))
	for i := range o {
		keys[i] = o[i].column.value(r)
	}
	return keys
}

// A collector brings rows into order and passes on so many of them. Without an
// order that was asked for, many rows are passed on as they come.
type collector struct {
	order  order
	asked  bool // for this order
	limit  int  // rows; 0: all
	latest bool // the limit means the last ones
	emit   func(*item) error

	items   []*item
	streams bool
	seen    int // rows
	emitted int
}

// add takes a row. It returns false when no more are wanted.
func (c *collector) add(i *item) (bool, error) {
	c.seen++
	switch {
	case c.streams:
		return c.pass(i)
	case c.latest: // a router keeps few
		c.items = append(c.items, i)
		return true, nil
	case c.limit > 0 && !c.asked:
		c.items = append(c.items, i)
		return c.seen < c.limit, nil
	}
	c.items = append(c.items, i)
	switch {
	case !c.asked && len(c.items) > sortedAnyway:
		c.streams = true
		for _, i := range c.items {
			if more, err := c.pass(i); err != nil || !more {
				return more, err
			}
		}
		c.items = nil
	case c.limit > 0 && len(c.items) >= 2*c.limit+sortedAnyway:
		slices.SortStableFunc(c.items, c.order.compare)
		clear(c.items[c.limit:])
		c.items = c.items[:c.limit]
	case len(c.items) > maxSorted:
		return false, fmt.Errorf("there are more than %d rows to sort: take some with --filter, or the first with --limit", maxSorted)
	}
	return true, nil
}

func (c *collector) pass(i *item) (bool, error) {
	c.emitted++
	return c.limit == 0 || c.emitted < c.limit, c.emit(i)
}

// finish passes on what has been held.
func (c *collector) finish() error {
	if c.streams {
		return nil
	}
	slices.SortStableFunc(c.items, c.order.compare)
	if c.limit > 0 && len(c.items) > c.limit {
		if c.latest {
			c.items = c.items[len(c.items)-c.limit:]
		} else {
			c.items = c.items[:c.limit]
		}
	}
	for _, i := range c.items {
		c.emitted++
		if err := c.emit(i); err != nil {
			return err
		}
	}
	return nil
}
