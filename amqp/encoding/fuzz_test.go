package encoding

import (
	"bytes"
	"testing"
)

func seed(f *testing.F) {
	for _, v := range vectors {
		f.Add(hx(v.wire))
	}
	for _, v := range alternatives {
		f.Add(hx(v.wire))
	}
	for _, v := range malformed {
		f.Add(hx(v.wire))
	}
}

// FuzzSkip: what Skip accepts has the size that Skip says, and no part of it is accepted.
func FuzzSkip(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		d := NewDecoder(b)
		if err := d.Skip(); err != nil {
			if d.Offset() != 0 {
				t.Fatalf("moved to %d with %v", d.Offset(), err)
			}
			return
		}
		n := d.Offset()
		if n <= 0 || n+d.Len() != len(b) {
			t.Fatalf("%d of %d bytes, %d left", n, len(b), d.Len())
		}
		short := NewDecoder(b[: n-1 : n-1])
		if err := short.Skip(); err == nil {
			t.Fatalf("the first %d of %d bytes are accepted as well", n-1, n)
		}
		again := NewDecoder(b[:n])
		raw, err := again.Raw()
		if err != nil || !bytes.Equal(raw, b[:n]) {
			t.Fatalf("Raw = % x, %v", raw, err)
		}
	})
}

// FuzzAny: what Any reads is well-formed to Skip, and survives being written and read again.
func FuzzAny(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		d := NewDecoder(b)
		v, err := d.Any()
		if err != nil {
			if v != nil || d.Offset() != 0 {
				t.Fatalf("%v, moved to %d, with %v", v, d.Offset(), err)
			}
			return
		}
		skip := NewDecoder(b)
		if err := skip.Skip(); err != nil || skip.Offset() != d.Offset() {
			t.Fatalf("Skip: %v, %d bytes; Any: %d bytes", err, skip.Offset(), d.Offset())
		}
		first, err := AppendAny(nil, v)
		if err != nil {
			// An empty array may grow by its constructor, and then not fit in an array of array8.
			if bytes.IndexByte(b, codeArray8) >= 0 {
				return
			}
			t.Fatal(err)
		}
		d2 := NewDecoder(first)
		v2, err := d2.Any()
		if err != nil || d2.Len() != 0 {
			t.Fatalf("% x: %v, %d left", first, err, d2.Len())
		}
		second, err := AppendAny(nil, v2)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("% x, then % x, %v", first, second, err)
		}
	})
}

// FuzzReads: no read panics or leaves the input, and a failed one does not move.
func FuzzReads(f *testing.F) {
	seed(f)
	reads := []func(d *Decoder) error{
		func(d *Decoder) error { _, err := d.Bool(); return err },
		func(d *Decoder) error { _, err := d.Uint(); return err },
		func(d *Decoder) error { _, err := d.Ulong(); return err },
		func(d *Decoder) error { _, err := d.Int(); return err },
		func(d *Decoder) error { _, err := d.Long(); return err },
		func(d *Decoder) error { _, err := d.String(); return err },
		func(d *Decoder) error { _, err := d.SymbolArray(); return err },
		func(d *Decoder) error { _, err := d.AMQPError(); return err },
		func(d *Decoder) error { _, err := d.RawMap(); return err },
		func(d *Decoder) error { _, _, err := d.List(); return err },
		func(d *Decoder) error { _, _, err := d.Map(); return err },
		func(d *Decoder) error { _, _, err := d.Array(); return err },
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for i, read := range reads {
			d := NewDecoder(b)
			if err := read(&d); err != nil && d.Offset() != 0 {
				t.Fatalf("read %d moved to %d with %v", i, d.Offset(), err)
			}
		}
		d := NewDecoder(b)
		_, _ = d.Descriptor()
	})
}
