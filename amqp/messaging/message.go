package messaging

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
)

// Message is a whole message, for the control plane. A nil section is absent.
type Message struct {
	Header                *Header
	DeliveryAnnotations   encoding.Map
	MessageAnnotations    encoding.Map
	Properties            *Properties
	ApplicationProperties encoding.Map

	// The body is one of Data and Sequences when they are not nil, else the amqp-value Body, which may be nil: null.
	Body      any
	Data      [][]byte
	Sequences [][]any

	Footer encoding.Map
}

// Append appends the sections of m. It fails only on a value that has no AMQP type, and then returns b as it was.
func (m *Message) Append(b []byte) ([]byte, error) {
	out := b
	if m.Header != nil {
		out = m.Header.Append(out)
	}
	var err error
	section := func(code uint64, v any) {
		if err == nil {
			out, err = encoding.AppendAny(encoding.AppendDescriptor(out, code), v)
		}
	}
	if m.DeliveryAnnotations != nil {
		section(encoding.DescDeliveryAnnotations, m.DeliveryAnnotations)
	}
	if m.MessageAnnotations != nil {
		section(encoding.DescMessageAnnotations, m.MessageAnnotations)
	}
	if m.Properties != nil {
		out = m.Properties.Append(out)
	}
	if m.ApplicationProperties != nil {
		section(encoding.DescApplicationProperties, m.ApplicationProperties)
	}
	switch {
	case m.Data != nil:
		for _, data := range m.Data {
			section(encoding.DescData, data)
		}
	case m.Sequences != nil:
		for _, sequence := range m.Sequences {
			section(encoding.DescAMQPSequence, sequence)
		}
	default:
		section(encoding.DescAMQPValue, m.Body)
	}
	if m.Footer != nil {
		section(encoding.DescFooter, m.Footer)
	}
	if err != nil {
		return b, err
	}
	return out, nil
}

// DecodeMessage reads a whole message and copies it. A message without body, which §3.2 does not allow but which is harmless,
// has the body null.
func DecodeMessage(b []byte) (*Message, error) {
	m := new(Message)
	d := encoding.NewDecoder(b)
	last := Section(0)
	for d.Len() > 0 {
		at := d.Offset()
		s, value, err := sectionAt(b, at)
		if err == ErrIncomplete {
			err = amqp.Errorf(amqp.CondDecodeError, "message: at offset %d: section goes beyond the end", at)
		}
		if err != nil {
			return nil, err
		}
		// Only data and amqp-sequence may be repeated, and only one kind of body may be there (§3.2).
		repeated := s == last && (s == SectionData || s == SectionAMQPSequence)
		bodies := s >= SectionData && s <= SectionAMQPValue && last >= SectionData
		if s <= last && !repeated || bodies && !repeated {
			return nil, amqp.Errorf(amqp.CondDecodeError, "message: section 0x%x after section 0x%x", uint8(s), uint8(last))
		}
		last = s
		if err := m.decodeSection(&d, s, value-at); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// decodeSection reads the section s, whose value comes after a descriptor of the given length.
func (m *Message) decodeSection(d *encoding.Decoder, s Section, descriptor int) (err error) {
	switch s {
	case SectionHeader:
		h, err := DecodeHeader(d)
		m.Header = &h
		return err
	case SectionProperties:
		m.Properties, err = DecodeProperties(d)
		return err
	}
	if err := d.Advance(descriptor); err != nil {
		return err
	}
	v, err := d.Any()
	if err != nil {
		return err
	}
	ok := true
	switch s {
	case SectionDeliveryAnnotations:
		m.DeliveryAnnotations, ok = sectionMap(v)
	case SectionMessageAnnotations:
		m.MessageAnnotations, ok = sectionMap(v)
	case SectionApplicationProperties:
		m.ApplicationProperties, ok = sectionMap(v)
	case SectionFooter:
		m.Footer, ok = sectionMap(v)
	case SectionData:
		var data []byte
		data, ok = v.([]byte)
		m.Data = append(m.Data, data)
	case SectionAMQPSequence:
		var sequence []any
		sequence, ok = v.([]any)
		m.Sequences = append(m.Sequences, sequence)
	case SectionAMQPValue:
		m.Body = v
	}
	if !ok {
		return amqp.Errorf(amqp.CondDecodeError, "message: section 0x%x holds a %T", uint8(s), v)
	}
	return nil
}

// sectionMap accepts null for a map, as Scan does.
func sectionMap(v any) (encoding.Map, bool) {
	if v == nil {
		return nil, true
	}
	m, ok := v.(encoding.Map)
	return m, ok
}
