package stat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/cmd/internal/management"
)

// A Router is one that is asked.
type Router struct {
	ID   string
	Node management.Caller
}

// Options say what of a view is shown, and how.
type Options struct {
	View    *View
	Wide    bool   // all columns, and lines of any length
	JSON    bool   // a line for each row instead of tables
	Sort    string // title of the column to sort by; empty: as the view is
	Reverse bool
	Filter  string // pattern for names; empty: all
	Limit   int    // rows; 0: all
	Width   int    // of the terminal; 0: lines may have any length
	Named   bool   // each row says which router it is of
}

// Check returns what is wrong with the options.
func (o *Options) Check() error {
	parts := o.View.Parts()
	if o.Sort == "" || len(parts) == 1 && parts[0].sortable(o) {
		return nil
	}
	if len(parts) > 1 {
		return fmt.Errorf("%s is several tables, which cannot be sorted by %q at once", o.View.Name, o.Sort)
	}
	if _, near := parts[0].column(o.Sort); near != "" {
		return fmt.Errorf("%s has no column %q; did you mean %s?", o.View.Name, o.Sort, near)
	}
	return fmt.Errorf("%s has no column %q; it has %s", o.View.Name, o.Sort, strings.Join(parts[0].Titles(), ", "))
}

func (v *View) sortable(o *Options) bool {
	c, _ := v.column(o.Sort)
	return c != nil || o.Named && o.Sort == routerTitle
}

// routerTitle is the column that says which router a row is of.
const routerTitle = "router"

// A Look is one look at routers.
type Look struct {
	Options
	Out io.Writer
	// Notes are what is to be said besides: what is not shown, and why.
	Notes []string
	// Failed are the errors of routers that were asked for nothing.
	Failed []error

	// Of a watch: the counters at the look before, and now; what takes away the
	// rows that have been shown.
	before, tally *tally
	fresh         func(router string, p *management.Page)
	goesOn        bool // no heading: rows have been shown before
	height        int  // rows of a table that are shown; 0: all
	at            time.Time
}

// source is one router while it is read.
type source struct {
	Router
	next  func() (*management.Page, error, bool)
	stop  func()
	first *management.Page
	err   error
}

// Run asks all routers at once and prints what they have, one after the other.
// It fails only if none has answered.
func (l *Look) Run(ctx context.Context, routers []Router) error {
	for i, part := range l.View.Parts() {
		if err := l.part(ctx, part, routers, i); err != nil {
			return err
		}
	}
	return nil
}

func (l *Look) part(ctx context.Context, v *View, routers []Router, number int) error {
	sources := l.open(ctx, v, routers)
	defer func() {
		for _, s := range sources {
			s.stop()
		}
	}()
	served, alive := map[string]bool{}, 0
	var failed error
	for _, s := range sources {
		if s.err != nil {
			failed = s.err
			if number == 0 {
				l.Failed = append(l.Failed, l.of(s))
			}
			continue
		}
		alive++
		for _, name := range s.first.Attributes {
			served[name] = true
		}
	}
	var refused *management.StatusError
	switch {
	case alive > 0:
	case len(l.View.Parts()) > 1 && errors.As(failed, &refused): // the other parts may be there
		l.Notes = append(l.Notes, fmt.Sprintf("%s: %v", v.title, refused))
		return nil
	default:
		l.Failed = nil
		return failed
	}
	if v.lacking != nil {
		for _, s := range sources {
			if s.err == nil {
				has := make(map[string]bool)
				for _, name := range s.first.Attributes {
					has[name] = true
				}
				if text := v.lacking(has); text != "" {
					l.Notes = append(l.Notes, fmt.Sprintf("router %s %s", s.ID, text))
				}
			}
		}
	}
	columns, counters := l.columns(v, served)
	sorted, err := l.sorted(v, served)
	if err != nil {
		return err
	}
	if v.spare && !slices.ContainsFunc(sources, func(s *source) bool { return s.first != nil && len(s.first.Rows) > 0 }) {
		return nil
	}
	if v.title != "" && !l.JSON && len(l.View.Parts()) > 1 {
		if number > 0 {
			fmt.Fprintln(l.Out)
		}
		fmt.Fprintln(l.Out, v.title)
	}
	return l.print(ctx, v, sources, columns, counters, sorted)
}

// of says which router an error is of.
func (l *Look) of(s *source) error {
	var none *management.NoAnswer
	var unknown *management.Unknown
	if errors.As(s.err, &none) || errors.As(s.err, &unknown) {
		return s.err // it says so
	}
	return fmt.Errorf("router %s: %w", s.ID, s.err)
}

// open asks all routers for their first page.
func (l *Look) open(ctx context.Context, v *View, routers []Router) []*source {
	limit := 0
	if l.Filter == "" && l.Sort == "" && v.keep == nil && l.height == 0 {
		limit = l.Limit
	}
	sources := make([]*source, len(routers))
	room := make(chan struct{}, atOnce)
	var asking sync.WaitGroup
	for i, r := range routers {
		s := &source{Router: r}
		s.next, s.stop = iter.Pull2(v.ask(ctx, r.Node, limit, max(firstRows/len(routers), 1), l.JSON))
		sources[i] = s
		asking.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			s.first, s.err, _ = s.next()
			if s.first == nil && s.err == nil {
				s.err = errors.New("BUG: a query without a page")
			}
		})
	}
	asking.Wait()
	return sources
}

// columns are those that are shown; and the counters among those of the view.
func (l *Look) columns(v *View, served map[string]bool) (columns []Column, counters []*Column) {
	if l.Named && v.columns[0].Title != routerTitle {
		columns = append(columns, made(text, routerTitle, func(r *Record) any { return r.Router }).cut(8))
	}
	for i := range v.columns {
		c := &v.columns[i]
		// What is completed later is not served.
		if !c.in(served) && !(v.complete != nil && c.needs[0] == peerContainer) {
			continue
		}
		if c.counter && l.tally != nil {
			counters = append(counters, c)
		}
		if c.wide && !l.Wide {
			continue
		}
		columns = append(columns, *c)
		if c.counter && l.tally != nil {
			columns = append(columns, perSecond(c))
		}
	}
	return columns, counters
}

// sorted returns the order of rows.
func (l *Look) sorted(v *View, served map[string]bool) (order, error) {
	titles := v.order
	switch {
	case l.Sort != "":
		titles = append([]string{l.Sort}, titles...)
	case l.Named && titles != nil:
		titles = append([]string{routerTitle}, titles...)
	}
	var o order
	for i, title := range titles {
		c, _ := v.column(title)
		if c == nil && title == routerTitle {
			named := made(text, routerTitle, func(r *Record) any { return r.Router })
			c = &named
		}
		if c == nil || !c.in(served) && c.needs[0] != peerContainer {
			if i == 0 && l.Sort != "" {
				return nil, fmt.Errorf("cannot sort by %q: the router does not have %s", title, strings.Join(c.needs, ", "))
			}
			continue
		}
		descend := c.descends()
		if i == 0 && l.Reverse {
			descend = !descend
		}
		o = append(o, struct {
			column  *Column
			descend bool
		}{c, descend})
	}
	return o, nil
}

// print prints the rows of all routers.
func (l *Look) print(ctx context.Context, v *View, sources []*source, columns []Column, counters []*Column, sorted order) error {
	p := l.printer(v, sources, columns)
	c := &collector{order: sorted, asked: l.Sort != "" || l.Reverse || l.height > 0, limit: l.Limit, latest: v.latest, emit: p.row}
	if l.height > 0 && !v.list && (c.limit == 0 || l.height < c.limit) {
		c.limit = l.height
	}
	var keep filter
	if l.Filter != "" {
		keep = newFilter(l.Filter)
	}
	names := v.names
	if v.exact != nil {
		if name := v.exact(l.Filter); name != "" {
			names, keep.match = []string{name}, func(s string) bool { return strings.EqualFold(s, l.Filter) }
		}
	}
	more := true
	for _, s := range sources {
		if s.err != nil || !more {
			continue
		}
		if l.tally != nil {
			l.tally.at[s.ID] = l.at
		}
		rows := 0
		var kept any
		for page := s.first; page != nil && more; {
			if l.fresh != nil {
				l.fresh(s.ID, page)
			}
			if v.complete != nil {
				kept = v.complete(ctx, s.Node, page, kept)
			}
			for _, r := range records(s.ID, page) {
				if v.keep != nil && !v.keep(&r) || !keep.keeps(&r, names) {
					continue
				}
				rows++
				i := l.item(&r, columns, counters, sorted)
				ok, err := c.add(i)
				if err != nil {
					return err
				}
				if more = ok; !more {
					break
				}
			}
			if !more {
				break
			}
			page, s.err, _ = s.next()
		}
		s.stop()
		if s.err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			l.Failed = append(l.Failed, fmt.Errorf("%w, after %d rows", l.of(s), rows))
		} else if rows == 0 && v.empty != nil && l.Filter == "" {
			l.Notes = append(l.Notes, v.empty(ctx, s.Router))
		}
	}
	if err := c.finish(); err != nil {
		return err
	}
	hidden, err := p.flush()
	if len(hidden) > 0 {
		what := ""
		if len(l.View.Parts()) > 1 {
			what = v.title + ": "
		}
		l.Notes = append(l.Notes, what+fmt.Sprintf("no room for %s; --wide shows all", strings.Join(hidden, ", ")))
	}
	if rest := c.seen - c.emitted; l.height > 0 && rest > 0 && c.limit == l.height {
		l.Notes = append(l.Notes, fmt.Sprintf("and %d more; --sort chooses which are shown", rest))
	}
	return err
}

func (l *Look) printer(v *View, sources []*source, columns []Column) printer {
	width := l.Width
	if l.Wide {
		width = 0
	}
	switch {
	case l.JSON:
		return jsonPrinter{l.Out}
	case v.list && len(sources) == 1 && !l.Named:
		return newListPrinter(l.Out, width, columns)
	}
	return newTablePrinter(l.Out, width, columns, l.goesOn)
}

// item turns a record into what is printed of it.
func (l *Look) item(r *Record, columns []Column, counters []*Column, sorted order) *item {
	var rates []any
	if l.tally != nil {
		rates = l.tally.note(l.before, counters, r)
	}
	i := &item{keys: sorted.keys(r)}
	if l.JSON {
		at := ""
		if l.tally != nil && l.fresh == nil {
			at = l.at.UTC().Format(time.RFC3339Nano)
		}
		i.line = object(r, at, counters, rates)
		return i
	}
	i.cells = make([]string, len(columns))
	for n := range columns {
		c := &columns[n]
		switch {
		case c.value != nil:
			i.cells[n] = c.cell(c.value(r))
		case rates != nil: // the counter before it is the next of those that are shown
			i.cells[n] = c.cell(rates[place(counters, columns[n-1].Title)])
		}
	}
	return i
}

func place(counters []*Column, title string) int {
	return slices.IndexFunc(counters, func(c *Column) bool { return c.Title == title })
}
