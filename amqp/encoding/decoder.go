package encoding

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"sluice/amqp"
)

// Decoder reads encoded values from a slice, which it borrows. It is a small value: copy it to look ahead. A read that
// fails leaves it where it was.
type Decoder struct {
	b    []byte
	pos  int
	base int // offset of b[0] in the outermost input, for error texts

	depth    int32 // levels that may still be opened
	elements int32 // Limits.Elements
	bytes    int32 // Limits.Bytes

	// elem is the constructor of every value to come when this is the body of an array, else 0. Array elements are encoded
	// without constructor; with it implied here, the typed reads serve both.
	elem byte
}

// NewDecoder returns a Decoder over b with DefaultLimits.
func NewDecoder(b []byte) Decoder {
	return Decoder{b: b, depth: defaultDepth, elements: defaultElements, bytes: defaultBytes}
}

// NewLimitedDecoder returns a Decoder over b with the given limits.
func NewLimitedDecoder(b []byte, l Limits) Decoder {
	d := NewDecoder(b)
	if l.Depth > 0 {
		d.depth = int32(min(l.Depth, math.MaxInt16))
	}
	if l.Elements > 0 {
		d.elements = int32(min(l.Elements, math.MaxInt32))
	}
	if l.Bytes > 0 {
		d.bytes = int32(min(l.Bytes, math.MaxInt32))
	}
	return d
}

// Len returns the number of bytes left.
func (d *Decoder) Len() int { return len(d.b) - d.pos }

// Rest returns the bytes left, borrowed.
func (d *Decoder) Rest() []byte { return d.b[d.pos:] }

// Offset returns the position in the outermost input.
func (d *Decoder) Offset() int { return d.base + d.pos }

// Peek returns the format code of the next value, or null's when there is none.
func (d *Decoder) Peek() byte {
	if c, ok := d.peek(); ok {
		return c
	}
	return codeNull
}

func (d *Decoder) peek() (byte, bool) {
	if d.elem != 0 {
		return d.elem, true
	}
	if d.pos >= len(d.b) {
		return 0, false
	}
	return d.b[d.pos], true
}

// code consumes the constructor of the next value.
func (d *Decoder) code() (byte, error) {
	if d.elem != 0 {
		return d.elem, nil
	}
	if d.pos >= len(d.b) {
		return 0, d.errorf("a value expected, found the end")
	}
	c := d.b[d.pos]
	d.pos++
	return c, nil
}

func (d *Decoder) errorf(format string, args ...any) error {
	e := amqp.Errorf(amqp.CondDecodeError, format, args...)
	e.Description = "at offset " + itoa(d.Offset()) + ": " + e.Description
	return e
}

func (d *Decoder) mismatch(want string, got byte) error {
	return d.errorf("%s expected, found %s", want, codeName(got))
}

func (d *Decoder) short(what string, need int) error {
	return d.errorf("%s of %d bytes goes beyond the end, %d left", what, need, d.Len())
}

// fixed consumes n bytes. The caller restores the position on failure.
func (d *Decoder) fixed(n int) ([]byte, bool) {
	if n > len(d.b)-d.pos {
		return nil, false
	}
	v := d.b[d.pos : d.pos+n : d.pos+n]
	d.pos += n
	return v, true
}

// value consumes the constructor of the next value, which must be want, and its n bytes.
func (d *Decoder) value(want byte, n int) ([]byte, error) {
	start := d.pos
	c, err := d.code()
	if err != nil {
		return nil, err
	}
	if c != want {
		d.pos = start
		return nil, d.mismatch(codeName(want), c)
	}
	v, ok := d.fixed(n)
	if !ok {
		d.pos = start
		return nil, d.short(codeName(want), n)
	}
	return v, nil
}

// IsNull consumes a null if that is next and reports whether it did.
func (d *Decoder) IsNull() bool {
	if d.elem != 0 {
		return d.elem == codeNull
	}
	if d.pos < len(d.b) && d.b[d.pos] == codeNull {
		d.pos++
		return true
	}
	return false
}

// Null consumes a null.
func (d *Decoder) Null() error {
	if d.IsNull() {
		return nil
	}
	c, ok := d.peek()
	if !ok {
		return d.errorf("a value expected, found the end")
	}
	return d.mismatch("null", c)
}

// Bool reads a boolean.
func (d *Decoder) Bool() (bool, error) {
	start := d.pos
	c, err := d.code()
	if err != nil {
		return false, err
	}
	switch c {
	case codeTrue:
		return true, nil
	case codeFalse:
		return false, nil
	case codeBool:
		if v, ok := d.fixed(1); ok && v[0] <= 1 {
			return v[0] == 1, nil
		}
		d.pos = start
		return false, d.errorf("boolean of value 0 or 1 expected")
	}
	d.pos = start
	return false, d.mismatch("boolean", c)
}

// Ubyte reads a ubyte.
func (d *Decoder) Ubyte() (uint8, error) {
	v, err := d.value(codeUbyte, 1)
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// Ushort reads a ushort.
func (d *Decoder) Ushort() (uint16, error) {
	v, err := d.value(codeUshort, 2)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint16(v), nil
}

// Uint reads a uint.
func (d *Decoder) Uint() (uint32, error) {
	start := d.pos
	c, err := d.code()
	if err != nil {
		return 0, err
	}
	switch c {
	case codeUint0:
		return 0, nil
	case codeSmallUint:
		if v, ok := d.fixed(1); ok {
			return uint32(v[0]), nil
		}
	case codeUint:
		if v, ok := d.fixed(4); ok {
			return binary.BigEndian.Uint32(v), nil
		}
	default:
		d.pos = start
		return 0, d.mismatch("uint", c)
	}
	d.pos = start
	return 0, d.errorf("uint goes beyond the end")
}

// Ulong reads a ulong.
func (d *Decoder) Ulong() (uint64, error) {
	start := d.pos
	c, err := d.code()
	if err != nil {
		return 0, err
	}
	switch c {
	case codeUlong0:
		return 0, nil
	case codeSmallUlong:
		if v, ok := d.fixed(1); ok {
			return uint64(v[0]), nil
		}
	case codeUlong:
		if v, ok := d.fixed(8); ok {
			return binary.BigEndian.Uint64(v), nil
		}
	default:
		d.pos = start
		return 0, d.mismatch("ulong", c)
	}
	d.pos = start
	return 0, d.errorf("ulong goes beyond the end")
}

// Byte reads a byte, which is signed.
func (d *Decoder) Byte() (int8, error) {
	v, err := d.value(codeByte, 1)
	if err != nil {
		return 0, err
	}
	return int8(v[0]), nil
}

// Short reads a short.
func (d *Decoder) Short() (int16, error) {
	v, err := d.value(codeShort, 2)
	if err != nil {
		return 0, err
	}
	return int16(binary.BigEndian.Uint16(v)), nil
}

// Int reads an int.
func (d *Decoder) Int() (int32, error) {
	if c, _ := d.peek(); c == codeSmallInt {
		v, err := d.value(codeSmallInt, 1)
		if err != nil {
			return 0, err
		}
		return int32(int8(v[0])), nil
	}
	v, err := d.value(codeInt, 4)
	if err != nil {
		return 0, err
	}
	return int32(binary.BigEndian.Uint32(v)), nil
}

// Long reads a long.
func (d *Decoder) Long() (int64, error) {
	if c, _ := d.peek(); c == codeSmallLong {
		v, err := d.value(codeSmallLong, 1)
		if err != nil {
			return 0, err
		}
		return int64(int8(v[0])), nil
	}
	v, err := d.value(codeLong, 8)
	if err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(v)), nil
}

// Float reads a float.
func (d *Decoder) Float() (float32, error) {
	v, err := d.value(codeFloat, 4)
	if err != nil {
		return 0, err
	}
	return math.Float32frombits(binary.BigEndian.Uint32(v)), nil
}

// Double reads a double.
func (d *Decoder) Double() (float64, error) {
	v, err := d.value(codeDouble, 8)
	if err != nil {
		return 0, err
	}
	return math.Float64frombits(binary.BigEndian.Uint64(v)), nil
}

// Decimal32 reads the bytes of a decimal32.
func (d *Decoder) Decimal32() (v [4]byte, err error) {
	b, err := d.value(codeDecimal32, 4)
	copy(v[:], b)
	return v, err
}

// Decimal64 reads the bytes of a decimal64.
func (d *Decoder) Decimal64() (v [8]byte, err error) {
	b, err := d.value(codeDecimal64, 8)
	copy(v[:], b)
	return v, err
}

// Decimal128 reads the bytes of a decimal128.
func (d *Decoder) Decimal128() (v [16]byte, err error) {
	b, err := d.value(codeDecimal128, 16)
	copy(v[:], b)
	return v, err
}

// Char reads a char, which must be a Unicode scalar value.
func (d *Decoder) Char() (rune, error) {
	start := d.pos
	v, err := d.value(codeChar, 4)
	if err != nil {
		return 0, err
	}
	u := binary.BigEndian.Uint32(v)
	if u > utf8.MaxRune || !utf8.ValidRune(rune(u)) {
		d.pos = start
		return 0, d.errorf("char 0x%x is no Unicode character", u)
	}
	return rune(u), nil
}

// Timestamp reads a timestamp: milliseconds since the Unix epoch.
func (d *Decoder) Timestamp() (int64, error) {
	v, err := d.value(codeTimestamp, 8)
	if err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(v)), nil
}

// UUID reads a uuid.
func (d *Decoder) UUID() (v [16]byte, err error) {
	b, err := d.value(codeUUID, 16)
	copy(v[:], b)
	return v, err
}

// Binary reads a binary. The result is borrowed from the input and never nil without an error.
func (d *Decoder) Binary() ([]byte, error) { return d.variable(codeBinary8) }

// String reads a string. The result is borrowed from the input and is valid UTF-8.
func (d *Decoder) String() ([]byte, error) {
	start := d.pos
	v, err := d.variable(codeString8)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(v) {
		d.pos = start
		return nil, d.errorf("string is not UTF-8")
	}
	return v, nil
}

// Symbol reads a symbol. The result is borrowed from the input. That it is ASCII is not checked: nothing depends on it.
func (d *Decoder) Symbol() ([]byte, error) { return d.variable(codeSymbol8) }

func (d *Decoder) variable(code8 byte) ([]byte, error) {
	start := d.pos
	c, err := d.code()
	if err != nil {
		return nil, err
	}
	if c&^0x10 != code8&^0x10 {
		d.pos = start
		return nil, d.mismatch(codeName(code8), c)
	}
	n, err := d.size(c)
	if err != nil {
		d.pos = start
		return nil, err
	}
	v, _ := d.fixed(n)
	return v, nil
}

// size reads the size of a variable-width or compound value with constructor c and checks it against the bytes left, so
// that fixed(size) cannot fail.
func (d *Decoder) size(c byte) (int, error) {
	var n uint32
	if c&0x10 == 0 {
		v, ok := d.fixed(1)
		if !ok {
			return 0, d.short("size of "+codeName(c), 1)
		}
		n = uint32(v[0])
	} else {
		v, ok := d.fixed(4)
		if !ok {
			return 0, d.short("size of "+codeName(c), 4)
		}
		n = binary.BigEndian.Uint32(v)
	}
	if int64(n) > int64(d.Len()) {
		return 0, d.short(codeName(c), int(n))
	}
	if int64(n) > int64(d.bytes) {
		return 0, d.errorf("%s of %d bytes, at most %d are accepted", codeName(c), n, d.bytes)
	}
	return int(n), nil
}

// Advance skips n bytes that the caller has looked at in Rest.
func (d *Decoder) Advance(n int) error {
	if n < 0 || n > d.Len() {
		return d.short("skipped range", n)
	}
	d.pos += n
	return nil
}
