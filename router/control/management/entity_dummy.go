package management

import (
	"fmt"
	"slices"

	"sluice/router/control/schema"
)

// maxDummies is how many entities there may be that are good for nothing.
const maxDummies = 1000

// dummyKind are the entities with which tools of management are tested: they can
// be created, changed and deleted, and mean nothing.
func (d *Desk) dummyKind() *kind {
	k := &kind{schema: schema.ByName("dummy")}
	k.columns = order(k.schema, served)
	made := map[string]map[string]any{} // by identity
	var ids []string                    // in the order in which they were made
	next := 0
	set := func(v map[string]any, a attributes) {
		for name, x := range a {
			if n, ok := x.(int64); ok {
				x = small(n)
			}
			v[name] = x
		}
	}
	k.list = func() []string { return ids }
	k.row = func(identity string, to []any) ([]any, bool) {
		v, ok := made[identity]
		if !ok {
			return nil, false
		}
		return fill(k, to, v), true
	}
	k.create = func(name string, a attributes) (string, error) {
		if len(ids) >= maxDummies {
			return "", badRequest("there are %d of them already", maxDummies)
		}
		for _, v := range made {
			if name != "" && v["name"] == name {
				return "", duplicate("dummy", name, v["identity"].(string))
			}
		}
		id := fmt.Sprintf("dummy/%d", next)
		next++
		v := map[string]any{"identity": id, "type": k.full()}
		set(v, a)
		v["name"] = nameOr(name, id)
		made[id], ids = v, append(ids, id)
		return id, nil
	}
	k.update = func(identity string, a attributes) error {
		set(made[identity], a)
		return nil
	}
	k.remove = func(identity string) error {
		delete(made, identity)
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == identity })
		return nil
	}
	return k
}
