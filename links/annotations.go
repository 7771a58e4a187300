package links

import (
	"bytes"

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

	routers        bool // there are entries of routers
	hasTo          bool // Delivery.to is theirs
	ingress, trace span // values, as far as they are believed
	more           span // phase and stream, likewise
	moreItems      int
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
	if !bytes.Contains(section, []byte(routerKeys)) {
		return nil
	}
	if l.TrustIn && items > fewItems && n.readTail(d, b) {
		return nil
	}
	return n.readAll(d, b, body, items, l)
}

// fewItems is the number of keys and values that are cheaper to walk through
// than to search.
const fewItems = 16

// readTail finds the entries of a router that has put them last, in the order in
// which they are written, without a walk through all the others. It searches
// from the end, where the values are router ids and not the sender's, and takes
// only what fits together without a gap. The address before them is the sender's
// text; the worst that one can do is to route its own message elsewhere.
func (n *notes) readTail(d *Delivery, b []byte) bool {
	end, items := n.section.to, n.items
	entry := func(key string) (value span, ok bool) {
		i := bytes.LastIndex(b[n.user.from:end], []byte(key))
		if i < 0 {
			return span{}, false
		}
		at := n.user.from + i + len(key)
		dec := encoding.NewDecoder(b[at:end])
		if raw, err := dec.Raw(); err != nil || at+len(raw) != end {
			return span{}, false
		}
		value = span{at, end}
		end = n.user.from + i
		items -= 2
		return value, true
	}
	trace, ok := entry(keyTrace)
	if !ok {
		return false
	}
	ingress, ok := entry(keyIngress)
	if !ok {
		return false
	}
	if to, ok := entry(keyTo); ok {
		text, err := stringOf(to.of(b))
		if err != nil {
			return false
		}
		d.to, n.hasTo = append(d.to[:0], text...), true
	}
	if bytes.HasSuffix(b[n.user.from:end], []byte(keyStream+"\x54\x01")) || bytes.Contains(b[max(n.user.from, end-24):end], []byte(routerKeys)) {
		return false // rare enough for the walk
	}
	n.trace, n.ingress, n.routers = trace, ingress, true
	n.user.to, n.items = end, items
	return true
}

// readAll walks through all entries.
func (n *notes) readAll(d *Delivery, b []byte, body encoding.Decoder, items int, l *Limits) error {
	at := n.user.from
	users, runs := 0, 0 // entries of others, and pieces that they are in
	last := at          // end of the last such piece
	for range items / 2 {
		key, err := body.Raw()
		if err != nil {
			return err
		}
		value, err := body.Raw()
		if err != nil {
			return err
		}
		from := at
		at += len(key) + len(value)
		if !isRouterKey(key) {
			if users == 0 || last != from {
				runs++
			}
			switch {
			case runs == 1 && users == 0:
				n.user = span{from, at}
			case runs == 1:
				n.user.to = at
			default:
				if n.mixed == nil {
					n.mixed = append([]byte{}, n.user.of(b)...)
				}
				n.mixed = append(n.mixed, b[from:at]...)
			}
			users, last = users+2, at
			continue
		}
		n.routers = true
		if l.StripIn {
			continue
		}
		if err := n.take(d, b, string(key), span{at - len(value), at}, l); err != nil {
			return err
		}
	}
	if n.items = users; users == 0 {
		n.user = span{}
	}
	return nil
}

// take believes an entry as far as its peer is believed.
func (n *notes) take(d *Delivery, b []byte, key string, value span, l *Limits) (err error) {
	switch key {
	case keyTo:
		text, err := stringOf(value.of(b))
		if err != nil {
			return err
		}
		d.to, n.hasTo = append(d.to[:0], text...), true
	case keyPhase, keyStream:
		entry := span{value.from - len(key), value.to}
		if n.moreItems > 0 && n.more.to == entry.from {
			entry.from = n.more.from
		}
		n.more, n.moreItems = entry, n.moreItems+2
	case keyIngress:
		if l.TrustIn {
			n.ingress = value
			_, err = stringOf(value.of(b))
		}
	case keyTrace:
		if l.TrustIn {
			n.trace = value
			_, _, err = traceOf(value.of(b))
		}
	}
	return err
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

func stringOf(raw []byte) ([]byte, error) {
	dec := encoding.NewDecoder(raw)
	s, err := dec.String()
	if err != nil {
		return nil, amqp.Errorf(amqp.CondInvalidField, "an annotation of routers is not a string: %v", err)
	}
	return s, nil
}

// traceOf takes the value of a trace apart: the encoded strings, and their number.
func traceOf(raw []byte) (elements []byte, count int, err error) {
	dec := encoding.NewDecoder(raw)
	count, body, err := dec.List()
	if err != nil {
		return nil, 0, amqp.Errorf(amqp.CondInvalidField, "the trace annotation is not a list: %v", err)
	}
	elements = body.Rest()
	for range count {
		if _, err := body.String(); err != nil {
			return nil, 0, amqp.Errorf(amqp.CondInvalidField, "the trace annotation has something that is not a string: %v", err)
		}
	}
	return elements, count, nil
}

// Ingress borrows the name of the router where the message entered the network,
// "0/ID"; empty if that is this one.
func (d *Delivery) Ingress() []byte {
	if d.notes.ingress == (span{}) {
		return nil
	}
	s, err := stringOf(d.notes.ingress.of(d.beginning(d.notes.section.to)))
	if err != nil {
		return nil
	}
	return s
}

// Passed tells how many routers the message has passed, and whether the one with
// this name, "0/ID", is among them.
func (d *Delivery) Passed(name string) (count int, by bool) {
	if d.notes.trace == (span{}) {
		return 0, false
	}
	dec := encoding.NewDecoder(d.notes.trace.of(d.beginning(d.notes.section.to)))
	count, body, err := dec.List()
	if err != nil {
		return 0, false
	}
	for range count {
		if s, err := body.String(); err == nil && string(s) == name {
			by = true
		}
	}
	return count, by
}

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
// limits; none, if there are no entries. B begins with the message.
func (d *Delivery) annotate(out, b []byte, l *Limits) []byte {
	n := &d.notes
	out = encoding.AppendDescriptor(out, uint64(messaging.SectionMessageAnnotations))
	start := len(out)
	out, mark := encoding.BeginMap(out)
	items := n.items
	if n.mixed != nil {
		out = append(out, n.mixed...)
	} else {
		out = append(out, n.user.of(b)...)
	}
	if l.Annotate != AnnotateNone {
		out = append(out, n.more.of(b)...)
		items += n.moreItems
		switch {
		case n.hasTo:
			out = encoding.AppendString(append(out, keyTo...), string(d.to))
			items += 2
		case d.from.info.Address != "":
			out = encoding.AppendString(append(out, keyTo...), d.from.info.Address)
			items += 2
		}
	}
	if l.Annotate == AnnotateAll {
		out = append(out, keyIngress...)
		if n.ingress != (span{}) {
			out = append(out, n.ingress.of(b)...)
		} else {
			out = encoding.AppendString(out, l.Router)
		}
		out = append(out, keyTrace...)
		var passed []byte
		count := 0
		if n.trace != (span{}) {
			passed, count, _ = traceOf(n.trace.of(b))
		}
		var list encoding.Mark
		out, list = encoding.BeginList(out)
		out = append(out, passed...)
		out = encoding.AppendString(out, l.Router)
		out = encoding.EndList(out, list, count+1)
		items += 4
	}
	if items == 0 {
		return out[:start-3]
	}
	return encoding.EndMap(out, mark, items)
}
