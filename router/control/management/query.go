package management

import (
	"strings"

	"sluice/amqp/encoding"
	"sluice/router/control/schema"
)

// query lists entities. Rows are made one by one and encoded at once; those
// before offset are not made.
func (d *Desk) query(q *request) (*reply, error) {
	names, err := d.attributeNames(q)
	if err != nil {
		return nil, err
	}
	typ := q.entityType
	if typ == "" && !agent(q.typ) {
		typ = q.typ // some clients give it there
	}
	if typ == "" {
		if q.hasSince {
			return nil, sinceOneType()
		}
		return d.queryAll(q, names)
	}
	k, err := d.kind(typ)
	if err != nil {
		return nil, err
	}
	if k.name() == "console" {
		return nil, &Status{Code: statusForbidden}
	}
	if abstract(k) {
		if q.hasSince {
			return nil, sinceOneType()
		}
		return d.queryBase(q, k, names)
	}
	columns, err := k.choose(names)
	if err != nil {
		return nil, err
	}
	if q.hasSince {
		return d.querySince(q, k, columns)
	}
	t := newListing(columns)
	ids, rowOf := k.all()
	err = t.entities(k, columns, page(ids, q.offset, q.count), rowOf, func(string, int) {})
	if err != nil {
		return nil, err
	}
	return t.reply(), nil
}

// attributeNames reads what the body of a QUERY asks for; none is all. A name that
// is given twice counts once, and there are no more than attributes of all types:
// each is a column of every row.
func (d *Desk) attributeNames(q *request) ([]string, error) {
	body, err := q.bodyMap()
	if err != nil {
		return nil, err
	}
	for _, m := range body {
		if key, _ := text(m.Key); key != "attributeNames" || m.Value == nil {
			continue
		}
		list, ok := m.Value.([]any)
		if !ok {
			return nil, badRequest("'attributeNames' must be a list")
		}
		var names []string
		seen := make(map[string]bool)
		for _, v := range list {
			name, ok := text(v)
			if !ok {
				return nil, badRequest("'attributeNames' must be a list of strings")
			}
			if seen[name] {
				continue
			}
			if len(names) == d.attributes {
				return nil, badRequest("'attributeNames' has more than %d names, which is how many attributes all types have: an empty list asks for all", d.attributes)
			}
			seen[name], names = true, append(names, name)
		}
		return names, nil
	}
	return nil, nil
}

// choose returns the columns for the names asked for. What the schema has and
// this router does not is left out; what is in neither is an error.
func (k *kind) choose(names []string) ([]string, error) {
	if len(names) == 0 {
		return k.columns, nil
	}
	var columns, unknown []string
	for _, name := range names {
		switch {
		case k.column(name) >= 0:
			columns = append(columns, name)
		case !k.known(name):
			unknown = append(unknown, brief(name))
		}
	}
	if unknown != nil {
		return nil, &Status{statusNotFound, "Unknown attributes " + quotedList(unknown) + " for type " + k.full() + "."}
	}
	return columns, nil
}

// page cuts a list.
func page(list []string, offset, count int) []string {
	list = list[min(offset, len(list)):]
	if count > 0 {
		list = list[:min(count, len(list))]
	}
	return list
}

// queryAll lists entities of all types.
func (d *Desk) queryAll(q *request, names []string) (*reply, error) {
	var list []*kind
	for _, k := range d.kinds {
		if !abstract(k) {
			list = append(list, k)
		}
	}
	return d.queryKinds(q, list, names)
}

// queryBase lists the entities of all types that extend another.
func (d *Desk) queryBase(q *request, base *kind, names []string) (*reply, error) {
	var list []*kind
	for _, k := range d.kinds {
		if !abstract(k) && extends(k.schema, base.schema) {
			list = append(list, k)
		}
	}
	return d.queryKinds(q, list, names)
}

// queryKinds lists entities of several types. Rows in which all that was asked
// for is null are left out. The router's counts are those of the lists here.
func (d *Desk) queryKinds(q *request, kinds []*kind, names []string) (*reply, error) {
	if len(names) == 0 {
		seen := make(map[string]bool)
		for _, k := range kinds {
			for _, c := range k.columns {
				if !seen[c] {
					seen[c] = true
					names = append(names, c)
				}
			}
		}
	}
	counts := make(map[string]int)
	lists := make([][]string, len(kinds))
	rowsOf := make([]func(string, []any) ([]any, bool), len(kinds))
	for i, k := range kinds {
		lists[i], rowsOf[i] = k.all()
		counts[k.name()] = len(lists[i])
	}
	t := newListing(names)
	offset, left := q.offset, q.count
	var row []any
	for i, k := range kinds {
		at := make([]int, len(names))
		for j, name := range names {
			at[j] = k.column(name)
		}
		for _, id := range lists[i] {
			r, ok := rowsOf[i](id, row)
			if !ok {
				continue
			}
			row = r
			k.qualify(row, counts)
			if empty(row, at) {
				continue
			}
			if offset > 0 {
				offset--
				continue
			}
			for _, c := range at {
				if c < 0 {
					t.cell(nil)
				} else {
					t.cell(row[c])
				}
			}
			if err := t.endRow(); err != nil {
				return nil, err
			}
			if left > 0 {
				if left--; left == 0 {
					return t.reply(), nil
				}
			}
		}
	}
	return t.reply(), nil
}

// qualify gives a row an identity that says its type too, as in lists of several
// types, and the router's row the counts of the same list.
func (k *kind) qualify(row []any, counts map[string]int) {
	if !k.numbered {
		return
	}
	i := k.column("identity")
	if id, ok := row[i].(string); ok && k.name() != "connection" && !strings.HasPrefix(id, k.name()+"/") {
		if k.name() == "router" {
			id, _ = row[k.column("id")].(string)
			row[k.column("name")] = k.name() + "/" + id
			row[k.column("linkCount")] = uint64(counts["router.link"])
			row[k.column("addrCount")] = uint64(counts["router.address"])
		}
		row[i] = k.name() + "/" + id
	}
}

func empty(row []any, at []int) bool {
	for _, c := range at {
		if c >= 0 && row[c] != nil {
			return false
		}
	}
	return true
}

// A listing is the body of an answer to a QUERY, encoded as far as it goes.
type listing struct {
	b               []byte
	body, list, row encoding.Mark
	rows, cells     int
	err             error
}

func newListing(columns []string) *listing {
	t := &listing{cells: -1}
	t.b, t.body = encoding.BeginMap(nil)
	t.b = encoding.AppendString(t.b, "attributeNames")
	t.b, _ = encoding.AppendAny(t.b, texts(columns))
	t.b = encoding.AppendString(t.b, "results")
	t.b, t.list = encoding.BeginList(t.b)
	return t
}

func (t *listing) cell(v any) {
	if t.cells < 0 {
		t.b, t.row = encoding.BeginList(t.b)
		t.cells = 0
	}
	b, err := encoding.AppendAny(t.b, v)
	if err != nil && t.err == nil {
		t.err = &Status{statusInternalError, err.Error()}
	}
	t.b = b
	t.cells++
}

func (t *listing) endRow() error {
	if t.cells < 0 { // no column is left
		t.b, t.row = encoding.BeginList(t.b)
		t.cells = 0
	}
	t.b = encoding.EndList(t.b, t.row, t.cells)
	t.rows, t.cells = t.rows+1, -1
	if len(t.b) > maxReply {
		return tooLarge()
	}
	return t.err
}

// entities writes the columns of entities of a kind, those that are still there,
// and tells of each row where it begins.
func (t *listing) entities(k *kind, columns, ids []string, rowOf func(string, []any) ([]any, bool), written func(id string, from int)) error {
	at := make([]int, len(columns))
	for i, name := range columns {
		at[i] = k.column(name)
	}
	var row []any
	for _, id := range ids {
		r, ok := rowOf(id, row)
		if !ok {
			continue
		}
		row = r
		from := len(t.b)
		for _, i := range at {
			t.cell(row[i])
		}
		if err := t.endRow(); err != nil {
			return err
		}
		written(id, from)
	}
	return nil
}

// unwrite takes the last row back, which begins there.
func (t *listing) unwrite(from int) {
	t.b = t.b[:from]
	t.rows--
}

// reply ends the listing, with more entries if there are any.
func (t *listing) reply(more ...encoding.MapEntry) *reply {
	t.b = encoding.EndList(t.b, t.list, t.rows)
	for _, e := range more {
		t.b = encoding.AppendString(t.b, e.Key.(string))
		t.b, _ = encoding.AppendAny(t.b, e.Value)
	}
	t.b = encoding.EndMap(t.b, t.body, 4+2*len(more))
	return &reply{status: statusOK, body: t.b}
}

// selected returns the kinds that a GET operation is about: one, or all.
func (d *Desk) selected(q *request) ([]*kind, error) {
	typ := q.entityType
	if typ == "" && !agent(q.typ) {
		typ = q.typ
	}
	if typ == "" {
		return d.kinds, nil
	}
	k, err := d.kind(typ)
	if err != nil {
		return nil, err
	}
	return []*kind{k}, nil
}

// bases are the types that a type extends, nearest first.
func bases(e *schema.Entity) []string {
	var list []string
	for e = schema.ByName(e.Extends); e != nil; e = schema.ByName(e.Extends) {
		list = append(list, e.FullName())
	}
	return list
}
