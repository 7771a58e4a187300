package management

import (
	"fmt"
	"hash/maphash"
	"strings"

	"sluice/amqp/encoding"
	"sluice/router/control/schema"
)

// A Desk answers requests. It may be used by one goroutine at a time.
type Desk struct {
	router Router
	kinds  []*kind // in the order of the schema
	byName map[string]*kind
	self   *kind // management: the agent itself

	attributes int // names of attributes that there are in all types together

	remarks  []string                  // on what is being made
	made     map[*kind]map[string]bool // identities of what has been made, of which some may have gone
	versions versions
}

// NewDesk returns a desk for a router.
func NewDesk(r Router) *Desk {
	d := &Desk{router: r, byName: make(map[string]*kind), made: make(map[*kind]map[string]bool), versions: versions{seed: maphash.MakeSeed()}}
	made := map[string]*kind{}
	for _, k := range []*kind{
		d.routerKind(), d.connectionKind(), d.linkKind(), d.addressKind(), d.nodeKind(), d.configAddressKind(),
		d.listenerKind(), d.connectorKind(), d.sslProfileKind(), d.poolKind(), d.policyKind(), d.logKind(), d.logStatsKind(), d.managementKind(), d.dummyKind(),
	} {
		made[k.name()] = k
	}
	names := map[string]bool{}
	for _, e := range schema.Entities() {
		for _, a := range e.Attributes {
			names[a.Name] = true
		}
		k := made[e.Name]
		if k == nil {
			k = none(e)
		}
		d.kinds = append(d.kinds, k)
		d.byName[e.Name] = k
	}
	d.attributes = len(names)
	d.self = made["management"]
	return d
}

// kind returns the kind with a name, with or without its prefix.
func (d *Desk) kind(name string) (*kind, error) {
	if e := schema.ByName(name); e != nil {
		return d.byName[e.Name], nil
	}
	return nil, badRequest("No such entity type '%s'", brief(name))
}

// agent tells whether a type is that of the agent itself, or one that it extends.
func agent(typ string) bool {
	e := schema.ByName(typ)
	return e != nil && (e.Name == "management" || e.Name == "org.amqp.management")
}

// nodeOperations are those on the agent itself.
var nodeOperations = map[string]func(*Desk, *request) (*reply, error){
	"QUERY":           (*Desk).query,
	"GET-TYPES":       (*Desk).getTypes,
	"GET-ATTRIBUTES":  (*Desk).getAttributes,
	"GET-OPERATIONS":  (*Desk).getOperations,
	"GET-ANNOTATIONS": (*Desk).getAnnotations,
	"GET-MGMT-NODES":  (*Desk).getNodes,
	"GET-SCHEMA":      (*Desk).getSchema,
	"GET-JSON-SCHEMA": (*Desk).getJSONSchema,
	"GET-LOG":         (*Desk).getLog,
}

// answer does what a request asks for.
func (d *Desk) answer(q *request) *reply {
	r, err := d.do(q)
	if err == nil && len(r.body) > maxReply {
		err = tooLarge()
	}
	if err != nil {
		return failed(err, q.operation == "CREATE" && d.numberedType(q.typ))
	}
	return r
}

func (d *Desk) numberedType(typ string) bool {
	e := schema.ByName(typ)
	return e != nil && numbered(e)
}

func tooLarge() *Status {
	return badRequest("The reply would be larger than %d bytes: ask for fewer rows at a time with offset and count", maxReply)
}

func (d *Desk) do(q *request) (*reply, error) {
	if q.err != nil {
		return nil, q.err
	}
	if f := nodeOperations[q.operation]; f != nil {
		return f(d, q)
	}
	if q.operation == "CREATE" {
		return d.create(q)
	}
	nameless := !q.hasName && !q.hasIdentity
	if nameless && q.typ == "" || agent(q.typ) && (nameless || q.name == "self" || q.identity == "self") {
		return d.entityOperation(q, d.self, "self", nil)
	}
	if q.typ != "" {
		k, err := d.kind(q.typ)
		if err != nil {
			return nil, err
		}
		if err := d.named(q, k); err != nil {
			return nil, err
		}
		if k.name() == "connection" && q.operation == "UPDATE" {
			// One that has ended can be closed once more.
			row, _ := k.row(q.identity, nil)
			return d.entityOperation(q, k, q.identity, row)
		}
	}
	k, identity, row, err := d.locate(q)
	if err != nil {
		return nil, err
	}
	return d.entityOperation(q, k, identity, row)
}

// named checks what can be known of a request about an entity of a type before
// the entity is looked for.
func (d *Desk) named(q *request, k *kind) error {
	if err := d.forbidden(q, k); err != nil {
		return err
	}
	nameless := !q.hasName && !q.hasIdentity
	switch {
	case !k.takes(q.operation) && !abstract(k):
		return d.cannot(q, k)
	case k.name() == "connection" && !q.hasIdentity:
		return badRequest("Name not supported. Identity required")
	case nameless && k.numbered:
		return badRequest("No name or identity provided")
	case nameless:
		return badRequest("%s: No name or identity provided", k.full())
	}
	return nil
}

func abstract(k *kind) bool { return k.schema.Kind == schema.Abstract }

// forbidden refuses what one agent of the existing family does, whose types go by
// their full names.
func (d *Desk) forbidden(q *request, k *kind) error {
	full := strings.HasPrefix(q.typ, schema.Prefix)
	instead := ""
	switch {
	case k.name() == "console":
	case k.name() == "router" && full && q.operation == "READ":
		instead = ": QUERY returns the router"
	case k.name() == "router" && full && q.operation != "UPDATE":
		instead = ": the router is there as long as its process, and as its configuration file says"
	case k.name() == "connection" && q.operation == "DELETE":
		instead = ": UPDATE with adminStatus deleted closes a connection"
	default:
		return nil
	}
	return &Status{statusForbidden, statusWords[statusForbidden] + instead}
}

func (d *Desk) cannot(q *request, k *kind) error {
	return notImplemented("Operation '%s' not implemented for '%s' %s", brief(q.operation), k.full(), quotedList(k.operations()))
}

// locate finds the entity that a request names.
func (d *Desk) locate(q *request) (*kind, string, []any, error) {
	candidates := d.kinds
	var want *kind
	if q.typ != "" {
		want, _ = d.kind(q.typ)
		if !abstract(want) {
			candidates = append([]*kind{want}, d.others(want)...)
		}
	}
	k, id, row := find(candidates, q.name, q.identity, q.hasName)
	switch {
	case k == nil && q.hasName:
		return nil, "", nil, d.missing(q, want, "name", q.name)
	case k == nil:
		return nil, "", nil, d.missing(q, want, "identity", q.identity)
	}
	if q.hasName && q.hasIdentity {
		if k2, id2, _ := find([]*kind{k}, "", q.identity, false); k2 != k || id2 != id {
			return nil, "", nil, badRequest("Conflicting name=%s identity=%s", brief(q.name), brief(q.identity))
		}
	}
	if want != nil && k != want {
		if !extends(k.schema, want.schema) {
			return nil, "", nil, badRequest("Entity type '%s' does not extend requested type '%s'", k.full(), want.full())
		}
		if q.operation == "READ" {
			return nil, "", nil, &Status{statusNotFound, fmt.Sprintf("Entity type '%s' does match requested type '%s'", k.full(), want.full())}
		}
	}
	return k, id, row, nil
}

// others are the kinds in which an entity of another type than the one asked for
// is looked for, to say so: those that are few.
func (d *Desk) others(want *kind) []*kind {
	var list []*kind
	for _, k := range d.kinds {
		if k != want && !k.numbered && !want.numbered {
			list = append(list, k)
		}
	}
	return list
}

func (d *Desk) missing(q *request, want *kind, what, which string) error {
	if want != nil && want.numbered {
		return ErrNotFound
	}
	near := ""
	if typ, _, ok := strings.Cut(which, "/"); want == nil && ok {
		want, _ = d.kind(typ) // log/SERVR
	}
	if want != nil && !want.numbered && !abstract(want) {
		names := want.list()
		s := schema.Nearest(which, names)
		if s == "" && !strings.Contains(which, "/") {
			s = schema.Nearest(want.name()+"/"+which, names)
		}
		if s != "" {
			near = "; did you mean " + s + "?"
		}
	}
	return &Status{statusNotFound, fmt.Sprintf("No entity with %s=%s%s", what, brief(which), near)}
}

// find looks for an entity in kinds, of which the first may be the type that was
// asked for. In the others a number says too little: it must come with its type.
func find(kinds []*kind, name, identity string, byName bool) (*kind, string, []any) {
	for i, k := range kinds {
		if i > 0 && !byName && k.numbered && !strings.HasPrefix(identity, k.name()+"/") {
			continue
		}
		if id, row, ok := k.find(name, identity, byName); ok {
			return k, id, row
		}
	}
	return nil, "", nil
}

// extends tells whether e is base, or extends it.
func extends(e, base *schema.Entity) bool {
	for e != nil {
		if e == base {
			return true
		}
		e = schema.ByName(e.Extends)
	}
	return false
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// entityOperation does what a request asks for with an entity.
func (d *Desk) entityOperation(q *request, k *kind, identity string, row []any) (*reply, error) {
	if !k.takes(q.operation) {
		return nil, d.cannot(q, k)
	}
	if err := d.forbidden(q, k); err != nil && q.typ != "" {
		return nil, err
	}
	switch q.operation {
	case "READ":
		if row == nil {
			row, _ = k.row(identity, nil)
		}
		return value(statusOK, k.members(row))
	case "UPDATE":
		return d.update(q, k, identity, row)
	case "CALLME": // what it was called with
		return value(statusOK, q.properties)
	case "DELETE":
		if err := k.remove(identity); err != nil {
			return nil, err
		}
		delete(d.made[k], identity)
		return value(statusNoContent, encoding.Map{})
	}
	return nil, d.cannot(q, k)
}
