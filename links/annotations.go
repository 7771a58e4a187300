package links

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/buffers"
)

// routerKeys is the prefix of the annotations that belong to routers.
const routerKeys = "x-opt-qd."

// The entries of routers, as the routers of the existing family write them:
// symbols of one byte of length, in this order, behind all other entries of the
// message-annotations.
const (
	keyPhase   = "\xa3\x0ex-opt-qd.phase"   // int: of the overriding address
	keyStream  = "\xa3\x0fx-opt-qd.stream"  // 1: to be forwarded while it arrives
	keyTo      = "\xa3\x0bx-opt-qd.to"      // string: routes the message instead of its to
	keyIngress = "\xa3\x10x-opt-qd.ingress" // string: the router where it entered the network
	keyTrace   = "\xa3\x0ex-opt-qd.trace"   // list of strings: the routers that it passed
)

// maxPhase is the highest phase, that of fallback destinations.
const maxPhase = 'F' - '0'

// Annotate says which entries of routers go out on a link.
type Annotate uint8

const (
	// AnnotateNone sends the sender's own entries only.
	AnnotateNone Annotate = iota
	// AnnotateTo adds the address; for the way from an edge router up.
	AnnotateTo
	// AnnotateAll adds the address, the ingress router and the trace.
	AnnotateAll
)

// span is a part of a message's bytes.
type span struct{ from, to int }

func (s span) of(b []byte) []byte { return b[s.from:s.to] }

// notes is what is known of a message's annotations: where they are, and what
// routers have put there. Nothing is copied unless entries of routers and of
// others are mixed.
type notes struct {
	section span // the message-annotations; empty where they would go
	user    span // the entries of others
	items   int  // keys and values in user, or in mixed
	mixed   []byte

	routers bool // there are entries of routers
	hasTo   bool // Delivery.to is theirs
	hasFrom bool // ingress is believed
	here    bool // this router is in the trace
	ingress span // the text
	passed  span // the strings of the trace, encoded
	hops    int  // their number
	phase   byte // of the overriding address, as in its key; 0 for the default
	stream  bool // to be forwarded while it arrives

	// front is where what decides about all this ends: with the first key of an
	// entry of others, or with the section.
	front int
}

// read looks at the entries of the section, which is at n.section in b.
func (n *notes) read(d *Delivery, b []byte, l *Limits) error {
	section := n.section.of(b)
	dec := encoding.NewDecoder(section)
	if _, err := dec.Descriptor(); err != nil {
		return err
	}
	if dec.IsNull() {
		return nil
	}
	items, body, err := dec.Map()
	if err != nil {
		return err
	}
	if items%2 != 0 {
		return amqp.Errorf(amqp.CondInvalidField, "message-annotations with %d keys and values: one is left over", items)
	}
	n.user, n.items = span{n.section.to - body.Len(), n.section.to}, items
	if l.Sure && l.TrustIn {
		return n.readFront(d, b, l)
	}
	if !mayHaveRouterKeys(section) {
		return nil
	}
	at := n.user.from
	n.user.to, n.items = at, 0
	end := at // of the last piece of entries of others
	for range items / 2 {
		value := after(b, at, n.section.to)
		next := after(b, value, n.section.to)
		if next < 0 {
			return amqp.Errorf(amqp.CondDecodeError, "message-annotations end within an entry, or have one of an unknown type")
		}
		switch {
		case isRouterKey(b[at:value]):
			n.routers = true
			if !l.StripIn {
				if err := n.take(d, b, span{at, value}, span{value, next}, l); err != nil {
					return err
				}
			}
		case n.items == 0:
			n.user = span{at, next}
			n.items, end = 2, next
		case end == at && n.mixed == nil:
			n.user.to, end = next, next
			n.items += 2
		default:
			if n.mixed == nil {
				n.mixed = append([]byte{}, n.user.of(b)...)
			}
			n.mixed = append(n.mixed, b[at:next]...)
			n.items += 2
		}
		at = next
	}
	if at != n.section.to {
		return amqp.Errorf(amqp.CondDecodeError, "message-annotations are longer than their entries")
	}
	return nil
}

// mayHaveRouterKeys tells whether routerKeys is anywhere in b. Keys of others
// often begin alike, so it is the rare letter that is searched for.
func mayHaveRouterKeys(b []byte) bool {
	const q = len(routerKeys) - len("qd.")
	for at := q; at < len(b); at++ {
		i := bytes.IndexByte(b[at:], 'q')
		if i < 0 {
			return false
		}
		if at += i; bytes.HasPrefix(b[at-q:], []byte(routerKeys)) {
			return true
		}
	}
	return false
}

// readFront reads the entries that a router of this family has put first: behind
// them there are none.
func (n *notes) readFront(d *Delivery, b []byte, l *Limits) error {
	n.front = n.section.to
	for n.items > 0 {
		value := after(b, n.user.from, n.user.to)
		if value < 0 || !isRouterKey(b[n.user.from:value]) {
			if value > 0 {
				n.front = value
			}
			return nil
		}
		next := after(b, value, n.user.to)
		if next < 0 {
			return amqp.Errorf(amqp.CondDecodeError, "message-annotations end within an entry, or have one of an unknown type")
		}
		n.routers = true
		if err := n.take(d, b, span{n.user.from, value}, span{value, next}, l); err != nil {
			return err
		}
		n.user.from = next
		n.items -= 2
	}
	return nil
}

// after returns where the value at b[at:end] ends, -1 if that is beyond end or
// cannot be told. It looks at no more than the size (§1.6).
func after(b []byte, at, end int) int {
	if at < 0 || at >= end {
		return -1
	}
	switch code := b[at]; code >> 4 {
	case 0x4:
		at++
	case 0x5:
		at += 2
	case 0x6:
		at += 3
	case 0x7:
		at += 5
	case 0x8:
		at += 9
	case 0x9:
		at += 17
	case 0xa, 0xc, 0xe:
		if at+1 >= end {
			return -1
		}
		at += 2 + int(b[at+1])
	case 0xb, 0xd, 0xf:
		if at+4 >= end {
			return -1
		}
		n := binary.BigEndian.Uint32(b[at+1:])
		if uint64(n) > uint64(end-at-5) {
			return -1
		}
		at += 5 + int(n)
	default: // described: descriptor, then value
		if code != 0 {
			return -1
		}
		return after(b, after(b, at+1, end), end)
	}
	if at > end {
		return -1
	}
	return at
}

// take believes an entry as far as its peer is believed.
func (n *notes) take(d *Delivery, b []byte, key, value span, l *Limits) error {
	v := value.of(b)
	switch string(key.of(b)) {
	case keyTo:
		text, err := stringOf(v)
		if err != nil {
			return err
		}
		d.to, n.hasTo = append(d.to[:0], text...), true
	case keyPhase:
		phase, err := phaseOf(v)
		if err != nil {
			return err
		}
		n.phase = phase
	case keyStream:
		n.stream = true
	case keyIngress:
		if !l.TrustIn {
			return nil
		}
		text, err := stringOf(v)
		if err != nil {
			return err
		}
		n.ingress, n.hasFrom = span{value.to - len(text), value.to}, true
	case keyTrace:
		if l.TrustIn {
			return n.takeTrace(v, value.to, l.Router)
		}
	}
	return nil
}

// takeTrace reads the trace, which ends at offset end of the message.
func (n *notes) takeTrace(v []byte, end int, self string) error {
	dec := encoding.NewDecoder(v)
	count, body, err := dec.List()
	if err != nil {
		return amqp.Errorf(amqp.CondInvalidField, "the trace annotation is not a list: %v", err)
	}
	n.passed, n.hops = span{end - body.Len(), end}, count
	for range count {
		name, err := body.String()
		if err != nil {
			return amqp.Errorf(amqp.CondInvalidField, "the trace annotation has something that is not a string: %v", err)
		}
		n.here = n.here || string(name) == self
	}
	return nil
}

func isRouterKey(key []byte) bool {
	if len(key) < 2+len(routerKeys) {
		return false
	}
	switch key[0] {
	case 0xa3, 0xa1:
		return string(key[2:2+len(routerKeys)]) == routerKeys
	case 0xb3, 0xb1:
		return len(key) >= 5+len(routerKeys) && string(key[5:5+len(routerKeys)]) == routerKeys
	}
	return false
}

// phaseOf reads a phase: an integer from 0, added to the character of phase 0.
// Routers write an int, and clients that may write one what their language has.
func phaseOf(raw []byte) (byte, error) {
	dec := encoding.NewDecoder(raw)
	small, err := dec.Int()
	v := int64(small)
	if err != nil {
		dec = encoding.NewDecoder(raw)
		v, err = dec.Long()
	}
	if err != nil {
		return 0, amqp.Errorf(amqp.CondInvalidField, "the phase annotation is not an int: %v", err)
	}
	if v < 0 || v > maxPhase {
		return 0, amqp.Errorf(amqp.CondInvalidField, "the phase annotation is %d, which is not from 0 to %d", v, maxPhase)
	}
	return '0' + byte(v), nil
}

// stringOf reads a string. The short form is nearly all there is.
func stringOf(raw []byte) ([]byte, error) {
	if len(raw) >= 2 && raw[0] == 0xa1 && int(raw[1]) == len(raw)-2 && utf8.Valid(raw[2:]) {
		return raw[2:], nil
	}
	dec := encoding.NewDecoder(raw)
	s, err := dec.String()
	if err != nil {
		return nil, amqp.Errorf(amqp.CondInvalidField, "an annotation of routers is not a string: %v", err)
	}
	return s, nil
}

// Ingress borrows the name of the router where the message entered the network,
// "0/ID"; nil if that is this one. It is for the time before the message is
// forwarded.
func (d *Delivery) Ingress() []byte {
	if !d.notes.hasFrom {
		return nil
	}
	return d.notes.ingress.of(d.beginning(d.notes.section.to))
}

// Phase is that of the address that a router has given the message, as in its
// key: '0' unless it says another one.
func (d *Delivery) Phase() byte {
	if d.notes.phase == 0 || !d.notes.hasTo {
		return '0'
	}
	return d.notes.phase
}

// Passed tells how many routers the message has passed, and whether this one was
// among them.
func (d *Delivery) Passed() (count int, here bool) { return d.notes.hops, d.notes.here }

// beginning borrows the first n bytes of a message of which nothing has been
// sent to the one who asks.
func (d *Delivery) beginning(n int) []byte {
	if s, ok := d.Content.Whole(); ok {
		return s.Bytes()
	}
	if first, _ := d.Content.Next(new(buffers.Cursor), n); first.Len() >= n {
		return first.Bytes()
	}
	return d.Content.Prefix(nil, n)
}

// annotate appends the message-annotations that go out on a link with these
// limits; none, if there are no entries. B begins with the message, and the
// message goes on at the offset that is returned.
//
// The routers of the existing family want the entries of routers last, and find
// them by a walk through all others. Those of this one put them first, where
// they are found at once; and where the entries of others are in one piece at
// the end of the section they stay where they are, whatever comes before them.
func (d *Delivery) annotate(out, b []byte, l *Limits) (_ []byte, next int) {
	n := &d.notes
	out = encoding.AppendDescriptor(out, uint64(messaging.SectionMessageAnnotations))
	start := len(out)
	out, mark := encoding.BeginMap(out)
	first := l.Sure || l.Annotate == AnnotateNone
	items := n.items
	user := n.user.of(b)
	if n.mixed != nil {
		user = n.mixed
	}
	if !first {
		out = append(out, user...)
	}
	var own int
	out, own = d.appendOwn(out, b, l)
	if items += own; items == 0 {
		return out[:start-3], n.section.to
	}
	switch {
	case !first:
	case n.mixed == nil && n.user.to == n.section.to && len(user) > 0:
		return encoding.EndMapBefore(out, mark, items, len(user)), n.user.from
	default:
		out = append(out, user...)
	}
	return encoding.EndMap(out, mark, items), n.section.to
}

// appendOwn appends the entries of routers, and returns how many keys and values
// they have.
func (d *Delivery) appendOwn(out, b []byte, l *Limits) (_ []byte, items int) {
	n := &d.notes
	if l.Annotate == AnnotateNone {
		return out, 0
	}
	if n.phase > '0' {
		out = append(append(out, keyPhase...), 0x54, n.phase-'0')
		items += 2
	}
	if n.stream {
		out = append(append(out, keyStream...), 0x54, 1)
		items += 2
	}
	switch {
	case n.hasTo:
		out = appendText(append(out, keyTo...), d.to)
		items += 2
	case d.from.info.Address != "":
		out = encoding.AppendString(append(out, keyTo...), d.from.info.Address)
		items += 2
	}
	if l.Annotate != AnnotateAll {
		return out, items
	}
	out = append(out, keyIngress...)
	if n.hasFrom {
		out = appendText(out, n.ingress.of(b))
	} else {
		out = encoding.AppendString(out, l.Router)
	}
	out = append(out, keyTrace...)
	out, list := encoding.BeginList(out)
	out = append(out, n.passed.of(b)...)
	out = encoding.AppendString(out, l.Router)
	return encoding.EndList(out, list, n.hops+1), items + 4
}

// appendText appends a string.
func appendText(out, text []byte) []byte {
	if len(text) > 255 {
		return encoding.AppendString(out, string(text))
	}
	return append(append(out, 0xa1, byte(len(text))), text...)
}
