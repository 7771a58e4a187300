package main

import (
	"context"
	"fmt"
	"strings"

	"sluice/cmd/internal/management"
	"sluice/router/control/logging"
	"sluice/router/control/schema"
)

// query prints entities as they come, page by page.
func (m *managing) query(ctx context.Context) error {
	for _, name := range m.arguments {
		if strings.Contains(name, "=") {
			return usagef("query takes names of attributes, found %q", name)
		}
	}
	if err := m.connected(ctx); err != nil {
		return err
	}
	q := management.Query{Type: m.typ, Attributes: m.arguments, Limit: m.limit}
	list := m.out.list()
	first := true
	for page, err := range q.Run(ctx, m.node) {
		if err == nil && first {
			err = m.unknown(ctx, page)
			first = false
		}
		if err != nil {
			list.abandon()
			return m.suggest(ctx, &management.Request{Operation: "QUERY", Type: m.typ, Body: names(m.arguments)}, err)
		}
		for _, o := range page.Objects() {
			if err := list.add(o); err != nil {
				return err
			}
		}
	}
	return list.end()
}

func names(list []string) map[string]any {
	m := make(map[string]any)
	for _, name := range list {
		m[name] = nil
	}
	return m
}

// unknown looks for attributes that were asked for and are not in the answer:
// those that the router does not have, and those that it does not know. Not
// every agent tells them apart.
func (m *managing) unknown(ctx context.Context, p *management.Page) error {
	var missing []string
	for _, name := range m.arguments {
		if p.Column(name) < 0 {
			missing = append(missing, name)
		}
	}
	if missing == nil || m.typ == "" {
		return nil
	}
	known := m.listOf(ctx, "GET-ATTRIBUTES", m.typ)
	for _, name := range missing {
		switch {
		case known == nil || contains(known, name):
			m.note("the router has no %s", name)
		default:
			text := fmt.Sprintf("Unknown attributes ['%s'] for type %s.", name, m.typ)
			return &management.StatusError{Code: 404, Description: text}
		}
	}
	return nil
}

// read prints an entity.
func (m *managing) read(ctx context.Context) error {
	r, err := m.entity("READ", nil)
	if err != nil {
		return err
	}
	// Agents of the existing family let the router itself only be queried.
	if r.Name == "" && r.Identity == "" || r.Type == management.FullType("router") {
		o, err := m.only(ctx, r)
		if err != nil {
			return err
		}
		return m.out.value(o)
	}
	reply, err := m.call(ctx, r)
	if err != nil {
		return err
	}
	return m.out.value(ordered(reply.Body))
}

// only returns the entity of a type of which there is one, or of the router.
func (m *managing) only(ctx context.Context, r *management.Request) (management.Object, error) {
	if m.node == nil {
		if err := m.connected(ctx); err != nil {
			return nil, err
		}
	}
	short := management.ShortType(r.Type)
	if e := schema.ByName(r.Type); e != nil {
		short = e.FileName()
	}
	var found []management.Object
	var there []string
	q := management.Query{Type: r.Type}
	if r.Name == "" && r.Identity == "" {
		q.Limit = maxListed + 1
	}
	for page, err := range q.Run(ctx, m.node) {
		if err != nil {
			return nil, m.suggest(ctx, &management.Request{Operation: "QUERY", Type: r.Type, Body: names(nil)}, err)
		}
		for _, o := range page.Objects() {
			attributes := o.Map()
			name, _ := attributes["name"].(string)
			if name == "" {
				name = fmt.Sprint(attributes["identity"])
			}
			there = append(there, name)
			if (r.Name == "" || r.Name == name) && (r.Identity == "" || r.Identity == fmt.Sprint(attributes["identity"])) {
				found = append(found, management.Entity(attributes))
			}
		}
	}
	switch n := len(found); {
	case n == 1:
		return found[0], nil
	case len(there) == 0:
		return nil, &management.StatusError{Code: 404, Description: "there is no " + short}
	case n == 0:
		return nil, &management.StatusError{Code: 404, Description: fmt.Sprintf("there is no such %s; there is %s", short, strings.Join(there, ", "))}
	case n > maxListed:
		return nil, usagef("there are more than %d entities of type %s: read needs --name or --identity; \"sluice manage query --type %s name identity\" lists them", maxListed, short, short)
	}
	return nil, usagef("there are %d entities of type %s: read needs --name or --identity; the names are %s", len(there), short, strings.Join(there, ", "))
}

// maxListed is how many entities an error names.
const maxListed = 10

// delete deletes an entity, and prints nothing.
func (m *managing) delete(ctx context.Context) error {
	r, err := m.entity("DELETE", nil)
	if err != nil {
		return err
	}
	_, err = m.call(ctx, r)
	return err
}

// bulk creates or updates an entity, or all that stdin has.
func (m *managing) bulk(ctx context.Context, operation string) error {
	if !m.stdin {
		attributes, err := m.attributes()
		if err != nil {
			return err
		}
		o, err := m.change(ctx, operation, attributes)
		if err != nil {
			return err
		}
		return m.out.value(o)
	}
	v, err := management.JSON(m.in)
	if err != nil {
		return usagef("stdin: %w", err)
	}
	switch v := v.(type) {
	case map[string]any:
		o, err := m.change(ctx, operation, v)
		if err != nil {
			return err
		}
		return m.out.value(o)
	case []any:
		list := m.out.list()
		for i, e := range v {
			attributes, ok := e.(map[string]any)
			if !ok {
				list.end()
				return usagef("stdin: entry %d of %d is no map%s", i+1, len(v), others(i, len(v)))
			}
			o, err := m.change(ctx, operation, attributes)
			if err == nil {
				err = list.add(o)
			}
			if err != nil {
				list.end() // what has been done is shown
				return fmt.Errorf("entry %d of %d: %w%s", i+1, len(v), err, others(i, len(v)))
			}
		}
		return list.end()
	}
	return usagef("stdin holds neither a map nor a list of maps")
}

// others says what has become of the entries of a list beside the one that failed.
func others(failed, n int) string {
	some := func(from, to int, one, many string) string {
		switch {
		case from > to:
			return ""
		case from == to:
			return fmt.Sprintf("; entry %d %s", from, one)
		}
		return fmt.Sprintf("; entries %d to %d %s", from, to, many)
	}
	return some(1, failed, "is done", "are done") + some(failed+2, n, "was not tried", "were not tried")
}

// change creates or updates one entity, and returns it as it is then.
func (m *managing) change(ctx context.Context, operation string, attributes map[string]any) (any, error) {
	r, err := m.entity(operation, attributes)
	if err != nil {
		return nil, err
	}
	reply, err := m.call(ctx, r)
	if err != nil {
		return nil, err
	}
	if reply.Warnings != "" {
		m.note("warning: %s", reply.Warnings)
	}
	if body, ok := reply.Body.(map[string]any); ok && operation == "CREATE" {
		m.ignored(ctx, r, body)
	}
	return ordered(reply.Body), nil
}

// ignored warns of attributes that an agent has passed over without a word.
func (m *managing) ignored(ctx context.Context, r *management.Request, body map[string]any) {
	var known []string
	for name := range r.Body.(map[string]any) {
		if _, there := body[name]; there {
			continue
		}
		if known == nil {
			known = m.listOf(ctx, "GET-ATTRIBUTES", r.Type)
		}
		if e := schema.ByName(r.Type); known != nil && !contains(known, name) && (e == nil || e.Attribute(name) == nil) {
			m.note("the router has ignored %q, which is no attribute of %s%s", name, management.ShortType(r.Type), didYouMean(name, known))
		}
	}
}

// entity returns a request for the entity that is meant, which the attributes may
// say, too.
func (m *managing) entity(operation string, attributes map[string]any) (*management.Request, error) {
	r := &management.Request{Operation: operation, Type: m.typ, Name: m.name, Identity: m.identity}
	if attributes == nil && operation != "CREATE" && operation != "UPDATE" {
		given, err := m.attributes()
		if err != nil {
			return nil, err
		}
		for name := range given {
			if name != "type" && name != "name" && name != "identity" {
				return nil, usagef("%s takes no attributes, found %q", strings.ToLower(operation), name)
			}
		}
		m.address(r, given)
	} else {
		m.address(r, attributes)
		r.Body = attributes
		if typ, ok := attributes["type"].(string); ok {
			attributes["type"] = management.FullType(typ)
		}
	}
	if r.Type == management.FullType("log") && contains(logging.ModuleNames(), r.Name) {
		r.Name = "log/" + r.Name // their names have the type in front
	}
	switch {
	case operation == "CREATE" && r.Type == "":
		return nil, usagef("create needs --type")
	case operation == "READ" && r.Name == "" && r.Identity == "" && r.Type == "":
		return nil, usagef("read needs --name or --identity, or a --type of which there is one entity")
	case operation != "CREATE" && operation != "READ" && r.Name == "" && r.Identity == "":
		return nil, usagef("%s needs --name or --identity", strings.ToLower(operation))
	}
	return r, nil
}

// address completes a request by what attributes say of the entity.
func (m *managing) address(r *management.Request, attributes map[string]any) {
	for name, field := range map[string]*string{"type": &r.Type, "name": &r.Name, "identity": &r.Identity} {
		if s, ok := attributes[name].(string); ok && *field == "" && (name != "identity" || r.Operation != "CREATE") {
			*field = s
		}
	}
	r.Type = management.FullType(r.Type)
}

// attributes reads NAME=VALUE.
func (m *managing) attributes() (map[string]any, error) {
	typ := m.typ
	for _, a := range m.arguments {
		if s, ok := strings.CutPrefix(a, "type="); ok && typ == "" {
			typ = management.FullType(s)
		}
	}
	if before, _, ok := strings.Cut(m.identity, "/"); ok && typ == "" {
		typ = management.FullType(before) // log/DEFAULT
	}
	attributes := make(map[string]any)
	for _, a := range m.arguments {
		name, v, err := management.Attribute(typ, a)
		if err != nil {
			return nil, usagef("%w", err)
		}
		if _, twice := attributes[name]; twice {
			return nil, usagef("%s is given twice", name)
		}
		attributes[name] = v
	}
	return attributes, nil
}

// ofType prints what GET-TYPES and its like say of a type, or of all.
func (m *managing) ofType(ctx context.Context) error {
	typ := m.typ
	switch {
	case len(m.arguments) > 1:
		return usagef("%s takes one TYPE, found %q, too", m.operation, m.arguments[1])
	case len(m.arguments) == 1 && typ != "":
		return usagef("there are two types, %q and %q", management.ShortType(typ), m.arguments[0])
	case len(m.arguments) == 1:
		typ = management.FullType(m.arguments[0])
	}
	r := &management.Request{Operation: strings.ToUpper(m.operation)}
	if typ != "" {
		r.Properties = map[string]any{"entityType": typ}
	}
	reply, err := m.call(ctx, r)
	if err != nil {
		return err
	}
	return m.out.value(reply.Body)
}

// plain prints what an operation without arguments says.
func (m *managing) plain(ctx context.Context) error {
	if len(m.arguments) > 0 {
		return usagef("%s takes no arguments, found %q", m.operation, m.arguments[0])
	}
	reply, err := m.call(ctx, &management.Request{Operation: strings.ToUpper(m.operation)})
	if err != nil {
		return err
	}
	return m.out.value(reply.Body)
}

// other sends any other operation. Attributes are its properties.
func (m *managing) other(ctx context.Context) error {
	r := &management.Request{Operation: strings.ToUpper(m.operation), Type: m.typ, Name: m.name, Identity: m.identity}
	properties, err := m.attributes()
	if err != nil {
		return err
	}
	if m.properties != "" {
		v, err := management.JSON(strings.NewReader(m.properties))
		more, ok := v.(map[string]any)
		if err != nil || !ok {
			return usagef("--properties %s: expected a map in JSON", m.properties)
		}
		for name, v := range more {
			properties[name] = v
		}
	}
	if m.limit > 0 {
		properties["limit"] = int32(min(m.limit, 1<<31-1))
	}
	r.Properties = properties
	if m.body != "" {
		if r.Body, err = management.JSON(strings.NewReader(m.body)); err != nil {
			if strings.ContainsAny(m.body, `"{}[]`) {
				return usagef("--body: %w", err)
			}
			r.Body = m.body
		}
	}
	reply, err := m.call(ctx, r)
	if err != nil {
		return err
	}
	return m.out.result(reply.Body)
}

// ordered returns an entity with its attributes in order.
func ordered(body any) any {
	if m, ok := body.(map[string]any); ok {
		return management.Entity(m)
	}
	return body
}
