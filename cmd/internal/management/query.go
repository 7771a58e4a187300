package management

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// A Query asks for the entities of a type.
type Query struct {
	Type string // with its prefix; empty: entities of all types
	// Attributes are those to ask for; none means all.
	Attributes []string
	// Wanted are those that are of use, where Attributes are not given. Routers
	// differ in what they make of names that they do not know, so that the first
	// page is asked for with all that the router has.
	Wanted []string
	Limit  int // rows; 0: all
	Page   int // rows at a time; 0: DefaultPage
	First  int // rows of the first page; 0: Page
}

// A Page is a part of the answer to a query.
type Page struct {
	Attributes []string
	Rows       [][]any // each as long as Attributes
}

// Column returns where an attribute is in each row, or -1.
func (p *Page) Column(name string) int { return slices.Index(p.Attributes, name) }

// Run asks for the rows page by page. An error ends it. Entities that come or go
// in the meantime may be there or not, and may move a neighbour out of sight.
func (q Query) Run(ctx context.Context, c Caller) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		size, offset, left := q.Page, 0, q.Limit
		if size <= 0 {
			size = DefaultPage
		}
		names := q.Attributes
		var first any // the identity of the first row of all
		for {
			count := size
			if offset == 0 && q.First > 0 {
				count = q.First
			}
			if left > 0 {
				count = min(count, left)
			}
			p, err := q.page(ctx, c, names, offset, count)
			if err != nil {
				yield(nil, err)
				return
			}
			more := len(p.Rows)*10 >= count*9 // entities that have just gone leave gaps
			all := len(p.Rows) > count        // this agent knows no pages
			at := p.Column("identity")
			if at >= 0 && len(p.Rows) > 0 {
				switch id := Plain(p.Rows[0][at]); {
				case offset == 0:
					first = id
				case id == first: // this one neither, and had exactly as many
					return
				}
			}
			if left > 0 {
				p.Rows = p.Rows[:min(len(p.Rows), left)]
				left -= len(p.Rows)
				more = more && left > 0
			}
			more = more && !all && len(p.Rows) > 0
			if offset == 0 && names == nil && q.Wanted != nil {
				names = served(p, append([]string{"identity"}, q.Wanted...))
			}
			// Who takes the page may change it.
			if (len(p.Rows) > 0 || offset == 0) && !yield(p, nil) || !more {
				return
			}
			offset += count
		}
	}
}

// served returns those of the names that a page has.
func served(p *Page, names []string) []string {
	var list []string
	for _, name := range names {
		if p.Column(name) >= 0 && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

func (q *Query) page(ctx context.Context, c Caller, names []string, offset, count int) (*Page, error) {
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = name
	}
	r := &Request{
		Operation:  "QUERY",
		Properties: map[string]any{"offset": int32(offset), "count": int32(count)},
		Body:       map[string]any{"attributeNames": list},
	}
	if q.Type != "" {
		r.Properties["entityType"] = q.Type
	}
	reply, err := c.Call(ctx, r)
	if err != nil {
		return nil, err
	}
	p, err := page(reply.Body)
	if err != nil {
		return nil, fmt.Errorf("the answer to QUERY is wrong: %w", err)
	}
	return p, nil
}

// page decodes the answer to a QUERY.
func page(body any) (*Page, error) {
	m, ok := body.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is a %T; expected a map", body)
	}
	names, ok := m["attributeNames"].([]any)
	if !ok && m["attributeNames"] != nil {
		return nil, fmt.Errorf("attributeNames is a %T; expected a list", m["attributeNames"])
	}
	rows, ok := m["results"].([]any)
	if !ok && m["results"] != nil {
		return nil, fmt.Errorf("results is a %T; expected a list", m["results"])
	}
	p := &Page{Attributes: make([]string, len(names)), Rows: make([][]any, len(rows))}
	for i, name := range names {
		if p.Attributes[i], ok = name.(string); !ok {
			return nil, fmt.Errorf("an attribute's name is a %T; expected a string", name)
		}
	}
	for i, row := range rows {
		values, ok := row.([]any)
		if !ok && row != nil || len(values) != len(names) {
			return nil, fmt.Errorf("row %d has %d values for %d attributes", i, len(values), len(names))
		}
		p.Rows[i] = values
	}
	return p, nil
}
