package encoding

import (
	"encoding/binary"
	"strconv"

	"sluice/amqp"
)

func itoa(n int) string { return strconv.Itoa(n) }

// List reads the header of a list and consumes the list. It returns the number of elements and a Decoder over them.
// Nothing says that the elements are valid: the reads on body find out.
func (d *Decoder) List() (count int, body Decoder, err error) {
	start := d.pos
	c, err := d.code()
	if err != nil {
		return 0, Decoder{}, err
	}
	switch c {
	case codeList0, codeList8, codeList32:
		count, body, err = d.compound(c)
	default:
		d.pos = start
		err = d.mismatch("list", c)
	}
	if err != nil {
		d.pos = start
	}
	return count, body, err
}

// Map reads the header of a map and consumes the map. It returns the number of keys and values together, which is even,
// and a Decoder over them.
func (d *Decoder) Map() (count int, body Decoder, err error) {
	start := d.pos
	c, err := d.code()
	if err != nil {
		return 0, Decoder{}, err
	}
	switch c {
	case codeMap8, codeMap32:
		count, body, err = d.compound(c)
	default:
		d.pos = start
		err = d.mismatch("map", c)
	}
	if err != nil {
		d.pos = start
	}
	return count, body, err
}

// compound consumes what follows the constructor c of a list or map.
func (d *Decoder) compound(c byte) (int, Decoder, error) {
	if d.depth <= 0 {
		return 0, Decoder{}, d.errorf("values nested too deep")
	}
	body := Decoder{base: d.Offset(), depth: d.depth - 1, elements: d.elements, bytes: d.bytes}
	if c == codeList0 {
		return 0, body, nil
	}
	count, err := d.counted(c, &body)
	if err != nil {
		return 0, Decoder{}, err
	}
	// An element takes at least the byte of its constructor.
	if int64(count) > int64(body.Len()) {
		return 0, Decoder{}, d.errorf("%s of %d elements in %d bytes", codeName(c), count, body.Len())
	}
	if int64(count) > int64(d.elements) {
		return 0, Decoder{}, d.errorf("%s of %d elements, at most %d are accepted", codeName(c), count, d.elements)
	}
	// §1.6.23: "a map encoding with an odd number of elements … is invalid".
	if (c == codeMap8 || c == codeMap32) && count%2 != 0 {
		return 0, Decoder{}, d.errorf("map with an odd number of elements: %d", count)
	}
	return int(count), body, nil
}

// counted consumes size, count and content of the value with constructor c and sets body to the content. It does not
// judge the count.
func (d *Decoder) counted(c byte, body *Decoder) (uint32, error) {
	n, err := d.size(c)
	if err != nil {
		return 0, err
	}
	width := 1
	if c&0x10 != 0 {
		width = 4
	}
	if n < width {
		return 0, d.errorf("%s of size %d has no room for its count", codeName(c), n)
	}
	body.base = d.Offset() + width
	v, _ := d.fixed(n)
	body.b = v[width:]
	if width == 1 {
		return uint32(v[0]), nil
	}
	return binary.BigEndian.Uint32(v), nil
}

// Array reads the header of an array and consumes the array. It returns the number of elements and a Decoder over them
// with their constructor implied. If the elements take no bytes, their number is at most 65,536. The descriptor of an array
// of described values is dropped; Any keeps it.
func (d *Decoder) Array() (count int, body Decoder, err error) {
	start := d.pos
	c, err := d.code()
	if err != nil {
		return 0, Decoder{}, err
	}
	switch c {
	case codeArray8, codeArray32:
		count, body, _, err = d.array(c)
	default:
		d.pos = start
		err = d.mismatch("array", c)
	}
	if err != nil {
		d.pos = start
	}
	return count, body, err
}

// array consumes what follows the constructor c of an array. descriptor is the encoded descriptor of described elements
// (with the leading 0x00), else nil.
func (d *Decoder) array(c byte) (n int, body Decoder, descriptor []byte, err error) {
	if d.depth <= 0 {
		return 0, Decoder{}, nil, d.errorf("values nested too deep")
	}
	body = Decoder{depth: d.depth - 1, elements: d.elements, bytes: d.bytes}
	count, err := d.counted(c, &body)
	if err != nil {
		return 0, Decoder{}, nil, err
	}
	if count == 0 && body.Len() == 0 {
		// The grammar demands a constructor, but some encoders leave it out when nothing follows.
		body.elem = codeNull
		return 0, body, nil, nil
	}
	if body.Len() > 0 && body.b[0] == codeDescribed {
		body.pos = 1
		if err := body.Skip(); err != nil {
			return 0, Decoder{}, nil, err
		}
		descriptor = body.b[:body.pos]
	}
	elem, err := body.code()
	if err != nil {
		return 0, Decoder{}, nil, err
	}
	if !knownCode(elem) || elem == codeDescribed {
		return 0, Decoder{}, nil, d.errorf("array of elements with %s", codeName(elem))
	}
	left := int64(body.Len())
	switch w := fixedWidth(elem); {
	case w == 0 && elem>>4 == 4:
		if count > maxZeroWidth {
			return 0, Decoder{}, nil, d.errorf("array of %d elements without content, at most %d are accepted", count, maxZeroWidth)
		}
		if left != 0 {
			return 0, Decoder{}, nil, d.errorf("array of elements without content has %d bytes of content", left)
		}
	case w > 0:
		if int64(count)*int64(w) != left {
			return 0, Decoder{}, nil, d.errorf("array of %d elements of %d bytes has %d bytes of content", count, w, left)
		}
	default:
		if int64(count) > left {
			return 0, Decoder{}, nil, d.errorf("array of %d elements in %d bytes", count, left)
		}
	}
	if int64(count) > int64(d.elements) {
		return 0, Decoder{}, nil, d.errorf("array of %d elements, at most %d are accepted", count, d.elements)
	}
	body.elem = elem
	return int(count), body, descriptor, nil
}

// fixedWidth returns the number of bytes that follow constructor c, or 0 when there are none or their number varies.
func fixedWidth(c byte) int {
	switch c >> 4 {
	case 5:
		return 1
	case 6:
		return 2
	case 7:
		return 4
	case 8:
		return 8
	case 9:
		return 16
	}
	return 0
}

// Skip consumes one value of any type, and checks that it is well-formed: known constructors, sizes and counts that agree.
func (d *Decoder) Skip() error {
	start := d.pos
	c, err := d.code()
	if err != nil {
		return err
	}
	if err := d.skip(c); err != nil {
		d.pos = start
		return err
	}
	return nil
}

// skip consumes what follows constructor c. It recurses at most Limits.Depth times.
func (d *Decoder) skip(c byte) error {
	if !knownCode(c) {
		return d.errorf("unknown %s", codeName(c))
	}
	switch c >> 4 {
	case 0x0:
		if d.depth <= 0 {
			return d.errorf("values nested too deep")
		}
		d.depth--
		defer func() { d.depth++ }()
		if err := d.Skip(); err != nil {
			return err
		}
		return d.Skip()
	case 0x4:
		if c == codeList0 || fixedWidth(c) == 0 {
			return nil
		}
	case 0x5, 0x6, 0x7, 0x8, 0x9:
		n := fixedWidth(c)
		if v, ok := d.fixed(n); !ok {
			return d.short(codeName(c), n)
		} else if c == codeBool && v[0] > 1 {
			return d.errorf("boolean of value 0 or 1 expected")
		}
	case 0xa, 0xb:
		n, err := d.size(c)
		if err != nil {
			return err
		}
		d.pos += n
	case 0xc, 0xd:
		count, body, err := d.compound(c)
		if err != nil {
			return err
		}
		return body.skipAll(count)
	case 0xe, 0xf:
		count, body, _, err := d.array(c)
		if err != nil {
			return err
		}
		// array has checked the content of fixed-width elements, and there may be many.
		if body.elem>>4 < 0xa && body.elem != codeBool {
			return nil
		}
		return body.skipAll(count)
	}
	return nil
}

// skipAll checks that d holds exactly count values.
func (d *Decoder) skipAll(count int) error {
	for range count {
		if err := d.Skip(); err != nil {
			return err
		}
	}
	return d.End()
}

// End reports an error unless everything was read.
func (d *Decoder) End() error {
	if d.Len() != 0 {
		return d.errorf("%d bytes after the last value", d.Len())
	}
	return nil
}

// Raw consumes one value and returns its encoding, borrowed and checked as by Skip. It must not be called on the body of
// an array, where values have no encoding of their own.
func (d *Decoder) Raw() ([]byte, error) {
	start := d.pos
	if d.elem != 0 {
		return nil, d.errorf("array element has no constructor")
	}
	if err := d.Skip(); err != nil {
		return nil, err
	}
	return d.b[start:d.pos:d.pos], nil
}

// SymbolArray reads a field of type symbol with multiple="true": an array of symbols, or one symbol alone (§1.4). The
// symbols are copied.
func (d *Decoder) SymbolArray() ([]amqp.Symbol, error) {
	switch c, _ := d.peek(); c {
	case codeSymbol8, codeSymbol32:
		s, err := d.Symbol()
		if err != nil {
			return nil, err
		}
		return []amqp.Symbol{amqp.Symbol(s)}, nil
	}
	start := d.pos
	count, body, err := d.Array()
	if err != nil {
		return nil, err
	}
	if count > 0 && body.elem != codeSymbol8 && body.elem != codeSymbol32 {
		d.pos = start
		return nil, d.errorf("array of symbols expected, found array of %s", codeName(body.elem))
	}
	symbols, err := body.symbols(count)
	if err != nil {
		d.pos = start
	}
	return symbols, err
}

// symbols reads count symbols and no more.
func (d *Decoder) symbols(count int) ([]amqp.Symbol, error) {
	symbols := make([]amqp.Symbol, 0, min(count, firstElements))
	for range count {
		s, err := d.Symbol()
		if err != nil {
			return nil, err
		}
		symbols = append(symbols, amqp.Symbol(s))
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return symbols, nil
}
