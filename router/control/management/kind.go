package management

import (
	"slices"
	"strings"

	"sluice/amqp/encoding"
	"sluice/router/control/schema"
)

// A kind is what the desk knows of the entities of one type. All functions but
// list and row may be nil: the type has no such operation.
type kind struct {
	schema  *schema.Entity
	columns []string // in the order of a QUERY for all

	// list returns the identities of the entities, in a stable order.
	list func() []string
	// row fills in the values of an entity in the order of columns; false means
	// that it has gone. The row is to's memory where that is large enough.
	row func(identity string, to []any) ([]any, bool)
	// rows is list and row of one moment, for who looks at many entities. Where it is
	// nil they are that, and row takes as long for many entities as for few.
	rows func() (identities []string, row func(identity string, to []any) ([]any, bool))
	// named returns the identity that belongs to a name. Where it is nil, rows
	// are searched.
	named func(name string) (string, bool)

	create func(name string, a attributes) (identity string, err error)
	update func(identity string, a attributes) error
	remove func(identity string) error

	// numbered entities have a number for their identity, and null members in
	// maps, as one of the two agents of the existing family had it.
	numbered bool
}

func (k *kind) name() string { return k.schema.Name }
func (k *kind) full() string { return k.schema.FullName() }

// all returns the identities of the entities, and what makes their rows.
func (k *kind) all() (identities []string, row func(identity string, to []any) ([]any, bool)) {
	if k.rows != nil {
		return k.rows()
	}
	return k.list(), k.row
}

// column returns where an attribute is in a row, or -1.
func (k *kind) column(name string) int { return slices.Index(k.columns, name) }

// known tells whether the schema has an attribute, served or not.
func (k *kind) known(name string) bool {
	a := k.schema.Attribute(name)
	return a != nil && a.Name == name
}

// operations are those that can be done, in the order of the schema.
func (k *kind) operations() []string {
	var list []string
	for _, op := range k.schema.Operations {
		if k.can(op) {
			list = append(list, op)
		}
	}
	return list
}

// takes tells whether an operation can be done with an entity. Connections can be
// updated although the schema does not say so.
func (k *kind) takes(operation string) bool {
	return contains(k.operations(), operation) || operation == "UPDATE" && k.update != nil
}

func (k *kind) can(operation string) bool {
	switch operation {
	case "CREATE":
		return k.create != nil
	case "UPDATE":
		return k.update != nil
	case "DELETE":
		return k.remove != nil
	case "CALLME":
		return k.create != nil
	case "PROFILE":
		return false
	}
	return true
}

// none is a kind without entities: the schema knows the type, and this router
// has none.
func none(e *schema.Entity) *kind {
	k := &kind{schema: e, numbered: numbered(e)}
	k.columns = order(e, func(*schema.Attribute) bool { return true })
	k.list = func() []string { return nil }
	k.row = func(string, []any) ([]any, bool) { return nil, false }
	return k
}

// order returns the names of the attributes of e that are served: as the agents
// of the existing family have them, and then sluice's own.
func order(e *schema.Entity, served func(*schema.Attribute) bool) []string {
	var list, own []string
	core := make([]string, len(e.Attributes))
	for _, a := range e.Attributes {
		switch {
		case !served(a):
		case a.Own():
			own = append(own, a.Name)
		case a.CoreColumn >= 0:
			core[a.CoreColumn] = a.Name
		case a.Type != schema.CoreOnly:
			list = append(list, a.Name)
		}
	}
	core = slices.DeleteFunc(core, func(s string) bool { return s == "" })
	return slices.Concat(core, list, own)
}

// numbered tells whether the entities of a type have numbers for identities.
func numbered(e *schema.Entity) bool {
	return slices.ContainsFunc(e.Attributes, func(a *schema.Attribute) bool { return a.CoreColumn >= 0 }) || e.Name == "router.connection.linkRoute"
}

// find returns the identity of an entity, of which the request gives name or
// identity.
func (k *kind) find(name, identity string, byName bool) (string, []any, bool) {
	if !byName {
		if k.numbered {
			identity = strings.TrimPrefix(identity, k.name()+"/")
		}
		row, ok := k.row(identity, nil)
		return identity, row, ok
	}
	if k.named != nil {
		id, ok := k.named(name)
		if !ok {
			return "", nil, false
		}
		row, ok := k.row(id, nil)
		return id, row, ok
	}
	at := k.column("name")
	var row []any
	ids, rowOf := k.all()
	for _, id := range ids {
		r, ok := rowOf(id, row)
		if !ok {
			continue
		}
		if row = r; at >= 0 && r[at] == name {
			return id, r, true
		}
	}
	return "", nil, false
}

// members returns a row as a map.
func (k *kind) members(row []any) encoding.Map {
	m := make(encoding.Map, 0, len(row))
	for i, v := range row {
		if v != nil || k.numbered {
			m = append(m, encoding.MapEntry{Key: k.columns[i], Value: v})
		}
	}
	return m
}

// small returns an integer as the generic agent of the existing family sends it:
// an int if that is large enough.
func small(n int64) any {
	if int64(int32(n)) == n {
		return int32(n)
	}
	return n
}

// orNil returns null for no text.
func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
