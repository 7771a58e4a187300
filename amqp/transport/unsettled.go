package transport

import "sluice/amqp"

// An Unsettled is a delivery that one side of a session has not yet settled.
// It is implemented by the layer above.
type Unsettled interface {
	// Link is the link that the delivery is on.
	Link() Link
	// Disposed hands over what the peer said about the delivery. It returns
	// true when the delivery is settled and its entry can go.
	Disposed(*Disposition) (settled bool)
	// Resolved hands over what the other end of an incoming delivery said,
	// to be passed on to the peer. It returns true likewise.
	Resolved(*Disposition) (settled bool)
	// Lost tells that the link or the session is gone.
	Lost()
}

// maxRing bounds the span of delivery-ids that the ring of a Table covers.
// A delivery that stays unsettled while this many later ones pass moves to the
// map, so that one forgotten delivery costs one map entry and not a window.
const maxRing = 8192

// A Table finds unsettled deliveries by delivery-id (§2.6.7): a ring for the
// recent ones, which come and go in order, and a map for the few left behind.
// Work is proportional to what is unsettled, whatever range is asked for.
type Table struct {
	slots []Unsettled // slots[id%len] for base <= id < next; length is a power of two
	base  amqp.DeliveryNumber
	next  amqp.DeliveryNumber
	begun bool // next is the successor of the latest id
	count int
	old   map[amqp.DeliveryNumber]Unsettled
}

// Len is the number of unsettled deliveries.
func (t *Table) Len() int { return t.count }

// Put enters u under id, which has not been entered before. Ids come in order
// but for stragglers: a delivery that waited in stage one is entered when its
// link pulls it, after later ones of other links.
func (t *Table) Put(id amqp.DeliveryNumber, u Unsettled) {
	if t.begun && id.Less(t.next) {
		t.straggler(id, u)
		return
	}
	if t.base == t.next {
		t.base, t.next = id, id
	}
	t.begun = true
	for int(t.next.Sub(t.base)) >= len(t.slots) {
		if len(t.slots) >= maxRing {
			t.retireOldest()
			continue
		}
		t.grow()
	}
	for t.next != id { // ids of settled deliveries in between
		t.slots[uint32(t.next)&uint32(len(t.slots)-1)] = nil
		t.next++
		if int(t.next.Sub(t.base)) >= len(t.slots) {
			t.retireOldest()
		}
	}
	t.slots[uint32(id)&uint32(len(t.slots)-1)] = u
	t.next = id + 1
	t.count++
}

func (t *Table) straggler(id amqp.DeliveryNumber, u Unsettled) {
	t.count++
	if !id.Less(t.base) {
		t.slots[uint32(id)&uint32(len(t.slots)-1)] = u
		return
	}
	if t.old == nil {
		t.old = make(map[amqp.DeliveryNumber]Unsettled)
	}
	t.old[id] = u
}

func (t *Table) grow() {
	n := max(16, 2*len(t.slots))
	slots := make([]Unsettled, n)
	for id := t.base; id != t.next; id++ {
		slots[uint32(id)&uint32(n-1)] = t.slots[uint32(id)&uint32(len(t.slots)-1)]
	}
	t.slots = slots
}

func (t *Table) retireOldest() {
	i := uint32(t.base) & uint32(len(t.slots)-1)
	if u := t.slots[i]; u != nil {
		if t.old == nil {
			t.old = make(map[amqp.DeliveryNumber]Unsettled)
		}
		t.old[t.base] = u
		t.slots[i] = nil
	}
	t.base++
}

// Get returns the delivery with this id, or nil.
func (t *Table) Get(id amqp.DeliveryNumber) Unsettled {
	if id.Sub(t.base) >= 0 && id.Less(t.next) {
		return t.slots[uint32(id)&uint32(len(t.slots)-1)]
	}
	return t.old[id]
}

// Remove forgets the delivery with this id.
func (t *Table) Remove(id amqp.DeliveryNumber) {
	if id.Sub(t.base) >= 0 && id.Less(t.next) {
		i := uint32(id) & uint32(len(t.slots)-1)
		if t.slots[i] != nil {
			t.slots[i] = nil
			t.count--
		}
		t.trim()
		return
	}
	if _, ok := t.old[id]; ok {
		delete(t.old, id)
		t.count--
	}
}

// trim moves base over what is settled.
func (t *Table) trim() {
	mask := uint32(len(t.slots) - 1)
	for t.base != t.next && t.slots[uint32(t.base)&mask] == nil {
		t.base++
	}
}

// Range calls f for each unsettled delivery with first <= id <= last, in order
// of id for the recent ones, and removes those for which f returns true.
func (t *Table) Range(first, last amqp.DeliveryNumber, f func(amqp.DeliveryNumber, Unsettled) bool) {
	if last.Less(first) {
		return
	}
	if len(t.old) > 0 {
		for id, u := range t.old {
			if !id.Less(first) && !last.Less(id) && f(id, u) {
				if _, ok := t.old[id]; ok {
					delete(t.old, id)
					t.count--
				}
			}
		}
	}
	if t.base == t.next {
		return
	}
	lo, hi := t.base, t.next
	if lo.Less(first) {
		lo = first
	}
	if (last + 1).Less(hi) {
		hi = last + 1
	}
	mask := uint32(len(t.slots) - 1)
	for id := lo; id.Less(hi); id++ {
		i := uint32(id) & mask
		if u := t.slots[i]; u != nil && f(id, u) && t.slots[i] != nil {
			t.slots[i] = nil
			t.count--
		}
	}
	t.trim()
}

// All calls f for every unsettled delivery and removes those for which f
// returns true.
func (t *Table) All(f func(amqp.DeliveryNumber, Unsettled) bool) {
	for id, u := range t.old {
		if f(id, u) {
			delete(t.old, id)
			t.count--
		}
	}
	if t.base != t.next {
		t.Range(t.base, t.next-1, f)
	}
}

// Oldest is the unsettled delivery with the lowest id, nil if there is none.
func (t *Table) Oldest() (u Unsettled) {
	var lowest amqp.DeliveryNumber
	for id, o := range t.old {
		if u == nil || id.Less(lowest) {
			lowest, u = id, o
		}
	}
	for id := t.base; u == nil && id != t.next; id++ {
		u = t.slots[uint32(id)&uint32(len(t.slots)-1)]
	}
	return u
}
