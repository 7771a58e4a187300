package table

import (
	"hash/maphash"
	"sync"

	"sluice/links"
	"sluice/router/address"
	"sluice/router/forward"
	"sluice/router/shrink"
)

const shards = 64 // enough that attaching links on many cores seldom meet

// A Table holds the addresses of a router.
type Table struct {
	seed      maphash.Seed
	treatment func(address.Address) forward.Treatment
	// Near, if not nil, hears of each address that gets its first destination
	// among the links of this router, or loses the last. It is called under the
	// lock of the address, and must be set before the first link.
	Near func(a *forward.Address, has bool)
	// Fed hears likewise of those who send to an address, and Beyond is as in
	// forward.Hooks.
	Fed    func(a *forward.Address, has bool)
	Beyond *links.Hop
	shards [shards]shard

	// Past is what addresses have counted that are no more, and terminuses
	// without an address.
	Past forward.Stats
}

type shard struct {
	mu      sync.Mutex // below the lock of a connection, above nothing
	entries map[address.Address]*entry
	most    int      // see shrink.Map
	_       [32]byte // shards do not share cache lines
}

type entry struct {
	a     *forward.Address
	users int
}

// New returns an empty table. Treatment tells how an address is configured; it
// is asked once, when the address comes into being.
func New(treatment func(address.Address) forward.Treatment) *Table {
	t := &Table{seed: maphash.MakeSeed(), treatment: treatment}
	for i := range t.shards {
		t.shards[i].entries = make(map[address.Address]*entry)
	}
	return t
}

func (t *Table) shard(name address.Address) *shard {
	return &t.shards[maphash.String(t.seed, name.Text)%shards]
}

// Acquire returns the address for a link, which is counted until the address
// is told that the link has left.
func (t *Table) Acquire(name address.Address) *forward.Address {
	return t.AcquireAs(name, t.treatment)
}

// AcquireAs is Acquire with another opinion on how the address is treated, if it
// comes into being.
func (t *Table) AcquireAs(name address.Address, treatment func(address.Address) forward.Treatment) *forward.Address {
	s := t.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[name]
	if e == nil {
		e = new(entry)
		e.a = forward.NewAddress(name.Key(), treatment(name), forward.Hooks{Left: func(*forward.Address) { t.release(name) }, Near: t.Near, Fed: t.Fed, Beyond: t.beyond(name)})
		s.entries[name] = e
	}
	e.users++
	return e.a
}

// beyond is where messages for all go from an anonymous terminus, if they name an
// address that others may have, too.
func (t *Table) beyond(name address.Address) *links.Hop {
	if name.Class != address.Mobile {
		return nil
	}
	return t.Beyond
}

func (t *Table) release(name address.Address) {
	s := t.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[name]; e != nil {
		if e.users--; e.users == 0 {
			delete(s.entries, name)
			s.entries = shrink.Map(s.entries, &s.most)
			t.Past.Add(&e.a.Stats)
		}
	}
}

// Find returns the address with this name if a link uses it.
func (t *Table) Find(name address.Address) *forward.Address {
	s := t.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[name]; e != nil {
		return e.a
	}
	return nil
}

// All calls f for every address.
func (t *Table) All(f func(*forward.Address)) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		list := make([]*forward.Address, 0, len(s.entries))
		for _, e := range s.entries {
			list = append(list, e.a)
		}
		s.mu.Unlock()
		for _, a := range list {
			f(a)
		}
	}
}

// Len is the number of addresses.
func (t *Table) Len() int {
	n := 0
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		n += len(s.entries)
		s.mu.Unlock()
	}
	return n
}
