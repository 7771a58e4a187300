package router

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"sluice/router/address"
	"sluice/router/control/config"
	"sluice/router/control/management"
	"sluice/router/forward"
)

// treatments is how addresses are configured: by files, and by what management
// has made of that while the router runs. It is asked when an address comes into
// being, not for every message.
type treatments struct {
	mu       sync.RWMutex // a leaf lock; guards the fields below
	tree     *address.Tree[forward.Treatment]
	fallback forward.Treatment
	entities map[uint64]*addressEntity
	byName   map[string]uint64
	byMatch  map[address.Pattern]uint64
	next     uint64
	removed  map[address.Pattern]config.Address // by management, of those in files
}

// addressEntity is an address entity.
type addressEntity struct {
	config.Address
	managed bool // made by management
}

func newTreatments(c *config.Config) *treatments {
	t := &treatments{removed: make(map[address.Pattern]config.Address)}
	t.load(c)
	return t
}

// load puts the addresses of files into force. What management has made stays,
// unless a file now speaks of the same addresses, and what it has removed stays
// removed, unless the files say something else of it than they did. Entities keep
// their numbers.
func (t *treatments) load(c *config.Config) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old, numbers := t.entities, t.byMatch
	t.tree = new(address.Tree[forward.Treatment])
	t.entities, t.byName, t.byMatch = make(map[uint64]*addressEntity), make(map[string]uint64), make(map[address.Pattern]uint64)
	fallback := config.DefaultAddress()
	fallback.Distribution = c.Router.DefaultDistribution
	t.fallback = treatment(&fallback)
	add := func(e *addressEntity) {
		id, known := numbers[e.Match]
		if !known {
			t.next++
			id = t.next
		}
		t.insert(id, e)
	}
	for i := range c.Addresses {
		a := c.Addresses[i]
		if was, gone := t.removed[a.Match]; gone {
			if a.Pos = was.Pos; reflect.DeepEqual(a, was) {
				continue
			}
			delete(t.removed, a.Match)
		}
		add(&addressEntity{Address: c.Addresses[i]})
	}
	for _, e := range old {
		if _, taken := t.byMatch[e.Match]; e.managed && !taken {
			if _, taken := t.byName[e.Name]; taken {
				e.Name = ""
			}
			add(e)
		}
	}
}

func (t *treatments) insert(id uint64, e *addressEntity) {
	t.tree.Insert(e.Match, treatment(&e.Address))
	t.entities[id], t.byMatch[e.Match] = e, id
	if e.Name != "" {
		t.byName[e.Name] = id
	}
}

// managementNode is where requests to management arrive. It is treated so whatever
// the configuration says of addresses like it.
const managementNode = "$management"

// of returns how an address is treated. Names that only this router has, such
// as those of dynamic sources, are always balanced.
func (t *treatments) of(a address.Address) forward.Treatment {
	found, _ := t.explicit(a)
	return found
}

// explicit also tells whether the configuration speaks of the address.
func (t *treatments) explicit(a address.Address) (forward.Treatment, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	own := t.fallback
	own.Distribution = forward.Balanced
	switch {
	case a.Text == managementNode:
		own.Distribution = forward.Closest
	case a.Class == address.Mobile:
		if found, ok := t.tree.Match(a.Text); ok {
			return found, true
		}
		return t.fallback, false
	}
	return own, false
}

// numbers are the numbers of the entities, ascending.
func (t *treatments) numbers() []uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := make([]uint64, 0, len(t.entities))
	for id := range t.entities {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

func (t *treatments) entity(id uint64) (config.Address, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e := t.entities[id]
	if e == nil {
		return config.Address{}, false
	}
	return e.Address, true
}

func (t *treatments) named(name string) (uint64, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	id, ok := t.byName[name]
	return id, ok
}

// create makes an entity. It holds for addresses that come into use afterwards.
func (t *treatments) create(a config.Address) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, taken := t.byMatch[a.Match]; taken {
		return 0, &management.Status{Code: 400, Text: "Already exists: " + described(id, &t.entities[id].Address)}
	}
	t.next++
	t.insert(t.next, &addressEntity{Address: a, managed: true})
	return t.next, nil
}

// described names an address entity.
func described(id uint64, a *config.Address) string {
	text := fmt.Sprintf("address %d", id)
	if a.Name != "" {
		text += " '" + a.Name + "'"
	}
	if a.Prefix != "" {
		return text + " has the prefix " + a.Prefix
	}
	return text + " has the pattern " + a.Pattern
}

func (t *treatments) remove(id uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entities[id]
	if e == nil {
		return management.ErrNotFound
	}
	if !e.managed {
		t.removed[e.Match] = e.Address
	}
	t.tree.Remove(e.Match)
	delete(t.entities, id)
	delete(t.byMatch, e.Match)
	if t.byName[e.Name] == id {
		delete(t.byName, e.Name)
	}
	return nil
}
