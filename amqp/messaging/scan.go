package messaging

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"sluice/amqp"
	"sluice/amqp/encoding"
)

// Section numbers the sections in the order in which they may appear (§3.2), by their descriptor.
type Section uint8

const (
	SectionHeader                Section = encoding.DescHeader
	SectionDeliveryAnnotations   Section = encoding.DescDeliveryAnnotations
	SectionMessageAnnotations    Section = encoding.DescMessageAnnotations
	SectionProperties            Section = encoding.DescProperties
	SectionApplicationProperties Section = encoding.DescApplicationProperties
	SectionData                  Section = encoding.DescData
	SectionAMQPSequence          Section = encoding.DescAMQPSequence
	SectionAMQPValue             Section = encoding.DescAMQPValue
	SectionFooter                Section = encoding.DescFooter
)

// Range is a part [Start, End) of the input. An absent section has an empty range.
type Range struct{ Start, End int }

// Len returns the number of bytes.
func (r Range) Len() int { return r.End - r.Start }

// Of returns the part of b.
func (r Range) Of(b []byte) []byte { return b[r.Start:r.End:r.End] }

// Envelope says where the sections are that a router looks at, descriptors included.
type Envelope struct {
	Header, DeliveryAnnotations, MessageAnnotations, Properties Range

	Rest     int  // start of what follows the sections found
	Complete bool // the section asked for was found, or one after it
}

// ErrIncomplete says that the input ends before the envelope does. It is no fault of the sender: more frames may follow.
// If none do and Envelope.Rest is the length of the input, the message ended between two sections.
var ErrIncomplete = errors.New("message prefix ends within the envelope")

// Scan finds the sections of the envelope in the first bytes of a message, up to the section through, which is
// SectionProperties at most. It stops at the first section behind it, looks at no content, and allocates nothing unless
// the sender is in error. With ErrIncomplete, the Envelope holds what was found so far.
func Scan(b []byte, through Section) (Envelope, error) {
	var e Envelope
	last := Section(0)
	for {
		s, value, err := sectionAt(b, e.Rest)
		if err != nil {
			return e, err
		}
		if s > through || s > SectionProperties {
			e.Complete = true
			return e, nil
		}
		// §3.2: the sections come in this order, each of these at most once.
		if s <= last {
			return e, amqp.Errorf(amqp.CondDecodeError, "message: section 0x%x after section 0x%x", uint8(s), uint8(last))
		}
		end, err := sectionEnd(b, s, value)
		if err != nil {
			return e, err
		}
		r := Range{e.Rest, end}
		switch s {
		case SectionHeader:
			e.Header = r
		case SectionDeliveryAnnotations:
			e.DeliveryAnnotations = r
		case SectionMessageAnnotations:
			e.MessageAnnotations = r
		case SectionProperties:
			e.Properties = r
		}
		e.Rest, last = end, s
		if s >= through {
			e.Complete = true
			return e, nil
		}
	}
}

// maxDescriptor is the longest descriptor of a section: the symbol "amqp:application-properties:map" with its header.
// A prefix that is longer and still holds no descriptor never will.
const maxDescriptor = 3 + len("amqp:application-properties:map")

// sectionAt returns which section begins at p, and the offset of its value.
func sectionAt(b []byte, p int) (s Section, value int, err error) {
	if len(b)-p >= 3 && b[p] == 0x00 && b[p+1] == 0x53 {
		s, value = Section(b[p+2]), p+3
	} else if s, value, err = sectionAtSlow(b, p); err != nil {
		return 0, 0, err
	}
	if s < SectionHeader || s > SectionFooter {
		return 0, 0, amqp.Errorf(amqp.CondDecodeError, "message: at offset %d: unknown section 0x%x", p, uint8(s))
	}
	return s, value, nil
}

func sectionAtSlow(b []byte, p int) (s Section, value int, err error) {
	rest := b[p:]
	if len(rest) == 0 {
		return 0, 0, ErrIncomplete
	}
	d := encoding.NewDecoder(rest)
	code, err := d.Descriptor()
	if err == nil {
		if code > 0xff {
			return 0, 0, amqp.Errorf(amqp.CondDecodeError, "message: at offset %d: unknown section 0x%x", p, code)
		}
		return Section(code), p + d.Offset(), nil
	}
	if incompleteDescriptor(rest) {
		return 0, 0, ErrIncomplete
	}
	return 0, 0, amqp.Errorf(amqp.CondDecodeError, "message: at offset %d: no section begins here", p)
}

// incompleteDescriptor reports whether b could be the beginning of a section's descriptor.
func incompleteDescriptor(b []byte) bool {
	if b[0] != 0x00 {
		return false
	}
	if len(b) == 1 {
		return true
	}
	need := 0
	switch b[1] {
	case 0x53:
		need = 3
	case 0x80:
		need = 10
	case 0xa3:
		if len(b) == 2 {
			return true
		}
		need = 3 + int(b[2])
	case 0xb3:
		if len(b) < 6 {
			return true
		}
		n := binary.BigEndian.Uint32(b[2:])
		if n > uint32(maxDescriptor) {
			return false
		}
		need = 6 + int(n)
	}
	return len(b) < need && need <= maxDescriptor+3
}

// sectionEnd returns the end of the section s whose value is at p.
func sectionEnd(b []byte, s Section, p int) (int, error) {
	if p >= len(b) {
		return 0, ErrIncomplete
	}
	list := s == SectionHeader || s == SectionProperties
	size, width := uint32(0), 0
	switch c := b[p]; {
	case c == 0x45 && list:
		return p + 1, nil
	case c == 0xc0 && list, c == 0xc1 && !list:
		width = 1
		if len(b)-p < 2 {
			return 0, ErrIncomplete
		}
		size = uint32(b[p+1])
	case c == 0xd0 && list, c == 0xd1 && !list:
		width = 4
		if len(b)-p < 5 {
			return 0, ErrIncomplete
		}
		size = binary.BigEndian.Uint32(b[p+1:])
	case c == 0x40 && !list:
		// Annotations that are null: not in the grammar, but seen, and harmless.
		return p + 1, nil
	default:
		return 0, amqp.Errorf(amqp.CondDecodeError, "message: at offset %d: section 0x%x has format code 0x%x", p, uint8(s), c)
	}
	if size < uint32(width) {
		return 0, amqp.Errorf(amqp.CondDecodeError, "message: at offset %d: section 0x%x of size %d has no room for its count",
			p, uint8(s), size)
	}
	start := p + 1 + width
	if uint64(size) > uint64(len(b)-start) {
		return 0, ErrIncomplete
	}
	return start + int(size), nil
}

// PropertiesTo returns the field to of a properties section, borrowed; ok is false when it is absent. The fields behind it
// are not looked at.
func PropertiesTo(section []byte) (to []byte, ok bool, err error) {
	if to, ok, sure := fastTo(section); sure {
		return to, ok, nil
	}
	return slowTo(section)
}

func slowTo(section []byte) (to []byte, ok bool, err error) {
	d := encoding.NewDecoder(section)
	f, err := decodeTerminus(&d, "properties", encoding.DescProperties, propertiesFields)
	if err != nil {
		return nil, false, err
	}
	for _, name := range []string{"message-id", "user-id"} {
		if d, ok := f.Next(); ok {
			if err := d.Skip(); err != nil {
				f.Fail(name, err)
			}
		}
	}
	if d, has := f.Next(); has {
		if to, err = d.String(); err != nil {
			f.Fail("to", err)
		}
		ok = true
	}
	// Not Finish alone, which would find the fields behind.
	if f.Failed() {
		return nil, false, f.Finish()
	}
	return to, ok, nil
}

// fastTo is PropertiesTo for the encodings that are in use, since anonymous senders make a router ask for each message.
// sure is false when something is unusual or wrong, which slowTo then finds out.
func fastTo(b []byte) (to []byte, ok, sure bool) {
	if len(b) < 6 || b[0] != 0x00 || b[1] != 0x53 || b[2] != encoding.DescProperties {
		return nil, false, false
	}
	var count int
	switch {
	case b[3] == 0xc0 && int(b[4]) <= len(b)-5 && b[4] >= 1:
		count, b = int(b[5]), b[6:5+int(b[4])]
	case b[3] == 0xd0 && len(b) >= 12:
		size := binary.BigEndian.Uint32(b[4:])
		if size < 4 || uint64(size) > uint64(len(b)-8) || binary.BigEndian.Uint32(b[8:]) > propertiesFields {
			return nil, false, false
		}
		count, b = int(b[11]), b[12:8+size]
	default:
		return nil, false, false
	}
	if count < 3 || count > propertiesFields || count > len(b) {
		return nil, false, false
	}
	// message-id and user-id: of any length up to 255, of any of their types.
	for range 2 {
		if len(b) < 2 {
			return nil, false, false
		}
		n := 0
		switch b[0] {
		case 0x40, 0x44:
			n = 1
		case 0x53:
			n = 2
		case 0x80:
			n = 9
		case 0x98:
			n = 17
		case 0xa0, 0xa1:
			n = 2 + int(b[1])
		}
		if n == 0 || n >= len(b) {
			return nil, false, false
		}
		b = b[n:]
	}
	switch {
	case b[0] == 0x40:
		return nil, false, true
	case b[0] == 0xa1 && len(b) >= 2 && int(b[1]) <= len(b)-2:
		to = b[2 : 2+int(b[1]) : 2+int(b[1])]
		return to, true, utf8.Valid(to)
	}
	return nil, false, false
}
