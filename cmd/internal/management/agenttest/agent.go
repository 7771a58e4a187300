package agenttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sluice/amqp/encoding"
	"sluice/cmd/internal/management"
	"sluice/router/control/schema"
)

// A Table is the entities of a type.
type Table struct {
	Attributes []string // of all entities; "identity" should be among them
	Rows       [][]any
	// Make, if it is there, makes row i of N instead.
	Make func(i int) []any
	N    int
}

func (t *Table) len() int {
	if t.Make != nil {
		return t.N
	}
	return len(t.Rows)
}

func (t *Table) row(i int) []any {
	if t.Make != nil {
		return t.Make(i)
	}
	return t.Rows[i]
}

// An Agent answers requests. Its fields must not change while it is asked,
// except under Lock.
type Agent struct {
	sync.Mutex
	Tables map[string]*Table // by name without prefix
	Nodes  []string          // ids of the mesh
	Log    [][]any
	// NoPages: offset and count are passed over.
	NoPages bool
	// NamesUnknown: what is asked for and unknown is answered as the first
	// attribute, under its name.
	NamesUnknown bool
	// Fail, if it is there, is asked first.
	Fail func(*management.Request) error

	asked []management.Request
}

// Asked returns the requests so far.
func (a *Agent) Asked() []management.Request {
	a.Lock()
	defer a.Unlock()
	return slices.Clone(a.asked)
}

// Call answers a request.
func (a *Agent) Call(ctx context.Context, r *management.Request) (*management.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.Lock()
	defer a.Unlock()
	a.asked = append(a.asked, *r)
	if a.Fail != nil {
		if err := a.Fail(r); err != nil {
			return nil, err
		}
	}
	body, err := a.answer(r)
	if err != nil {
		return nil, err
	}
	return &management.Reply{Status: 200, Body: body}, nil
}

func refuse(code int, format string, args ...any) error {
	return &management.StatusError{Code: code, Description: fmt.Sprintf(format, args...)}
}

func (a *Agent) answer(r *management.Request) (any, error) {
	switch strings.ToUpper(r.Operation) {
	case "QUERY":
		return a.query(r)
	case "READ":
		t, row, err := a.find(r)
		if err != nil {
			return nil, err
		}
		return entity(t, row), nil
	case "CREATE":
		body, _ := r.Body.(map[string]any)
		t := a.Tables[management.ShortType(r.Type)]
		if t == nil {
			return nil, refuse(400, "No such entity type '%s'", r.Type)
		}
		row := make([]any, len(t.Attributes))
		for i, name := range t.Attributes {
			row[i] = body[name]
			if name == "name" && r.Name != "" {
				row[i] = r.Name
			}
		}
		t.Rows = append(t.Rows, row)
		return entity(t, row), nil
	case "DELETE":
		t, row, err := a.find(r)
		if err != nil {
			return nil, err
		}
		t.Rows = slices.DeleteFunc(t.Rows, func(other []any) bool { return &other[0] == &row[0] })
		return map[string]any{}, nil
	case "GET-TYPES":
		types := map[string]any{}
		for name := range a.Tables {
			types[schema.Prefix+name] = []any{}
		}
		return types, nil
	case "GET-ATTRIBUTES":
		typ, _ := r.Properties["entityType"].(string)
		if t := a.Tables[management.ShortType(typ)]; t != nil {
			return map[string]any{typ: list(t.Attributes)}, nil
		}
		return nil, refuse(400, "No such entity type '%s'", typ)
	case "GET-MGMT-NODES":
		nodes := []any{}
		for _, id := range a.Nodes {
			nodes = append(nodes, "amqp:/_topo/0/"+id+"/$management")
		}
		return nodes, nil
	case "GET-LOG":
		limit, _ := encoding.Integer(r.Properties["limit"])
		lines := []any{}
		for _, l := range a.Log[max(0, len(a.Log)-int(limit)):] {
			lines = append(lines, l)
		}
		return lines, nil
	case "GET-JSON-SCHEMA":
		return "{}", nil
	}
	return nil, refuse(501, "Operation '%s' not implemented for 'management'", r.Operation)
}

func (a *Agent) query(r *management.Request) (any, error) {
	typ, _ := r.Properties["entityType"].(string)
	t := a.Tables[management.ShortType(typ)]
	if t == nil {
		return nil, refuse(400, "No such entity type '%s'", typ)
	}
	body, _ := r.Body.(map[string]any)
	wanted, _ := body["attributeNames"].([]any)
	var names []string
	for _, w := range wanted {
		name, _ := w.(string)
		switch {
		case slices.Contains(t.Attributes, name):
			names = append(names, name)
		case a.NamesUnknown:
			names = append(names, t.Attributes[0])
		default:
			return nil, refuse(404, "Unknown attributes ['%s'] for type %s.", name, typ)
		}
	}
	if len(wanted) == 0 {
		names = t.Attributes
	}
	offset, _ := encoding.Integer(r.Properties["offset"])
	count, _ := encoding.Integer(r.Properties["count"])
	from, to := min(int(offset), t.len()), t.len()
	if count > 0 {
		to = min(to, from+int(count))
	}
	if a.NoPages {
		from, to = 0, t.len()
	}
	rows := make([]any, 0, to-from)
	for i := from; i < to; i++ {
		all := t.row(i)
		row := make([]any, len(names))
		for j, name := range names {
			row[j] = all[slices.Index(t.Attributes, name)]
		}
		rows = append(rows, row)
	}
	return map[string]any{"attributeNames": list(names), "results": rows}, nil
}

func (a *Agent) find(r *management.Request) (*Table, []any, error) {
	t := a.Tables[management.ShortType(r.Type)]
	if t == nil {
		return nil, nil, refuse(400, "No such entity type '%s'", r.Type)
	}
	attribute, want := "identity", r.Identity
	if want == "" {
		attribute, want = "name", r.Name
	}
	at := slices.Index(t.Attributes, attribute)
	for i := range t.len() {
		if row := t.row(i); at >= 0 && row[at] == want {
			return t, row, nil
		}
	}
	return nil, nil, refuse(404, "No entity with %s=%s", attribute, want)
}

func entity(t *Table, row []any) map[string]any {
	m := make(map[string]any)
	for i, name := range t.Attributes {
		if row[i] != nil {
			m[name] = row[i]
		}
	}
	return m
}

func list(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}
