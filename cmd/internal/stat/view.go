package stat

import (
	"context"
	"iter"
	"slices"

	"sluice/cmd/internal/management"
	"sluice/router/control/schema"
)

// A View is one thing to look at.
type View struct {
	Name  string
	Also  []string // other names
	About string   // for the list of views

	typ     string // of entity, without prefix
	columns []Column
	names   []string // attributes that a filter looks at
	order   []string // columns to sort by; none: as the router has them
	keep    func(*Record) bool
	list    bool    // of one router, a list of names and values
	parts   []*View // shown instead, one after the other
	title   string  // of a part
	spare   bool    // a part that is not shown if it is empty
	latest  bool    // a limit means the last rows; a watch shows only new ones
	// exact returns the only attribute that a pattern is about, which then must be it;
	// empty if it is about names.
	exact func(pattern string) string
	// empty says what there is to say of a router that has none.
	empty func(ctx context.Context, r Router) string

	// pages asks for the rows, where that is not a plain query.
	pages func(ctx context.Context, c management.Caller, limit int) iter.Seq2[*management.Page, error]
	// complete adds what the router keeps elsewhere to a page. What it returns is
	// kept for the next page of the same router.
	complete func(ctx context.Context, c management.Caller, p *management.Page, kept any) any
	// lacking returns what to say of routers without some attributes.
	lacking func(served map[string]bool) string
}

// saying says of a router what is the same for all.
func saying(text string) func(context.Context, Router) string {
	return func(_ context.Context, r Router) string { return "router " + r.ID + " " + text }
}

// Views are all that can be looked at, in the order of the help.
var Views = []*View{
	general, connections, links, addresses, nodes, edges, memory, logLines,
	config, listeners, connectors, configAddresses, sslProfiles, logModules,
}

// Find returns the view with a name, or nil and the nearest name there is, if
// any.
func Find(name string) (v *View, nearest string) {
	var names, also []string
	for _, v := range Views {
		if v.Name == name || slices.Contains(v.Also, name) {
			return v, ""
		}
		names, also = append(names, v.Name), append(also, v.Also...)
	}
	if near := schema.Nearest(name, names); near != "" {
		return nil, near
	}
	return nil, schema.Nearest(name, also)
}

// Parts are the views that this one is made of: at least itself.
func (v *View) Parts() []*View {
	if v.parts != nil {
		return v.parts
	}
	return []*View{v}
}

// Column returns the column with a title, or nil and the nearest title.
func (v *View) column(title string) (c *Column, nearest string) {
	var titles []string
	for i := range v.columns {
		if c := &v.columns[i]; c.Title == title {
			return c, ""
		}
		titles = append(titles, v.columns[i].Title)
	}
	return nil, schema.Nearest(title, titles)
}

// Titles are the names of the columns.
func (v *View) Titles() []string {
	titles := make([]string, len(v.columns))
	for i := range v.columns {
		titles[i] = v.columns[i].Title
	}
	return titles
}

// wanted are the attributes that the view is made of.
func (v *View) wanted() []string {
	names := slices.Clone(v.names)
	for i := range v.columns {
		names = append(names, v.columns[i].needs...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ask returns the rows of the view at a router.
func (v *View) ask(ctx context.Context, c management.Caller, limit, first int, all bool) iter.Seq2[*management.Page, error] {
	if v.pages != nil {
		return v.pages(ctx, c, limit)
	}
	q := management.Query{Type: schema.Prefix + v.typ, Limit: limit, First: min(first, management.DefaultPage), Wanted: v.wanted()}
	if all {
		q.Wanted = nil
	}
	return q.Run(ctx, c)
}
