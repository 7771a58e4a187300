package messaging

import (
	"bytes"
	"errors"
	"testing"

	"sluice/amqp"
	"sluice/amqp/encoding"
)

// parts are sections in their order; a message is any selection of them.
var parts = []struct {
	section Section
	wire    []byte
}{
	{SectionHeader, hx("00 53 70 c0 02 01 41")},
	{SectionDeliveryAnnotations, hx("00 53 71 c1 04 02 a3 00 40")},
	{SectionMessageAnnotations, hx("00 53 72 d1 00 00 00 0d 00 00 00 02 a3 04 78 2d 6f 70 a1 01 79")},
	{SectionProperties, hx("00 53 73 c0 07 03 40 40 a1 02 74 6f")},
	{SectionApplicationProperties, hx("00 53 74 c1 01 00")},
	{SectionAMQPValue, hx("00 53 77 a1 02 68 69")},
	{SectionFooter, hx("00 53 78 c1 01 00")},
}

// selection returns the message made of the parts whose bit is set, and the envelope that Scan should find.
func selection(bits int, through Section) (b []byte, want Envelope) {
	past := false
	for i, p := range parts {
		if bits&(1<<i) == 0 {
			continue
		}
		r := Range{len(b), len(b) + len(p.wire)}
		b = append(b, p.wire...)
		if p.section > through || past {
			if !past {
				want.Rest, want.Complete, past = r.Start, true, true
			}
			continue
		}
		switch p.section {
		case SectionHeader:
			want.Header = r
		case SectionDeliveryAnnotations:
			want.DeliveryAnnotations = r
		case SectionMessageAnnotations:
			want.MessageAnnotations = r
		case SectionProperties:
			want.Properties = r
		}
		want.Rest = r.End
		if p.section == through {
			want.Complete, past = true, true
		}
	}
	return b, want
}

func TestScan(t *testing.T) {
	for bits := range 1 << len(parts) {
		for through := SectionHeader; through <= SectionProperties; through++ {
			b, want := selection(bits, through)
			got, err := Scan(b, through)
			if got != want {
				t.Fatalf("selection %07b through 0x%x: %+v, want %+v", bits, through, got, want)
			}
			if want.Complete != (err == nil) || !want.Complete && (err != ErrIncomplete || got.Rest != len(b)) {
				t.Fatalf("selection %07b through 0x%x: %v", bits, through, err)
			}
			// Every prefix is incomplete, or gives the same answer; never an error of the sender.
			for n := range b {
				part, err := Scan(b[:n], through)
				switch {
				case err == nil:
					if part != want {
						t.Fatalf("selection %07b through 0x%x, %d bytes: %+v, want %+v", bits, through, n, part, want)
					}
				case err != ErrIncomplete || part.Complete || part.Rest > n:
					t.Fatalf("selection %07b through 0x%x, %d bytes: %+v, %v", bits, through, n, part, err)
				}
			}
		}
	}
}

// §1.3: the descriptor may be symbolic or a long ulong. Prefixes of those are incomplete as well.
func TestScanOtherDescriptors(t *testing.T) {
	for _, wire := range []string{
		"00 80 00 00 00 00 00 00 00 70 45 00 80 00 00 00 00 00 00 00 73 c0 07 03 40 40 a1 02 74 6f",
		"00 a3 10 616d71703a6865616465723a6c697374 45 00 a3 14 616d71703a70726f706572746965733a6c697374 c0 07 03 40 40 a1 02 74 6f",
		"00 b3 00 00 00 10 616d71703a6865616465723a6c697374 45 00 53 73 d0 00 00 00 0a 00 00 00 03 40 40 a1 02 74 6f",
	} {
		b := hx(wire)
		e, err := Scan(b, SectionProperties)
		if err != nil || e.Header.Len() == 0 || e.Properties.End != len(b) || !e.Complete {
			t.Errorf("%s: %+v, %v", wire, e, err)
		}
		to, ok, err := PropertiesTo(e.Properties.Of(b))
		if err != nil || !ok || string(to) != "to" {
			t.Errorf("%s: to %q, %v, %v", wire, to, ok, err)
		}
		for n := range b {
			if _, err := Scan(b[:n], SectionProperties); err != ErrIncomplete {
				t.Errorf("%s: %d bytes: %v", wire, n, err)
			}
		}
	}
}

func TestScanMalformed(t *testing.T) {
	for name, wire := range map[string]string{
		"null":                     "40",
		"text":                     "48 65 6c 6c 6f",
		"list":                     "c0 01 00",
		"descriptor below":         "00 53 6f 45",
		"descriptor above":         "00 53 79 45",
		"performative":             "00 53 14 c0 02 01 43",
		"ulong above":              "00 80 00 00 00 01 00 00 00 70 45",
		"unknown name":             "00 a3 03 78 3a 79 45",
		"descriptor of type uint":  "00 52 70 45",
		"descriptor too long":      "00 b3 00 00 ff ff 61",
		"header twice":             "00 53 70 45 00 53 70 45",
		"header after annotations": "00 53 72 c1 01 00 00 53 70 45",
		"annotations swapped":      "00 53 72 c1 01 00 00 53 71 c1 01 00",
		"header of a map":          "00 53 70 c1 01 00",
		"annotations of a list":    "00 53 71 c0 01 00",
		"annotations of list0":     "00 53 72 45",
		"properties of a string":   "00 53 73 a1 01 61",
		"properties of null":       "00 53 73 40",
		"list8 of size 0":          "00 53 70 c0 00",
		"map32 of size 3":          "00 53 72 d1 00 00 00 03",
		"nothing after header":     "00 53 70 45 45",
	} {
		if e, err := Scan(hx(wire), SectionProperties); err == ErrIncomplete || err == nil {
			t.Errorf("%s: %+v, %v", name, e, err)
		} else {
			checkDecodeError(t, err)
		}
	}
}

// Behind the section asked for nothing is looked at.
func TestScanStops(t *testing.T) {
	for wire, through := range map[string]Section{
		"00 53 70 45 ff ff":                SectionHeader,
		"00 53 72 c1 01 00 ff":             SectionMessageAnnotations,
		"00 53 73 45 ff":                   SectionProperties,
		"00 53 73 45 00 53 70 45":          SectionProperties,
		"00 53 75 b0 ff":                   SectionProperties,
		"00 53 77":                         SectionProperties,
		"00 53 74 ff":                      SectionFooter,
		"00 53 71 c1 01 00 00 53 73 ff ff": SectionMessageAnnotations,
	} {
		if e, err := Scan(hx(wire), through); err != nil || !e.Complete {
			t.Errorf("%s: %+v, %v", wire, e, err)
		}
	}
}

func TestScanHugeSection(t *testing.T) {
	if _, err := Scan(hx("00 53 72 d1 ff ff ff ff 00 00 00 02"), SectionProperties); err != ErrIncomplete {
		t.Errorf("got %v", err)
	}
}

func usualMessage() []byte {
	m := &Message{
		Header:             &Header{Durable: true},
		MessageAnnotations: encoding.Map{{Key: amqp.Symbol("x-opt-a"), Value: "v"}},
		Properties:         &Properties{MessageID: uint64(1), To: "queue/orders", HasTo: true},
		Data:               [][]byte{make([]byte, 100)},
	}
	b, err := m.Append(nil)
	if err != nil {
		panic(err)
	}
	return b
}

func TestScanDoesNotAllocate(t *testing.T) {
	b := usualMessage()
	if n := testing.AllocsPerRun(100, func() {
		e, err := Scan(b, SectionProperties)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Scan(b[:e.Rest-3], SectionProperties); err != ErrIncomplete {
			t.Fatal(err)
		}
		if to, ok, err := PropertiesTo(e.Properties.Of(b)); err != nil || !ok || len(to) == 0 {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkScan(b *testing.B) {
	message := usualMessage()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Scan(message, SectionProperties); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPropertiesTo(b *testing.B) {
	message := usualMessage()
	e, err := Scan(message, SectionProperties)
	if err != nil {
		b.Fatal(err)
	}
	section := e.Properties.Of(message)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := PropertiesTo(section); err != nil {
			b.Fatal(err)
		}
	}
}

func seedMessages(f *testing.F) {
	for bits := range 1 << len(parts) {
		b, _ := selection(bits, SectionProperties)
		f.Add(b)
	}
	f.Add(usualMessage())
	f.Add(hx("00 a3 10 616d71703a6865616465723a6c697374 45"))
	f.Add(hx("00 80 00 00 00 00 00 00 00 70 45"))
}

// FuzzScan: the sections lie one behind the other, prefixes agree with the whole, and the whole agrees with DecodeMessage.
func FuzzScan(f *testing.F) {
	seedMessages(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := Scan(b, SectionProperties)
		end := 0
		for _, r := range []Range{e.Header, e.DeliveryAnnotations, e.MessageAnnotations, e.Properties} {
			if r.Len() == 0 {
				continue
			}
			if r.Start != end || r.End <= r.Start || r.End > len(b) {
				t.Fatalf("%+v of %d bytes", e, len(b))
			}
			end = r.End
		}
		if e.Rest != end || e.Complete != (err == nil) {
			t.Fatalf("%+v, %v", e, err)
		}
		if err == nil {
			for n := range min(len(b), 64) {
				if part, err := Scan(b[:n], SectionProperties); err == nil && part != e || err != nil && err != ErrIncomplete {
					t.Fatalf("%d of %d bytes: %+v, %v; all: %+v", n, len(b), part, err, e)
				}
			}
		} else if _, decodeErr := DecodeMessage(b); decodeErr == nil && !(errors.Is(err, ErrIncomplete) && e.Rest == len(b)) {
			t.Fatalf("Scan: %v, DecodeMessage: no error", err)
		}
		if e.Properties.Len() > 0 {
			_, _, _ = PropertiesTo(e.Properties.Of(b))
		}
	})
}

// FuzzMessage: a decoded message survives being written and read again.
func FuzzMessage(f *testing.F) {
	seedMessages(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := DecodeMessage(b)
		if err != nil {
			return
		}
		first, err := m.Append(nil)
		if err != nil {
			if bytes.IndexByte(b, 0xe0) >= 0 {
				return // an array of array8 that grew by a constructor, see encoding.FuzzAny
			}
			t.Fatal(err)
		}
		m2, err := DecodeMessage(first)
		if err != nil {
			t.Fatalf("% x: %v", first, err)
		}
		if second, err := m2.Append(nil); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("% x, then % x, %v", first, second, err)
		}
	})
}
