package links

import (
	"bytes"

	"sluice/amqp/messaging"
)

// fronts remembers how messages of late have begun that came on a link between
// routers of this family. Those of one sender to one address begin alike, byte
// for byte, as far as the entries of routers go, and mean the same then. It is
// guarded by the lock of the connection.
type fronts struct {
	list [4]front
	next int // to be replaced
}

// front is what was understood of the beginning of a message, through the entries of
// routers in its message-annotations.
type front struct {
	bytes   []byte
	to      []byte
	notes   notes
	header  messaging.Header
	headLen int
}

// maxFront is the most bytes of a beginning that is remembered.
const maxFront = 512

// apply has d understood if it begins like a message that was.
func (f *fronts) apply(d *Delivery, b []byte) bool {
	if f == nil {
		return false
	}
	for i := range f.list {
		if p := &f.list[i]; p.bytes != nil && bytes.HasPrefix(b, p.bytes) && len(b) >= p.notes.section.to {
			d.notes, d.header, d.headLen = p.notes, p.header, p.headLen
			d.to = append(d.to[:0], p.to...)
			return true
		}
	}
	return false
}

// remember takes what was understood of d, which begins with b.
func (f *fronts) remember(d *Delivery, b []byte) *fronts {
	end := d.notes.front
	if end > maxFront || d.notes.mixed != nil {
		return f
	}
	if f == nil {
		f = new(fronts)
	}
	p := &f.list[f.next]
	f.next = (f.next + 1) % len(f.list)
	p.bytes = append(p.bytes[:0], b[:end]...)
	p.to = append(p.to[:0], d.to...)
	p.notes, p.header, p.headLen = d.notes, d.header, d.headLen
	return f
}
