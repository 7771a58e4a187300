package encoding

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/amqp"
)

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			wire := hx(v.wire)
			got, err := AppendAny([]byte("head"), v.value)
			if err != nil || !bytes.Equal(got, append([]byte("head"), wire...)) {
				t.Errorf("AppendAny = % x, %v\nwant % x", got, err, wire)
			}
			checkDecode(t, wire, v.value)
		})
	}
	for _, v := range alternatives {
		t.Run(v.name, func(t *testing.T) { checkDecode(t, hx(v.wire), v.value) })
	}
}

// checkDecode checks every way to read one value of any type, and that each shorter input is refused.
func checkDecode(t *testing.T, wire []byte, want any) {
	t.Helper()
	d := NewDecoder(append(bytes.Clone(wire), 0x41))
	got, err := d.Any()
	if err != nil || d.Len() != 1 {
		t.Fatalf("Any: %v, %d bytes left, want 1", err, d.Len())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Any (-want +got):\n%s", diff)
	}
	d = NewDecoder(append(bytes.Clone(wire), 0x41))
	if err := d.Skip(); err != nil || d.Len() != 1 || d.Offset() != len(wire) {
		t.Errorf("Skip: %v, %d bytes left, want 1", err, d.Len())
	}
	d = NewDecoder(append(bytes.Clone(wire), 0x41))
	if raw, err := d.Raw(); err != nil || !bytes.Equal(raw, wire) {
		t.Errorf("Raw = % x, %v", raw, err)
	}
	for n := range wire {
		for what, read := range readers {
			d := NewDecoder(wire[:n:n])
			err := read(&d)
			checkDecodeError(t, err)
			if d.Offset() != 0 {
				t.Errorf("%s of the first %d bytes moved to %d", what, n, d.Offset())
			}
		}
	}
}

var readers = map[string]func(*Decoder) error{
	"Any":  func(d *Decoder) error { _, err := d.Any(); return err },
	"Skip": func(d *Decoder) error { return d.Skip() },
	"Raw":  func(d *Decoder) error { _, err := d.Raw(); return err },
}

func checkDecodeError(t *testing.T, err error) {
	t.Helper()
	var e *amqp.Error
	if !errors.As(err, &e) || e.Condition != amqp.CondDecodeError || !strings.Contains(e.Description, "offset") {
		t.Errorf("got error %v, want a decode-error with the offset", err)
	}
}

func TestMalformed(t *testing.T) {
	for _, v := range malformed {
		for what, read := range readers {
			t.Run(v.name+"/"+what, func(t *testing.T) {
				d := NewDecoder(hx(v.wire))
				err := read(&d)
				checkDecodeError(t, err)
				if err != nil && !strings.Contains(err.Error(), v.want) &&
					!(what == "Any" && strings.HasPrefix(v.want, "unknown")) {
					t.Errorf("got error %q, want it to contain %q", err, v.want)
				}
				if d.Offset() != 0 {
					t.Errorf("moved to %d", d.Offset())
				}
			})
		}
	}
}

func TestInvalidText(t *testing.T) {
	for _, wire := range []string{"a1 01 ff", "73 00 00 d8 00", "73 00 11 00 00", "73 ff ff ff ff"} {
		d := NewDecoder(hx(wire))
		v, err := d.Any()
		checkDecodeError(t, err)
		if v != nil {
			t.Errorf("%s: got %v with the error", wire, v)
		}
	}
}

// Typed reads: each value by its own method, and the refusal of every other type.
func TestTypedReads(t *testing.T) {
	type read func(*Decoder) (any, error)
	reads := map[string]read{
		"boolean":    func(d *Decoder) (any, error) { return boxed(d.Bool()) },
		"ubyte":      func(d *Decoder) (any, error) { return boxed(d.Ubyte()) },
		"ushort":     func(d *Decoder) (any, error) { return boxed(d.Ushort()) },
		"uint":       func(d *Decoder) (any, error) { return boxed(d.Uint()) },
		"ulong":      func(d *Decoder) (any, error) { return boxed(d.Ulong()) },
		"byte":       func(d *Decoder) (any, error) { return boxed(d.Byte()) },
		"short":      func(d *Decoder) (any, error) { return boxed(d.Short()) },
		"int":        func(d *Decoder) (any, error) { return boxed(d.Int()) },
		"long":       func(d *Decoder) (any, error) { return boxed(d.Long()) },
		"float":      func(d *Decoder) (any, error) { return boxed(d.Float()) },
		"double":     func(d *Decoder) (any, error) { return boxed(d.Double()) },
		"decimal32":  func(d *Decoder) (any, error) { v, err := d.Decimal32(); return Decimal32(v), err },
		"decimal64":  func(d *Decoder) (any, error) { v, err := d.Decimal64(); return Decimal64(v), err },
		"decimal128": func(d *Decoder) (any, error) { v, err := d.Decimal128(); return Decimal128(v), err },
		"char":       func(d *Decoder) (any, error) { v, err := d.Char(); return Char(v), err },
		"timestamp":  func(d *Decoder) (any, error) { v, err := d.Timestamp(); return Timestamp(v), err },
		"uuid":       func(d *Decoder) (any, error) { v, err := d.UUID(); return UUID(v), err },
		"binary":     func(d *Decoder) (any, error) { return boxed(d.Binary()) },
		"string":     func(d *Decoder) (any, error) { v, err := d.String(); return string(v), err },
		"symbol":     func(d *Decoder) (any, error) { v, err := d.Symbol(); return amqp.Symbol(v), err },
		"null":       func(d *Decoder) (any, error) { return nil, d.Null() },
		"list": func(d *Decoder) (any, error) {
			_, _, err := d.List()
			return nil, err
		},
		"map": func(d *Decoder) (any, error) {
			_, _, err := d.Map()
			return nil, err
		},
		"array": func(d *Decoder) (any, error) {
			_, _, err := d.Array()
			return nil, err
		},
		"described value": func(d *Decoder) (any, error) {
			_, err := d.Descriptor()
			if _, ok := err.(*UnknownDescriptor); ok {
				err = nil
			}
			return nil, err
		},
	}
	all := append(vectors[:len(vectors):len(vectors)], alternatives...)
	for _, v := range all {
		wire := hx(v.wire)
		for kind, read := range reads {
			d := NewDecoder(wire)
			got, err := read(&d)
			if kind != codeName(wire[0]) {
				checkDecodeError(t, err)
				if d.Offset() != 0 {
					t.Errorf("%s read as %s moved to %d", v.name, kind, d.Offset())
				}
				continue
			}
			if kind == "described value" && v.name == "described descriptor" {
				continue // the descriptor is not one that Descriptor accepts
			}
			if err != nil {
				t.Errorf("%s read as %s: %v", v.name, kind, err)
				continue
			}
			if got != nil {
				if diff := cmp.Diff(v.value, got); diff != "" {
					t.Errorf("%s read as %s (-want +got):\n%s", v.name, kind, diff)
				}
			}
			for n := range wire {
				d := NewDecoder(wire[:n])
				if _, err := read(&d); err == nil && codeName(wire[0]) != "described value" {
					t.Errorf("%s read as %s from %d of %d bytes: no error", v.name, kind, n, len(wire))
				} else if err != nil && d.Offset() != 0 {
					t.Errorf("%s read as %s from %d bytes moved to %d", v.name, kind, n, d.Offset())
				}
			}
		}
	}
}

func TestNull(t *testing.T) {
	d := NewDecoder(hx("40 41"))
	if !d.IsNull() || d.IsNull() || d.Len() != 1 {
		t.Errorf("IsNull consumed the wrong bytes: %d left", d.Len())
	}
	d = NewDecoder(nil)
	if d.IsNull() || d.Peek() != 0x40 {
		t.Errorf("the end is taken for a null")
	}
}

func TestDescriptor(t *testing.T) {
	for name, wire := range map[string]string{
		"smallulong": "00 53 24 45",
		"ulong":      "00 80 00 00 00 00 00 00 00 24 45",
		"sym8":       "00 a3 12 616d71703a61636365707465643a6c697374 45",
		"sym32":      "00 b3 00 00 00 12 616d71703a61636365707465643a6c697374 45",
	} {
		d := NewDecoder(hx(wire))
		code, err := d.Descriptor()
		if err != nil || code != DescAccepted || d.Len() != 1 {
			t.Errorf("%s: Descriptor = 0x%x, %v, %d bytes left", name, code, err, d.Len())
		}
	}
	d := NewDecoder(hx("00 44 45"))
	if code, err := d.Descriptor(); err != nil || code != 0 {
		t.Errorf("ulong0: Descriptor = 0x%x, %v", code, err)
	}
}

func TestUnknownDescriptor(t *testing.T) {
	d := NewDecoder(hx("00 a3 03 78 3a 79 a1 01 76"))
	_, err := d.Descriptor()
	var unknown *UnknownDescriptor
	if !errors.Is(err, ErrUnknownDescriptor) || !errors.As(err, &unknown) || unknown.Name != "x:y" {
		t.Fatalf("got error %v", err)
	}
	checkDecodeError(t, err)
	if s, err := d.String(); err != nil || string(s) != "v" {
		t.Errorf("the value behind: %q, %v", s, err)
	}
}

// The two tables of descriptors must agree, and nothing may have two names.
func TestSymbolicDescriptors(t *testing.T) {
	seen := map[uint64]string{}
	for name, code := range symbolicDescriptors {
		if other, ok := seen[code]; ok {
			t.Errorf("0x%x is both %q and %q", code, name, other)
		}
		seen[code] = name
	}
	if len(seen) != 40 {
		t.Errorf("%d names", len(seen))
	}
}

func TestSymbolArray(t *testing.T) {
	tests := []struct {
		wire string
		want []amqp.Symbol
	}{
		{"a3 01 61", []amqp.Symbol{"a"}},
		{"b3 00 00 00 01 61", []amqp.Symbol{"a"}},
		{"e0 07 02 a3 01 61 02 62 63", []amqp.Symbol{"a", "bc"}},
		{"e0 02 00 a3", []amqp.Symbol{}},
		{"e0 01 00", []amqp.Symbol{}},
		{"e0 02 00 40", []amqp.Symbol{}},
	}
	for _, test := range tests {
		d := NewDecoder(hx(test.wire))
		got, err := d.SymbolArray()
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", test.wire, err, diff)
		}
	}
	for _, wire := range []string{"", "40", "a1 01 61", "e0 03 01 50 00", "e0 02 03 40", "e0 04 01 a1 01 61", "e0 04 01 a3 02 61",
		"e0 05 01 a3 01 61 00", "c0 04 01 a3 01 61"} {
		d := NewDecoder(hx(wire))
		_, err := d.SymbolArray()
		checkDecodeError(t, err)
		if d.Offset() != 0 {
			t.Errorf("%s: moved to %d", wire, d.Offset())
		}
	}
}

func TestArrayBody(t *testing.T) {
	d := NewDecoder(hx("e0 04 02 52 00 09"))
	n, body, err := d.Array()
	if err != nil || n != 2 || body.Peek() != 0x52 {
		t.Fatalf("Array = %d, %v, elements of 0x%x", n, err, body.Peek())
	}
	a, errA := body.Uint()
	b, errB := body.Uint()
	if a != 0 || b != 9 || errA != nil || errB != nil || body.End() != nil {
		t.Errorf("elements %d, %d, %v, %v, %v", a, b, errA, errB, body.End())
	}
	if _, err := body.Uint(); err == nil {
		t.Errorf("a third element was read")
	}
	if _, err := body.Raw(); err == nil {
		t.Errorf("an element was read with Raw")
	}
}

func TestError(t *testing.T) {
	tests := []struct {
		e    *amqp.Error
		wire string
	}{
		{nil, "40"},
		{&amqp.Error{Condition: "a:b"}, "00 53 1d c0 06 01 a3 03 61 3a 62"},
		{&amqp.Error{Condition: "a:b", Description: "d"}, "00 53 1d c0 09 02 a3 03 61 3a 62 a1 01 64"},
		{&amqp.Error{Condition: "a:b", Info: hx("c1 01 00")}, "00 53 1d c0 0a 03 a3 03 61 3a 62 40 c1 01 00"},
	}
	for _, test := range tests {
		wire := hx(test.wire)
		if got := AppendError(nil, test.e); !bytes.Equal(got, wire) {
			t.Errorf("AppendError(%v) = % x, want % x", test.e, got, wire)
		}
		d := NewDecoder(wire)
		got, err := d.AMQPError()
		if diff := cmp.Diff(test.e, got); err != nil || diff != "" || d.Len() != 0 {
			t.Errorf("AMQPError: %v\n%s", err, diff)
		}
		for n := range wire {
			d := NewDecoder(wire[:n])
			_, err := d.AMQPError()
			checkDecodeError(t, err)
		}
	}
	for _, wire := range []string{
		"00 53 1d 45",                            // no condition
		"00 53 1d c0 02 01 40",                   // null condition
		"00 53 1d c0 06 01 a1 03 61 3a 62",       // condition is a string
		"00 53 1e c0 06 01 a3 03 61 3a 62",       // another descriptor
		"00 53 1d c0 08 02 a3 03 61 3a 62 52 01", // description is a uint
		"00 53 1d c0 08 03 a3 03 61 3a 62 40 45", // info is a list
		"00 53 1d c0 09 04 a3 03 61 3a 62 40 40 40",
		"00 53 1d c0 07 01 a3 03 61 3a 62 40",
	} {
		d := NewDecoder(hx(wire))
		_, err := d.AMQPError()
		checkDecodeError(t, err)
		if d.Offset() != 0 {
			t.Errorf("%s: moved to %d", wire, d.Offset())
		}
	}
}

func TestEndMovesBody(t *testing.T) {
	for _, n := range []int{0, 1, 254, 255, 256, 300, 70000} {
		b, m := BeginList([]byte("head"))
		for i := range n {
			b = AppendBool(b, i%2 == 0)
		}
		b = EndList(b, m, n)
		d := NewDecoder(b[4:])
		count, body, err := d.List()
		if err != nil || count != n || d.Len() != 0 {
			t.Fatalf("%d elements: %d, %v", n, count, err)
		}
		for i := range n {
			if v, err := body.Bool(); err != nil || v != (i%2 == 0) {
				t.Fatalf("%d elements: element %d = %v, %v", n, i, v, err)
			}
		}
		if want := map[bool]byte{true: codeList8, false: codeList32}[n <= 254]; n > 0 && b[4] != want {
			t.Errorf("%d elements: code 0x%x", n, b[4])
		}
	}
}

func TestLimits(t *testing.T) {
	nested := append(bytes.Repeat(hx("c0 7f 01"), 0), 0x40)
	for range 10 {
		b, m := BeginList(nil)
		nested = EndList(append(b, nested...), m, 1)
	}
	tests := []struct {
		limits Limits
		wire   []byte
		ok     bool
	}{
		{Limits{Depth: 10}, nested, true},
		{Limits{Depth: 9}, nested, false},
		{Limits{Elements: 3}, hx("c0 04 03 40 40 40"), true},
		{Limits{Elements: 2}, hx("c0 04 03 40 40 40"), false},
		{Limits{Elements: 2}, hx("e0 02 03 40"), false},
		{Limits{Bytes: 3}, hx("a0 03 01 02 03"), true},
		{Limits{Bytes: 2}, hx("a0 03 01 02 03"), false},
		{Limits{Bytes: 2}, hx("c0 04 03 40 40 40"), false},
		{Limits{}, nested, true},
		{Limits{Depth: math.MaxInt, Elements: math.MaxInt, Bytes: math.MaxInt}, nested, true},
	}
	for _, test := range tests {
		for what, read := range readers {
			d := NewLimitedDecoder(test.wire, test.limits)
			if err := read(&d); (err == nil) != test.ok {
				t.Errorf("%s of % x with %+v: %v, want ok %v", what, test.wire, test.limits, err, test.ok)
			}
		}
	}
}

func TestAppendAnyRefuses(t *testing.T) {
	var deep any
	for range 100 {
		deep = []any{deep}
	}
	for _, v := range []any{struct{}{}, deep, uint(1), []string{"a"}, Map{{Key: struct{}{}}}, Map{{Value: struct{}{}}},
		[]any{struct{}{}}, Described{Descriptor: struct{}{}},
		Array{Constructor: 0x50, Elements: []any{"no ubyte"}}, Array{Constructor: 0x52, Elements: []any{uint32(256)}},
		Array{Constructor: 0xa1, Elements: []any{strings.Repeat("x", 256)}}} {
		got, err := AppendAny([]byte("head"), v)
		if err == nil || string(got) != "head" {
			t.Errorf("AppendAny(%T) = %q, %v", v, got, err)
		}
	}
}

func TestMapGet(t *testing.T) {
	m := Map{{amqp.Symbol("a"), 1}, {"b", 2}, {uint64(3), 3}, {"a", 4}}
	if v, ok := m.Get("a"); v != 1 || !ok {
		t.Errorf("a = %v, %v", v, ok)
	}
	if v, ok := m.Get("b"); v != 2 || !ok {
		t.Errorf("b = %v, %v", v, ok)
	}
	if v, ok := m.Get("c"); v != nil || ok {
		t.Errorf("c = %v, %v", v, ok)
	}
}

// A frame of a few bytes must cost little, whatever it claims (§1.6.24: the elements of an array may take no bytes).
func TestBC83_Bombs(t *testing.T) {
	const maxBytes = 4 << 10 // per read: an error with its text, or a handful of small values
	bombs := map[string]string{
		"array32 of 2^31 null":    "f0 00 00 00 05 80 00 00 00 40",
		"array32 of 2^31 true":    "f0 00 00 00 05 80 00 00 00 41",
		"array32 of 2^31 uint0":   "f0 00 00 00 05 80 00 00 00 43",
		"array32 of 2^31 list0":   "f0 00 00 00 05 80 00 00 00 45",
		"array32 of 65536 null":   "f0 00 00 00 05 00 01 00 00 40",
		"array32 of 2^31 ubyte":   "f0 00 00 00 06 80 00 00 00 50 00",
		"array32 of 2^31 symbols": "f0 00 00 00 06 80 00 00 00 a3 00",
		"list32 of 2^32-1":        "d0 00 00 00 05 ff ff ff ff 40",
		"map32 of 2^32-2":         "d1 00 00 00 05 ff ff ff fe 40",
		"map with odd count":      "c1 04 03 40 40 40",
		"list larger than frame":  "d0 7f ff ff ff 00 00 00 01 40",
		"string beyond the end":   "b1 7f ff ff ff 61",
		"binary beyond the end":   "b0 ff ff ff ff 61",
		"array of described null": "f0 00 00 00 08 80 00 00 00 00 53 05 40",
		"list of bombs":           "c0 0b 01 f0 00 00 00 05 80 00 00 00 40",
	}
	for name, wire := range bombs {
		b := hx(wire)
		for what, read := range readers {
			if got := allocated(func() {
				d := NewDecoder(b)
				_ = read(&d)
			}); got > maxBytes {
				t.Errorf("%s of %s allocated %d bytes, want at most %d", what, name, got, maxBytes)
			}
		}
	}
}

// Many small arrays of elements without content in one value cost what their bytes cost.
func TestBC83_ManyBombs(t *testing.T) {
	b, m := BeginList(nil)
	const n = 1000
	for range n {
		b = append(b, hx("f0 00 00 00 05 00 01 00 00 40")...)
	}
	b = EndList(b, m, n)
	start := time.Now()
	for what, read := range readers {
		if got := allocated(func() {
			d := NewDecoder(b)
			if err := read(&d); err != nil {
				t.Error(err)
			}
		}); got > 40*uint64(len(b)) {
			t.Errorf("%s allocated %d bytes for %d", what, got, len(b))
		}
	}
	// Far more than it takes, far less than 65,536,000 elements would.
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %v", took)
	}
}

// allocated returns the heap bytes that f allocates: the least of a few runs, since other goroutines allocate too.
func allocated(f func()) uint64 {
	least := uint64(math.MaxUint64)
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

// Legal arrays of elements without content are accepted.
func TestBC83_SmallZeroWidthArrays(t *testing.T) {
	for _, wire := range []string{"e0 02 03 40", "e0 02 03 41", "e0 02 03 43", "e0 02 ff 45", "f0 00 00 00 05 00 01 00 00 44"} {
		d := NewDecoder(hx(wire))
		if err := d.Skip(); err != nil {
			t.Errorf("%s: %v", wire, err)
		}
	}
}

func TestDecoderDoesNotAllocate(t *testing.T) {
	b := hx("00 53 24 c0 10 08 40 41 52 05 53 01 a0 01 02 a1 01 61 a3 01 61 c1 01 00")
	b[4] = byte(len(b) - 5)
	if n := testing.AllocsPerRun(100, func() {
		d := NewDecoder(b)
		if _, err := d.Descriptor(); err != nil {
			t.Fatal(err)
		}
		look := d
		if err := look.Skip(); err != nil {
			t.Fatal(err)
		}
		_, body, err := d.List()
		if err != nil || !body.IsNull() {
			t.Fatal(err)
		}
		if _, err := body.Bool(); err != nil {
			t.Fatal(err)
		}
		if _, err := body.Uint(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
