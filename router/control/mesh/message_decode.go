package mesh

import (
	"bytes"
	"strings"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

// annotationsVersion2 is the descriptor of the section that the fork puts first.
var annotationsVersion2 = []byte("\x00\x80SKPR--RA")

// Decode reads a whole control message, which it keeps: b must not change as long as the message is in use. An error
// means that the message cannot be routed: it is malformed, or has no address. A message that can be routed but not
// understood comes with a Problem instead.
func Decode(b []byte) (*Message, error) {
	if bytes.HasPrefix(b, annotationsVersion2) {
		return nil, ErrAnnotationsVersion2
	}
	e, err := messaging.Scan(b, messaging.SectionProperties)
	if err == messaging.ErrIncomplete {
		return nil, amqp.Errorf(amqp.CondDecodeError, "mesh: control message ends within its envelope")
	} else if err != nil {
		return nil, err
	}
	if e.Properties.Len() == 0 {
		return nil, amqp.Errorf(amqp.CondInvalidField, "mesh: control message without address")
	}
	to, ok, err := messaging.PropertiesTo(e.Properties.Of(b))
	if err != nil {
		return nil, err
	}
	if !ok || len(to) > maxText {
		return nil, amqp.Errorf(amqp.CondInvalidField, "mesh: control message without address, or with one over %d bytes", maxText)
	}
	m := &Message{To: string(to), head: b[:e.Properties.Start:e.Properties.Start], tail: b[e.Properties.Start:]}
	if r := e.MessageAnnotations; r.Len() > 0 {
		m.head = b[:r.Start:r.Start]
		if err := m.decodeAnnotations(r.Of(b)); err != nil {
			return nil, err
		}
	}
	m.Body, m.Problem = decodeContent(b[e.Rest:])
	return m, nil
}

// decodeAnnotations reads ingress and trace. Other annotations have no meaning on a control link and are dropped.
func (m *Message) decodeAnnotations(section []byte) error {
	d := encoding.NewLimitedDecoder(section, decoderLimits)
	if _, err := d.Descriptor(); err != nil {
		return err
	}
	if d.IsNull() {
		return nil
	}
	return eachEntry(&d, func(key string, d *encoding.Decoder) (known bool, err error) {
		switch key {
		case "x-opt-qd.ingress":
			m.Ingress, err = text(d)
		case "x-opt-qd.trace":
			m.Trace, err = texts(d, maxTrace)
		default:
			return false, nil
		}
		if err != nil {
			return true, invalid("annotation "+key, err)
		}
		return true, nil
	})
}

// decodeContent reads application-properties and body.
func decodeContent(b []byte) (Body, error) {
	d := encoding.NewLimitedDecoder(b, decoderLimits)
	section, err := d.Descriptor()
	if err != nil {
		return nil, err
	}
	if section != encoding.DescApplicationProperties {
		return nil, amqp.Errorf(amqp.CondInvalidField, "mesh: control message without application-properties")
	}
	opcode, has := "", false
	err = eachEntry(&d, func(key string, d *encoding.Decoder) (bool, error) {
		if key != "opcode" {
			return false, nil
		}
		var err error
		opcode, err = text(d)
		has = true
		return true, err
	})
	if err != nil {
		return nil, err
	}
	if !has {
		return nil, amqp.Errorf(amqp.CondInvalidField, "mesh: control message without opcode")
	}
	if section, err = d.Descriptor(); err != nil {
		return nil, err
	}
	if section != encoding.DescAMQPValue {
		return nil, amqp.Errorf(amqp.CondInvalidField, "mesh: body of %s is no amqp-value", clip(opcode))
	}
	body := newBody(Opcode(opcode))
	if body == nil {
		return nil, &OpcodeError{Opcode(clip(opcode))}
	}

	// The version decides how the other keys are to be read, wherever it stands.
	version, id, first := int64(0), "", d
	err = eachEntry(&first, func(key string, d *encoding.Decoder) (known bool, err error) {
		switch key {
		case "pv":
			version, err = integer(d)
			return true, err
		case "id":
			id, err = text(d)
			return true, err
		}
		return false, nil
	})
	if err != nil {
		return nil, invalid(opcode, err)
	}
	if version > ProtocolVersion {
		return nil, &VersionError{ID: clip(id), Opcode: body.Opcode(), Version: version}
	}
	if err := eachEntry(&d, body.field); err != nil {
		return nil, invalid(opcode, err)
	}
	if body.Origin() == "" {
		return nil, missing(body.Opcode(), "id")
	}
	// An id stands in addresses, where a slash ends it.
	if strings.Contains(body.Origin(), "/") {
		return nil, amqp.Errorf(amqp.CondInvalidField, "mesh: %s: id %q has a slash", opcode, clip(body.Origin()))
	}
	if err := body.check(); err != nil {
		return nil, err
	}
	return body, nil
}

// eachEntry reads a map whose keys are strings or symbols. Entries that field does not know, and keys of other types, are
// skipped.
func eachEntry(d *encoding.Decoder, field func(key string, d *encoding.Decoder) (known bool, err error)) error {
	count, body, err := d.Map()
	if err != nil {
		return err
	}
	for range count / 2 {
		key, err := body.Raw()
		if err != nil {
			return err
		}
		known := false
		k := encoding.NewDecoder(key)
		if name, err := text(&k); err == nil {
			if known, err = field(name, &body); err != nil {
				return err
			}
		}
		if !known {
			if err := body.Skip(); err != nil {
				return err
			}
		}
	}
	return body.End()
}

// text reads a string or symbol and copies it.
func text(d *encoding.Decoder) (string, error) {
	var s []byte
	var err error
	if c := d.Peek(); c == 0xa3 || c == 0xb3 {
		s, err = d.Symbol()
	} else {
		s, err = d.String()
	}
	if err == nil && len(s) > maxText {
		err = amqp.Errorf(amqp.CondDecodeError, "text of %d bytes, at most %d are accepted", len(s), maxText)
	}
	return string(s), err
}

// texts reads a list of strings or symbols.
func texts(d *encoding.Decoder, most int) ([]string, error) {
	count, body, err := d.List()
	if err != nil {
		return nil, err
	}
	if count > most {
		return nil, amqp.Errorf(amqp.CondDecodeError, "list of %d elements, at most %d are accepted", count, most)
	}
	// An element takes at least two bytes, so the room made is in proportion to the input.
	list := make([]string, 0, min(count, body.Len()/2))
	for range count {
		s, err := text(&body)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, body.End()
}

// integer reads an integer of any type that is not negative.
func integer(d *encoding.Decoder) (int64, error) {
	var v int64
	var err error
	switch d.Peek() {
	case 0x50:
		var n uint8
		n, err = d.Ubyte()
		v = int64(n)
	case 0x60:
		var n uint16
		n, err = d.Ushort()
		v = int64(n)
	case 0x43, 0x52, 0x70:
		var n uint32
		n, err = d.Uint()
		v = int64(n)
	case 0x44, 0x53, 0x80:
		var n uint64
		n, err = d.Ulong()
		v = int64(n)
	case 0x51:
		var n int8
		n, err = d.Byte()
		v = int64(n)
	case 0x61:
		var n int16
		n, err = d.Short()
		v = int64(n)
	case 0x54, 0x71:
		var n int32
		n, err = d.Int()
		v = int64(n)
	default:
		v, err = d.Long()
	}
	if err == nil && v < 0 {
		err = amqp.Errorf(amqp.CondDecodeError, "number %d is out of range", v)
	}
	return v, err
}

func invalid(where string, err error) error {
	return amqp.Errorf(amqp.CondDecodeError, "mesh: %s: %v", clip(where), err)
}

func missing(o Opcode, key string) error {
	return amqp.Errorf(amqp.CondInvalidField, "mesh: %s without %s", o, key)
}

// clip shortens a peer's text to what is worth repeating in an error.
func clip(s string) string {
	const most = 64 // bytes
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "")
	}
	return s
}
