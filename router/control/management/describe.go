package management

import (
	"encoding/json"
	"strings"

	"sluice/amqp/encoding"
	"sluice/router/control/schema"
)

// byType answers with a map from the full name of each type asked for.
func (d *Desk) byType(q *request, f func(*kind) []string) (*reply, error) {
	kinds, err := d.selected(q)
	if err != nil {
		return nil, err
	}
	m := make(encoding.Map, len(kinds))
	for i, k := range kinds {
		m[i] = encoding.MapEntry{Key: k.full(), Value: texts(f(k))}
	}
	return value(statusOK, m)
}

func (d *Desk) getTypes(q *request) (*reply, error) {
	return d.byType(q, func(k *kind) []string { return bases(k.schema) })
}

func (d *Desk) getAttributes(q *request) (*reply, error) {
	return d.byType(q, func(k *kind) []string {
		var names []string
		for _, a := range k.schema.Attributes {
			if a.Type != schema.CoreOnly {
				names = append(names, a.Name)
			}
		}
		return names
	})
}

func (d *Desk) getOperations(q *request) (*reply, error) {
	return d.byType(q, (*kind).operations)
}

func (d *Desk) getAnnotations(q *request) (*reply, error) {
	if _, err := d.selected(q); err != nil {
		return nil, err
	}
	return value(statusOK, encoding.Map{})
}

func (d *Desk) getNodes(*request) (*reply, error) {
	list := []any{}
	for _, n := range d.router.Nodes() {
		list = append(list, "amqp:/_topo/0/"+n.ID+"/$management")
	}
	return value(statusOK, list)
}

func (d *Desk) getSchema(*request) (*reply, error) { return value(statusOK, wholeSchema()) }

// getJSONSchema answers with the same as text. The indentation is at most 8.
func (d *Desk) getJSONSchema(q *request) (*reply, error) {
	indent := q.number("indent", q.property("indent"))
	if q.err != nil {
		return nil, q.err
	}
	v, _ := plain(wholeSchema())
	b, err := json.Marshal(v)
	if indent > 0 {
		b, err = json.MarshalIndent(v, "", strings.Repeat(" ", min(indent, 8)))
	}
	if err != nil {
		return nil, &Status{statusInternalError, err.Error()}
	}
	return value(statusOK, string(b))
}

// wholeSchema is the schema as tools want it. Members that are false or empty are
// left out.
func wholeSchema() encoding.Map {
	var types encoding.Map
	for _, e := range schema.Entities() {
		types = append(types, encoding.MapEntry{Key: strings.TrimPrefix(e.Name, "router.config."), Value: entitySchema(e)})
	}
	return encoding.Map{
		{Key: "prefix", Value: strings.TrimSuffix(schema.Prefix, ".")},
		{Key: "entityTypes", Value: types},
	}
}

func entitySchema(e *schema.Entity) encoding.Map {
	var attrs encoding.Map
	for _, a := range e.Attributes {
		if a.Name != "type" && a.Type != schema.CoreOnly {
			attrs = append(attrs, encoding.MapEntry{Key: a.Name, Value: attributeSchema(a)})
		}
	}
	m := encoding.Map{}
	m = member(m, "attributes", attrs, attrs != nil)
	m = member(m, "operations", texts(e.Operations), e.Operations != nil)
	m = member(m, "description", e.Doc, e.Doc != "")
	m = member(m, "fullyQualifiedType", e.FullName(), true)
	m = member(m, "references", true, e.Referential)
	m = member(m, "deprecated", true, e.Deprecated)
	return member(m, "singleton", true, e.Singleton)
}

func attributeSchema(a *schema.Attribute) encoding.Map {
	m := encoding.Map{}
	switch a.Type {
	case schema.Enum:
		m = member(m, "type", texts(a.Enum), true)
	case schema.Bytes:
		m = member(m, "type", string(schema.Integer), true)
	default:
		m = member(m, "type", string(a.Type), true)
	}
	m = member(m, "default", defaultValue(a), a.Default != "")
	m = member(m, "required", true, a.Required)
	m = member(m, "unique", true, a.Unique)
	m = member(m, "deprecated", true, a.Deprecated)
	m = member(m, "description", a.Doc, a.Doc != "")
	return member(m, "graph", true, a.Graph)
}

func member(m encoding.Map, key string, v any, has bool) encoding.Map {
	if !has {
		return m
	}
	return append(m, encoding.MapEntry{Key: key, Value: v})
}

// defaultValue is the default with the type of the attribute.
func defaultValue(a *schema.Attribute) any {
	switch a.Type {
	case schema.Integer, schema.Bytes:
		n, _ := schema.ParseBytes(a.Default)
		return small(n)
	case schema.Boolean:
		yes, _ := schema.ParseBoolean(a.Default)
		return yes
	}
	return a.Default
}
