package stat

import (
	"slices"
	"strings"

	"sluice/amqp/encoding"
	"sluice/cmd/internal/management"
)

// A Record is one entity as a router has shown it.
type Record struct {
	Router string
	at     map[string]int // attribute: place in row
	names  []string
	row    []any
}

// records returns the rows of a page.
func records(router string, p *management.Page) []Record {
	at := make(map[string]int, len(p.Attributes))
	for i, name := range p.Attributes {
		if _, twice := at[name]; !twice {
			at[name] = i
		}
	}
	list := make([]Record, len(p.Rows))
	for i, row := range p.Rows {
		list[i] = Record{router, at, p.Attributes, row}
	}
	return list
}

// get returns the value of an attribute; nil if it is null or not there.
func (r *Record) get(name string) any {
	if i, ok := r.at[name]; ok {
		return r.row[i]
	}
	return nil
}

// text returns the value of an attribute as text; empty if there is none.
func (r *Record) text(name string) string {
	s, _ := words(r.get(name)).(string)
	return s
}

// number returns the value of an attribute that is a number.
func (r *Record) number(name string) (float64, bool) { return asNumber(r.get(name)) }

func asNumber(v any) (float64, bool) {
	if n, ok := encoding.Integer(v); ok {
		return float64(n), true
	}
	switch v := v.(type) {
	case float32:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// sum adds up attributes; nil if the record has none of them.
func (r *Record) sum(names ...string) any {
	total, some := 0.0, false
	for _, name := range names {
		if n, ok := r.number(name); ok {
			total, some = total+n, true
		}
	}
	if !some {
		return nil
	}
	return total
}

// yes tells whether an attribute is true.
func (r *Record) yes(name string) bool {
	b, _ := r.get(name).(bool)
	return b
}

// words returns a value as a string, a float64, a bool or nil. Lists and maps
// become text.
func words(v any) any {
	if n, ok := asNumber(v); ok {
		return n
	}
	switch v := management.Plain(v).(type) {
	case nil, bool:
		return v
	case string:
		if v == "" {
			return nil
		}
		return v
	case []any:
		list := make([]string, len(v))
		for i, e := range v {
			list[i] = shown(e)
		}
		return strings.Join(list, ", ")
	case map[string]any:
		var list []string
		for key, e := range v {
			list = append(list, key+"="+shown(e))
		}
		slices.Sort(list)
		return strings.Join(list, ", ")
	}
	return nil
}
