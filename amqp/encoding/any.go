package encoding

import (
	"encoding/binary"
	"math"

	"sluice/amqp"
)

// Go types of AMQP values where Go has none of its own. Any returns, and AppendAny accepts, these besides nil, bool, the
// sized integers and floats, string, []byte, amqp.Symbol, []any (list) and []amqp.Symbol (array of symbols).
type (
	Char       rune
	Timestamp  int64 // milliseconds since the Unix epoch
	UUID       [16]byte
	Decimal32  [4]byte
	Decimal64  [8]byte
	Decimal128 [16]byte

	// Map is a map in the order of the wire.
	Map []MapEntry

	// MapEntry is one pair of a Map.
	MapEntry struct{ Key, Value any }

	// Described is a described value. Descriptor is a uint64 or an amqp.Symbol, if it is one of the usual kinds.
	Described struct{ Descriptor, Value any }

	// Array is an array of anything but symbols. Its elements have the Go type that belongs to Constructor.
	Array struct {
		Constructor byte  // format code of the elements
		Descriptor  any   // of described elements, else nil
		Elements    []any // nil when the elements take no bytes
		Count       int   // number of elements; AppendAny looks at it only for elements that take no bytes
	}
)

// Get returns the value of the first entry whose key is the string or symbol key.
func (m Map) Get(key string) (value any, ok bool) {
	for _, e := range m {
		switch k := e.Key.(type) {
		case string:
			if k == key {
				return e.Value, true
			}
		case amqp.Symbol:
			if string(k) == key {
				return e.Value, true
			}
		}
	}
	return nil, false
}

// Any reads a value of any type and copies it.
func (d *Decoder) Any() (any, error) {
	start := *d
	v, err := d.any()
	if err != nil {
		*d = start
	}
	return v, err
}

func (d *Decoder) any() (any, error) {
	c, ok := d.peek()
	if !ok {
		return nil, d.errorf("a value expected, found the end")
	}
	switch c {
	case codeDescribed:
		return d.described()
	case codeNull:
		return nil, d.Null()
	case codeTrue, codeFalse, codeBool:
		return boxed(d.Bool())
	case codeUbyte:
		return boxed(d.Ubyte())
	case codeUshort:
		return boxed(d.Ushort())
	case codeUint0, codeSmallUint, codeUint:
		return boxed(d.Uint())
	case codeUlong0, codeSmallUlong, codeUlong:
		return boxed(d.Ulong())
	case codeByte:
		return boxed(d.Byte())
	case codeShort:
		return boxed(d.Short())
	case codeSmallInt, codeInt:
		return boxed(d.Int())
	case codeSmallLong, codeLong:
		return boxed(d.Long())
	case codeFloat:
		return boxed(d.Float())
	case codeDouble:
		return boxed(d.Double())
	case codeDecimal32:
		v, err := d.Decimal32()
		return boxed(Decimal32(v), err)
	case codeDecimal64:
		v, err := d.Decimal64()
		return boxed(Decimal64(v), err)
	case codeDecimal128:
		v, err := d.Decimal128()
		return boxed(Decimal128(v), err)
	case codeChar:
		v, err := d.Char()
		return boxed(Char(v), err)
	case codeTimestamp:
		v, err := d.Timestamp()
		return boxed(Timestamp(v), err)
	case codeUUID:
		v, err := d.UUID()
		return boxed(UUID(v), err)
	case codeBinary8, codeBinary32:
		v, err := d.Binary()
		return boxed(clone(v), err)
	case codeString8, codeString32:
		v, err := d.String()
		return boxed(string(v), err)
	case codeSymbol8, codeSymbol32:
		v, err := d.Symbol()
		return boxed(amqp.Symbol(v), err)
	case codeList0, codeList8, codeList32:
		return d.list()
	case codeMap8, codeMap32:
		return d.mapping()
	case codeArray8, codeArray32:
		return d.anyArray()
	}
	return nil, d.errorf("unknown %s", codeName(c))
}

// boxed keeps the value of a failed read from reaching the caller.
func boxed[T any](v T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (d *Decoder) described() (any, error) {
	if d.depth <= 0 {
		return nil, d.errorf("values nested too deep")
	}
	d.depth--
	defer func() { d.depth++ }()
	d.pos++ // 0x00; array bodies, which have no such byte, are never described here
	descriptor, err := d.any()
	if err != nil {
		return nil, err
	}
	v, err := d.any()
	if err != nil {
		return nil, err
	}
	return Described{Descriptor: descriptor, Value: v}, nil
}

// firstElements is the most elements for which room is made ahead: compound values claim a count cheaply, and a Go value
// takes 16 bytes where the input may spend one.
const firstElements = 64

func (d *Decoder) list() (any, error) {
	count, body, err := d.List()
	if err != nil {
		return nil, err
	}
	list := make([]any, 0, min(count, firstElements))
	for range count {
		v, err := body.any()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return boxed(list, body.End())
}

func (d *Decoder) mapping() (any, error) {
	count, body, err := d.Map()
	if err != nil {
		return nil, err
	}
	m := make(Map, 0, min(count/2, firstElements))
	for range count / 2 {
		k, err := body.any()
		if err != nil {
			return nil, err
		}
		v, err := body.any()
		if err != nil {
			return nil, err
		}
		m = append(m, MapEntry{k, v})
	}
	return boxed(m, body.End())
}

func (d *Decoder) anyArray() (any, error) {
	c, err := d.code()
	if err != nil {
		return nil, err
	}
	count, body, descriptor, err := d.array(c)
	if err != nil {
		return nil, err
	}
	a := Array{Constructor: body.elem, Count: count}
	if descriptor != nil {
		sub := Decoder{b: descriptor, pos: 1, base: body.base, depth: body.depth, elements: d.elements, bytes: d.bytes}
		if a.Descriptor, err = sub.any(); err != nil {
			return nil, err
		}
	} else if body.elem == codeSymbol8 || body.elem == codeSymbol32 {
		return boxed(body.symbols(count))
	}
	if body.elem>>4 == 4 {
		return a, nil
	}
	a.Elements = make([]any, 0, min(count, firstElements))
	for range count {
		v, err := body.any()
		if err != nil {
			return nil, err
		}
		a.Elements = append(a.Elements, v)
	}
	return boxed(a, body.End())
}

// AppendAny appends a value of one of the types that Any returns; an int is a long. Any other type is an error, for which b
// is returned as it was.
func AppendAny(b []byte, v any) ([]byte, error) {
	out, err := appendAny(b, v, defaultDepth)
	if err != nil {
		return b, err
	}
	return out, nil
}

func appendAny(b []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return AppendNull(b), nil
	case bool:
		return AppendBool(b, v), nil
	case uint8:
		return AppendUbyte(b, v), nil
	case uint16:
		return AppendUshort(b, v), nil
	case uint32:
		return AppendUint(b, v), nil
	case uint64:
		return AppendUlong(b, v), nil
	case int8:
		return AppendByte(b, v), nil
	case int16:
		return AppendShort(b, v), nil
	case int32:
		return AppendInt(b, v), nil
	case int64:
		return AppendLong(b, v), nil
	case int:
		return AppendLong(b, int64(v)), nil
	case float32:
		return AppendFloat(b, v), nil
	case float64:
		return AppendDouble(b, v), nil
	case Decimal32:
		return AppendDecimal32(b, v), nil
	case Decimal64:
		return AppendDecimal64(b, v), nil
	case Decimal128:
		return AppendDecimal128(b, v), nil
	case Char:
		return AppendChar(b, rune(v)), nil
	case Timestamp:
		return AppendTimestamp(b, int64(v)), nil
	case UUID:
		return AppendUUID(b, v), nil
	case []byte:
		return AppendBinary(b, v), nil
	case string:
		return AppendString(b, v), nil
	case amqp.Symbol:
		return AppendSymbol(b, string(v)), nil
	case []amqp.Symbol:
		return AppendSymbols(b, v), nil
	}
	if depth <= 0 {
		return nil, amqp.Errorf(amqp.CondInternalError, "values nested too deep")
	}
	var m Mark
	var err error
	switch v := v.(type) {
	case []any:
		b, m = BeginList(b)
		for _, e := range v {
			if b, err = appendAny(b, e, depth-1); err != nil {
				return nil, err
			}
		}
		return EndList(b, m, len(v)), nil
	case Map:
		b, m = BeginMap(b)
		for _, e := range v {
			if b, err = appendAny(b, e.Key, depth-1); err != nil {
				return nil, err
			}
			if b, err = appendAny(b, e.Value, depth-1); err != nil {
				return nil, err
			}
		}
		return EndMap(b, m, 2*len(v)), nil
	case Described:
		if b, err = appendAny(append(b, codeDescribed), v.Descriptor, depth-1); err != nil {
			return nil, err
		}
		return appendAny(b, v.Value, depth-1)
	case Array:
		return appendArray(b, v, depth-1)
	}
	return nil, amqp.Errorf(amqp.CondInternalError, "no AMQP type for %T", v)
}

func appendArray(b []byte, a Array, depth int) ([]byte, error) {
	var err error
	b = append(b, codeArray8, 0, 0)
	m := Mark(len(b) - narrowHeader)
	if a.Descriptor != nil {
		if b, err = appendAny(append(b, codeDescribed), a.Descriptor, depth); err != nil {
			return nil, err
		}
	}
	b = append(b, a.Constructor)
	if a.Constructor>>4 == 4 {
		return EndArray(b, m, a.Count), nil
	}
	for _, e := range a.Elements {
		if b, err = appendElement(b, a.Constructor, e, depth); err != nil {
			return nil, err
		}
	}
	return EndArray(b, m, len(a.Elements)), nil
}

// appendElement appends v in the encoding with constructor c, without the constructor.
func appendElement(b []byte, c byte, v any, depth int) ([]byte, error) {
	start := len(b)
	b, err := appendAny(b, v, depth)
	if err != nil {
		return nil, err
	}
	got := b[start]
	switch {
	case codeNames[got] != codeNames[c] || got == codeDescribed:
		return nil, amqp.Errorf(amqp.CondInternalError, "%T in array of %s", v, codeName(c))
	case got == c:
		copy(b[start:], b[start+1:])
		return b[:len(b)-1], nil
	}
	// The smallest encoding is another one than that of the array.
	value := append([]byte(nil), b[start+1:]...)
	b = b[:start]
	small := int64(0) // of the narrow integer encodings
	if len(value) > 0 {
		small = int64(value[0])
		if got == codeSmallInt || got == codeSmallLong {
			small = int64(int8(value[0]))
		}
	}
	switch c {
	case codeBool:
		if got == codeTrue {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case codeSmallUint, codeSmallUlong:
		if len(value) == 0 {
			return append(b, 0), nil
		}
	case codeUint, codeInt:
		return binary.BigEndian.AppendUint32(b, uint32(small)), nil
	case codeUlong, codeLong:
		return binary.BigEndian.AppendUint64(b, uint64(small)), nil
	case codeBinary32, codeString32, codeSymbol32:
		return append(binary.BigEndian.AppendUint32(b, uint32(value[0])), value[1:]...), nil
	case codeList8:
		if got == codeList0 {
			return append(b, 1, 0), nil
		}
	case codeList32, codeMap32, codeArray32:
		if got == codeList0 {
			return append(b, 0, 0, 0, 4, 0, 0, 0, 0), nil
		}
		b = binary.BigEndian.AppendUint32(b, uint32(value[0])+3)
		b = binary.BigEndian.AppendUint32(b, uint32(value[1]))
		return append(b, value[2:]...), nil
	}
	return nil, amqp.Errorf(amqp.CondInternalError, "element does not fit in array of code 0x%x (at most %d bytes)", c, math.MaxUint8)
}
