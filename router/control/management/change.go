package management

import (
	"maps"
	"reflect"
	"strings"

	"sluice/router/control/schema"
)

// create makes an entity.
func (d *Desk) create(q *request) (*reply, error) {
	body, err := q.bodyMap()
	if err != nil {
		return nil, err
	}
	if q.typ == "" {
		return nil, badRequest("No 'type' attribute in the request's application properties")
	}
	k, err := d.kind(q.typ)
	if err != nil {
		return nil, err
	}
	if err := d.forbidden(q, k); err != nil {
		return nil, err
	}
	if k.create == nil {
		return nil, d.cannot(q, k)
	}
	a, err := given(k.schema, body)
	if err != nil {
		return nil, err
	}
	if _, has := a["identity"]; has || q.hasIdentity {
		return nil, badRequest("Cannot set attribute 'identity' in CREATE")
	}
	name, err := creatable(k.schema, a, q.name)
	if err != nil {
		return nil, err
	}
	if err := d.roomFor(k); err != nil {
		return nil, err
	}
	d.remarks = nil
	identity, err := k.create(name, a)
	if err != nil {
		return nil, err
	}
	if d.made[k] == nil {
		d.made[k] = make(map[string]bool)
	}
	d.made[k][identity] = true
	row, ok := k.row(identity, nil)
	if !ok {
		return nil, &Status{statusInternalError, "the entity has gone already"}
	}
	r, err := value(statusCreated, k.members(row))
	if err == nil {
		r.warnings = strings.Join(d.remarks, "; ")
	}
	return r, err
}

// roomFor tells whether another entity may be made.
func (d *Desk) roomFor(k *kind) error {
	made := d.made[k]
	if len(made) < maxMade {
		return nil
	}
	// What a reload has removed does not count.
	there := make(map[string]bool)
	for _, id := range k.list() {
		there[id] = true
	}
	maps.DeleteFunc(made, func(id string, _ bool) bool { return !there[id] })
	if len(made) < maxMade {
		return nil
	}
	return badRequest("management has made %d entities of type %s, and makes no more: delete some, or have them in a configuration file", len(made), k.name())
}

// update changes an entity. Attributes that cannot change may be given as they
// are, so that a whole entity can be sent back.
func (d *Desk) update(q *request, k *kind, identity string, row []any) (*reply, error) {
	body, err := q.bodyMap()
	if err != nil {
		return nil, err
	}
	a, err := given(k.schema, body)
	if err != nil {
		return nil, err
	}
	for name, v := range a {
		attr := k.schema.Attribute(name)
		if attr.Update {
			continue
		}
		at := k.column(name)
		if at < 0 || row == nil || !same(attr, row[at], v) {
			return nil, badRequest("Cannot update attribute '%s' in UPDATE", name)
		}
		delete(a, name)
	}
	if err := k.update(identity, a); err != nil {
		return nil, err
	}
	if row, ok := k.row(identity, row); ok {
		return value(statusOK, k.members(row))
	}
	return value(statusOK, k.members(k.gone(identity, a["adminStatus"])))
}

// gone is the row of an entity that was there when it was updated, and is not
// any more: all that is known of it.
func (k *kind) gone(identity string, adminStatus any) []any {
	row := make([]any, len(k.columns))
	for name, v := range map[string]any{
		"identity": identity, "type": k.full(), "adminStatus": adminStatus,
		"operStatus": map[any]any{"deleted": "closing", "disabled": "down"}[adminStatus],
	} {
		if i := k.column(name); i >= 0 {
			row[i] = v
		}
	}
	return row
}

// same compares a value of a row with one that was given.
func same(attr *schema.Attribute, is, given any) bool {
	v, err := coerce(attr, is)
	return err == nil && reflect.DeepEqual(v, given)
}
