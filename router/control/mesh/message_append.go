package mesh

import (
	"encoding/binary"
	"math"

	"sluice/amqp/encoding"
)

// Format codes of which the smallest encoding is not the one in use.
const (
	codeList32 = 0xd0
	codeMap32  = 0xd1
)

// The first implementation has two writers, whose habits are kept so that a trace of a mixed mesh shows no difference.
// HELLO, RA, LSR and LSU: keys are strings, numbers int, properties of six fields, empty lists of one byte.
// MAR and MAU: keys are symbols, numbers long, properties of three fields. Both write compounds wide whatever their size.
const (
	routingProperties = 6
	mobileProperties  = 3
)

// Append appends the whole message: header, message-annotations, properties, application-properties, amqp-value. Of a
// message that came in only the message-annotations are made anew.
func (m *Message) Append(b []byte) []byte {
	if m.tail != nil {
		b = append(b, m.head...)
		b = m.appendAnnotations(b)
		return append(b, m.tail...)
	}
	mobile := m.Body.Opcode() == OpcodeMAR || m.Body.Opcode() == OpcodeMAU

	b = encoding.AppendDescriptor(b, encoding.DescHeader)
	b, mark := begin32(b, codeList32)
	b = encoding.AppendBool(b, false)
	b = end32(b, mark, 1)

	b = m.appendAnnotations(b)

	fields := routingProperties
	if mobile {
		fields = mobileProperties
	}
	b = encoding.AppendDescriptor(b, encoding.DescProperties)
	b, mark = begin32(b, codeList32)
	b = encoding.AppendNull(encoding.AppendNull(b))
	b = encoding.AppendString(b, m.To)
	for range fields - 3 {
		b = encoding.AppendNull(b)
	}
	b = end32(b, mark, fields)

	b = encoding.AppendDescriptor(b, encoding.DescApplicationProperties)
	b, mark = begin32(b, codeMap32)
	if mobile {
		b = encoding.AppendSymbol(b, "opcode")
	} else {
		b = encoding.AppendString(b, "opcode")
	}
	b = encoding.AppendString(b, string(m.Body.Opcode()))
	b = end32(b, mark, 2)

	return m.Body.appendValue(encoding.AppendDescriptor(b, encoding.DescAMQPValue))
}

func (m *Message) appendAnnotations(b []byte) []byte {
	b = encoding.AppendDescriptor(b, encoding.DescMessageAnnotations)
	b, mark := encoding.BeginMap(b)
	count := 0
	if m.Ingress != "" {
		b = encoding.AppendString(encoding.AppendSymbol(b, "x-opt-qd.ingress"), m.Ingress)
		count += 2
	}
	b, list := encoding.BeginList(encoding.AppendSymbol(b, "x-opt-qd.trace"))
	for _, t := range m.Trace {
		b = encoding.AppendString(b, t)
	}
	b = encoding.EndList(b, list, len(m.Trace))
	return encoding.EndMap(b, mark, count+2)
}

func begin32(b []byte, code byte) ([]byte, int) {
	return append(b, code, 0, 0, 0, 0, 0, 0, 0, 0), len(b) + 1
}

func end32(b []byte, mark, count int) []byte {
	binary.BigEndian.PutUint32(b[mark:], uint32(len(b)-mark-4))
	binary.BigEndian.PutUint32(b[mark+4:], uint32(count))
	return b
}

// A mapWriter writes the map of a body.
type mapWriter struct {
	b      []byte
	mark   int
	count  int
	mobile bool // the habits of MAR and MAU
}

func beginBody(b []byte, mobile bool) mapWriter {
	b, mark := begin32(b, codeMap32)
	return mapWriter{b: b, mark: mark, mobile: mobile}
}

func (w *mapWriter) end() []byte { return end32(w.b, w.mark, w.count) }

func (w *mapWriter) key(name string) {
	if w.mobile {
		w.b = encoding.AppendSymbol(w.b, name)
	} else {
		w.b = encoding.AppendString(w.b, name)
	}
	w.count += 2
}

func (w *mapWriter) text(name, v string) {
	w.key(name)
	w.b = encoding.AppendString(w.b, v)
}

func (w *mapWriter) integer(name string, v int64) {
	w.key(name)
	if w.mobile {
		w.b = encoding.AppendLong(w.b, v)
	} else {
		w.b = appendInteger(w.b, v)
	}
}

// appendInteger writes an int, or a long if that is too narrow.
func appendInteger(b []byte, v int64) []byte {
	if v >= math.MinInt32 && v <= math.MaxInt32 {
		return encoding.AppendInt(b, int32(v))
	}
	return encoding.AppendLong(b, v)
}

func (w *mapWriter) texts(name string, list []string) {
	w.key(name)
	if len(list) == 0 && !w.mobile {
		b, mark := encoding.BeginList(w.b)
		w.b = encoding.EndList(b, mark, 0)
		return
	}
	b, mark := begin32(w.b, codeList32)
	for _, s := range list {
		b = encoding.AppendString(b, s)
	}
	w.b = end32(b, mark, len(list))
}

// integers writes a list of int, or nothing if it is nil.
func (w *mapWriter) integers(name string, list []int) {
	if list == nil {
		return
	}
	w.key(name)
	b, mark := begin32(w.b, codeList32)
	for _, v := range list {
		b = encoding.AppendInt(b, int32(v))
	}
	w.b = end32(b, mark, len(list))
}

// common writes what all bodies begin with.
func (w *mapWriter) common(id string) {
	w.text("id", id)
	w.integer("pv", ProtocolVersion)
	w.text("area", Area)
}
