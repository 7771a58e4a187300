package management

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"sluice/router/control/schema"
)

// An Object is a map that JSON shows in an order of its own.
type Object []Member

// A Member is a name and its value.
type Member struct {
	Name  string
	Value any
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := e.Encode(m.Name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := e.Encode(Plain(m.Value)); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Entity returns the attributes of an entity in the order of the schema, what
// the schema does not know last.
func Entity(m map[string]any) Object {
	var o Object
	left := maps.Clone(m)
	if typ, _ := m["type"].(string); schema.ByName(typ) != nil {
		for _, a := range schema.ByName(typ).Attributes {
			if v, ok := left[a.Name]; ok {
				o = append(o, Member{a.Name, v})
				delete(left, a.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		o = append(o, Member{name, left[name]})
	}
	return o
}

// Objects returns the rows of a page, without what is null.
func (p *Page) Objects() []Object {
	list := make([]Object, len(p.Rows))
	for i, row := range p.Rows {
		list[i] = make(Object, 0, len(row))
		for j, v := range row {
			if v != nil {
				list[i] = append(list[i], Member{p.Attributes[j], v})
			}
		}
	}
	return list
}

// Map returns the members by name.
func (o Object) Map() map[string]any {
	m := make(map[string]any, len(o))
	for _, e := range o {
		m[e.Name] = e.Value
	}
	return m
}
