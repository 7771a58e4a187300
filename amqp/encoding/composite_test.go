package encoding

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/amqp"
)

// every is a composite of one field of each kind.
type every struct {
	Flag, Bool, HasBool bool
	Ubyte               uint8
	Ushort              uint16
	Uint                uint32
	Ulong               uint64
	Timestamp           int64
	Binary, Raw, Map    []byte
	String              string
	Symbol              amqp.Symbol
	Symbols             []amqp.Symbol
	Error               *amqp.Error
}

func (e *every) append(b []byte) []byte {
	w := BeginComposite(b, 0x99)
	w.Flag(e.Flag)
	w.Bool(e.Bool, e.HasBool)
	w.Ubyte(e.Ubyte, e.Ubyte != 0)
	w.Ushort(e.Ushort, e.Ushort != 0)
	w.Uint(e.Uint, e.Uint != 0)
	w.Ulong(e.Ulong, e.Ulong != 0)
	w.Timestamp(e.Timestamp, e.Timestamp != 0)
	w.Binary(e.Binary)
	w.Raw(e.Raw)
	w.Raw(e.Map)
	w.String(e.String, e.String != "")
	w.Symbol(e.Symbol)
	w.Symbols(e.Symbols)
	w.Error(e.Error)
	return w.End()
}

func (e *every) decode(b []byte) error {
	d := NewDecoder(b)
	if _, err := d.Descriptor(); err != nil {
		return err
	}
	f := d.Fields("every", 14)
	e.Flag = f.Flag("flag")
	e.Bool, e.HasBool = f.Bool("bool")
	e.Ubyte, _ = f.Ubyte("ubyte")
	e.Ushort, _ = f.Ushort("ushort")
	e.Uint, _ = f.Uint("uint")
	e.Ulong, _ = f.Ulong("ulong")
	e.Timestamp, _ = f.Timestamp("timestamp")
	e.Binary = f.Binary("binary")
	e.Raw = f.Raw("raw")
	e.Map = f.Map("map")
	e.String, _ = f.String("string")
	e.Symbol = f.Symbol("symbol")
	e.Symbols = f.Symbols("symbols")
	e.Error = f.Error("error")
	return f.Finish()
}

// Every selection of fields survives, and its encoding ends with the last field present (§1.4).
func TestComposite(t *testing.T) {
	set := []func(e *every){
		func(e *every) { e.Flag = true },
		func(e *every) { e.HasBool = true },
		func(e *every) { e.Ubyte = 1 },
		func(e *every) { e.Ushort = 1 },
		func(e *every) { e.Uint = 1 },
		func(e *every) { e.Ulong = 1 },
		func(e *every) { e.Timestamp = -1 },
		func(e *every) { e.Binary = []byte{} },
		func(e *every) { e.Raw = hx("45") },
		func(e *every) { e.Map = hx("c1 01 00") },
		func(e *every) { e.String = "s" },
		func(e *every) { e.Symbol = "s" },
		func(e *every) { e.Symbols = []amqp.Symbol{} },
		func(e *every) { e.Error = &amqp.Error{Condition: "a:b"} },
	}
	for bits := range 1 << len(set) {
		var want, got every
		last := 0
		for i, set := range set {
			if bits&(1<<i) != 0 {
				set(&want)
				last = i + 1
			}
		}
		b := want.append(nil)
		d := NewDecoder(b[3:])
		if count, _, err := d.List(); err != nil || count != last {
			t.Fatalf("%014b: list of %d, %v, want %d", bits, count, err, last)
		}
		if err := got.decode(b); err != nil || bits%97 == 0 && !cmp.Equal(want, got) {
			t.Fatalf("%014b: %v\n%s", bits, err, cmp.Diff(want, got))
		}
	}
}

// An error names the composite and the field, keeps its condition, and ends the reading.
func TestFieldErrors(t *testing.T) {
	names := []string{"flag", "bool", "ubyte", "ushort", "uint", "ulong", "timestamp", "binary", "raw", "map", "string", "symbol", "symbols", "error"}
	for i, name := range names {
		b, m := BeginList(AppendDescriptor(nil, 0x99))
		b = append(b, bytes.Repeat([]byte{codeNull}, i)...)
		if name == "raw" {
			b = append(b, 0x4f)
		} else {
			b = append(b, codeFloat, 0, 0, 0, 0)
		}
		b = EndList(b, m, i+1)
		var e every
		err := e.decode(b)
		checkDecodeError(t, err)
		if err != nil && !strings.Contains(err.Error(), "every."+name+": at offset ") {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(every{}, e); diff != "" {
			t.Errorf("%s: fields after the error:\n%s", name, diff)
		}
	}
}

func TestFieldsOfUnknownDescriptor(t *testing.T) {
	d := NewDecoder(hx("c0 08 01 00 a3 03 78 3a 79 40"))
	f := d.Fields("every", 1)
	inner, ok := f.Next()
	if !ok {
		t.Fatal("no field")
	}
	_, err := inner.Descriptor()
	f.Fail("field", err)
	if err := f.Finish(); err == nil || !strings.Contains(err.Error(), `every.field: at offset 4: unknown descriptor "x:y"`) {
		t.Errorf("got %v", err)
	}
	f.Require("other", false)
	if !f.Failed() || !strings.Contains(f.Finish().Error(), "every.field") {
		t.Errorf("a later error replaced the first: %v", f.Finish())
	}
}

func TestAdvance(t *testing.T) {
	d := NewDecoder(hx("40 41 42"))
	if err := d.Advance(2); err != nil || !bytes.Equal(d.Rest(), []byte{0x42}) {
		t.Errorf("%v, rest % x", err, d.Rest())
	}
	for _, n := range []int{-1, 2} {
		if err := d.Advance(n); err == nil || d.Offset() != 2 {
			t.Errorf("Advance(%d): %v, at %d", n, err, d.Offset())
		}
	}
}

func BenchmarkSkip(b *testing.B) {
	v, err := AppendAny(nil, Map{{amqp.Symbol("x-opt-qd.trace"), []any{"0/A", "0/B"}}, {amqp.Symbol("x-opt-qd.ingress"), "0/A"}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		d := NewDecoder(v)
		if err := d.Skip(); err != nil {
			b.Fatal(err)
		}
	}
}
