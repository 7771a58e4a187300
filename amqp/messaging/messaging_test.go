package messaging

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/amqp"
	"sluice/amqp/encoding"
)

// hx turns spaced hexadecimal into bytes.
func hx(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

func checkDecodeError(t *testing.T, err error) {
	t.Helper()
	var e *amqp.Error
	if !errors.As(err, &e) || e.Condition != amqp.CondDecodeError {
		t.Errorf("got error %v, want a decode-error", err)
	}
}

// stateVectors are delivery states with the encoding that we write.
var stateVectors = []struct {
	name     string
	state    DeliveryState
	wire     string
	terminal bool
}{
	{"none", DeliveryState{}, "40", false},
	{"received", Received(1, 2), "00 53 23 c0 05 02 52 01 53 02", false},
	{"received at 0", Received(0, 0), "00 53 23 c0 03 02 43 44", false},
	{"accepted", Accepted, "00 53 24 45", true},
	{"rejected", Rejected(nil), "00 53 25 45", true},
	{"rejected with error", Rejected(&amqp.Error{Condition: "a:b", Description: "d"}),
		"00 53 25 c0 0f 01 00 53 1d c0 09 02 a3 03 61 3a 62 a1 01 64", true},
	{"released", Released, "00 53 26 45", true},
	{"modified", Modified(false, false, nil), "00 53 27 45", true},
	{"modified failed", Modified(true, false, nil), "00 53 27 c0 02 01 41", true},
	{"modified all", Modified(true, true, hx("c1 04 02 a3 00 40")), "00 53 27 c0 09 03 41 41 c1 04 02 a3 00 40", true},
	{"declared", DeliveryState{StateDeclared, hx("00 53 33 c0 04 01 a0 01 01")}, "00 53 33 c0 04 01 a0 01 01", true},
	{"transactional", DeliveryState{StateTransactional, hx("00 53 34 c0 08 02 a0 01 01 00 53 24 45")},
		"00 53 34 c0 08 02 a0 01 01 00 53 24 45", false},
	{"other", DeliveryState{StateOther, hx("00 53 99 c0 02 01 40")}, "00 53 99 c0 02 01 40", false},
	{"other by name", DeliveryState{StateOther, hx("00 a3 03 78 3a 79 a1 01 76")}, "00 a3 03 78 3a 79 a1 01 76", false},
}

func TestDeliveryState(t *testing.T) {
	for _, v := range stateVectors {
		t.Run(v.name, func(t *testing.T) {
			wire := hx(v.wire)
			if got := AppendDeliveryState(nil, v.state); !bytes.Equal(got, wire) {
				t.Errorf("Append = % x, want % x", got, wire)
			}
			d := encoding.NewDecoder(append(bytes.Clone(wire), 0x41))
			got, err := DecodeDeliveryState(&d)
			if err != nil || d.Len() != 1 {
				t.Fatalf("Decode: %v, %d bytes left, want 1", err, d.Len())
			}
			if diff := cmp.Diff(v.state, got); diff != "" {
				t.Errorf("Decode (-want +got):\n%s", diff)
			}
			if got.IsTerminal() != v.terminal {
				t.Errorf("IsTerminal = %v", got.IsTerminal())
			}
			for n := range wire {
				d := encoding.NewDecoder(wire[:n])
				_, err := DecodeDeliveryState(&d)
				checkDecodeError(t, err)
				if d.Offset() != 0 {
					t.Errorf("the first %d bytes moved to %d", n, d.Offset())
				}
			}
			clone := got.Clone()
			if len(clone.Raw) > 0 && &clone.Raw[0] == &got.Raw[0] {
				t.Error("Clone shares Raw")
			}
			if diff := cmp.Diff(got, clone); diff != "" {
				t.Errorf("Clone (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlainOutcomesInOtherEncodings(t *testing.T) {
	for wire, want := range map[string]DeliveryState{
		"00 53 24 c0 01 00":                                Accepted,
		"00 53 26 d0 00 00 00 04 00 00 00 00":              Released,
		"00 80 00 00 00 00 00 00 00 24 45":                 Accepted,
		"00 a3 12 616d71703a72656c65617365643a6c697374 45": Released,
		"00 53 24 c0 02 01 40":                             {StateAccepted, hx("00 53 24 c0 02 01 40")},
	} {
		d := encoding.NewDecoder(hx(wire))
		got, err := DecodeDeliveryState(&d)
		if diff := cmp.Diff(want, got); err != nil || diff != "" || d.Len() != 0 {
			t.Errorf("%s: %v\n%s", wire, err, diff)
		}
	}
}

func TestMalformedStates(t *testing.T) {
	for _, wire := range []string{"45", "a3 01 61", "00 53 24", "00 53 24 40", "00 53 24 c1 01 00", "00 53 25 a1 01 61",
		"00 53 24 c0 05 01 40", "00 40 45", "00 53 99 c0 02 02 40"} {
		d := encoding.NewDecoder(hx(wire))
		_, err := DecodeDeliveryState(&d)
		checkDecodeError(t, err)
		if d.Offset() != 0 {
			t.Errorf("%s: moved to %d", wire, d.Offset())
		}
	}
}

func TestParseStates(t *testing.T) {
	e, err := ParseRejected(Rejected(&amqp.Error{Condition: "a:b", Description: "d", Info: hx("c1 01 00")}))
	if diff := cmp.Diff(&amqp.Error{Condition: "a:b", Description: "d", Info: hx("c1 01 00")}, e); err != nil || diff != "" {
		t.Errorf("ParseRejected: %v\n%s", err, diff)
	}
	if e, err := ParseRejected(Rejected(nil)); e != nil || err != nil {
		t.Errorf("ParseRejected without error: %v, %v", e, err)
	}
	m, err := ParseModified(Modified(true, false, hx("c1 01 00")))
	if diff := cmp.Diff(ModifiedFields{DeliveryFailed: true, MessageAnnotations: hx("c1 01 00")}, m); err != nil || diff != "" {
		t.Errorf("ParseModified: %v\n%s", err, diff)
	}
	section, offset, err := ParseReceived(Received(3, 1<<40))
	if section != 3 || offset != 1<<40 || err != nil {
		t.Errorf("ParseReceived: %d, %d, %v", section, offset, err)
	}
	for _, s := range []DeliveryState{{}, Accepted, {StateRejected, hx("00 53 25 c0 03 02 40 40")}, {StateRejected, hx("00 53 25 c0 02 01 41")},
		{StateModified, hx("00 53 27 c0 03 01 50 01")}, {StateReceived, hx("00 53 23 45")}, {Kind: StateRejected}} {
		if _, err := ParseRejected(s); err == nil {
			t.Errorf("ParseRejected(%v % x): no error", s.Kind, s.Raw)
		}
		if _, err := ParseModified(s); err == nil {
			t.Errorf("ParseModified(%v % x): no error", s.Kind, s.Raw)
		}
		if _, _, err := ParseReceived(s); err == nil {
			t.Errorf("ParseReceived(%v % x): no error", s.Kind, s.Raw)
		}
	}
}

func TestDeliveryStateDoesNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 256)
	for _, v := range stateVectors {
		if strings.HasPrefix(v.name, "other by name") {
			continue // its descriptor is an error to Descriptor
		}
		wire := hx(v.wire)
		if n := testing.AllocsPerRun(100, func() {
			d := encoding.NewDecoder(wire)
			s, err := DecodeDeliveryState(&d)
			if err != nil {
				t.Fatal(err)
			}
			buf = AppendDeliveryState(buf[:0], s)
		}); n != 0 {
			t.Errorf("%s: %v allocations", v.name, n)
		}
	}
}

func BenchmarkDecodeAccepted(b *testing.B) {
	wire := hx("00 53 24 45")
	b.ReportAllocs()
	for b.Loop() {
		d := encoding.NewDecoder(wire)
		if _, err := DecodeDeliveryState(&d); err != nil {
			b.Fatal(err)
		}
	}
}

// terminusVectors are the termini that the vectors of attach (package frames) do not cover.
var terminusVectors = []struct {
	name   string
	source *Source
	target TargetField
	wire   string
}{
	{name: "null", wire: "40"},
	{name: "source", source: &Source{}, wire: "00 53 28 45"},
	{name: "source with empty address", source: &Source{HasAddress: true}, wire: "00 53 28 c0 03 01 a1 00"},
	{name: "source dynamic", source: &Source{Dynamic: true}, wire: "00 53 28 c0 06 05 40 40 40 40 41"},
	{name: "target", target: TargetField{Target: &Target{}}, wire: "00 53 29 45"},
	{name: "target with address", target: TargetField{Target: &Target{Address: "t", HasAddress: true}}, wire: "00 53 29 c0 04 01 a1 01 74"},
	{name: "coordinator", target: TargetField{Coordinator: &Coordinator{}}, wire: "00 53 30 45"},
}

func TestTermini(t *testing.T) {
	for _, v := range terminusVectors {
		wire := hx(v.wire)
		if v.target.IsNull() {
			d := encoding.NewDecoder(wire)
			got, err := DecodeSource(&d)
			if diff := cmp.Diff(v.source, got); err != nil || diff != "" {
				t.Errorf("%s: %v\n%s", v.name, err, diff)
			}
			if got != nil {
				if b := got.Append(nil); !bytes.Equal(b, wire) {
					t.Errorf("%s: Append = % x", v.name, b)
				}
			}
		}
		if v.source == nil {
			d := encoding.NewDecoder(wire)
			got, err := DecodeTargetField(&d)
			if diff := cmp.Diff(v.target, got); err != nil || diff != "" {
				t.Errorf("%s: %v\n%s", v.name, err, diff)
			}
			if b := got.Append(nil); !bytes.Equal(b, wire) {
				t.Errorf("%s: Append = % x", v.name, b)
			}
		}
	}
	for _, wire := range []string{"00 53 99 45", "00 a3 03 78 3a 79 a1 01 76"} {
		d := encoding.NewDecoder(hx(wire))
		got, err := DecodeTargetField(&d)
		if err != nil || !got.Unknown || got.IsNull() || d.Len() != 0 {
			t.Errorf("%s: %+v, %v", wire, got, err)
		}
		if b := got.Append(nil); !bytes.Equal(b, []byte{0x40}) {
			t.Errorf("%s: Append = % x", wire, b)
		}
	}
}

// §3.5.3: the type of address is open; what we cannot look up is named in the error.
func TestAddressOfAnotherType(t *testing.T) {
	for _, wire := range []string{"00 53 28 c0 03 01 53 01", "00 53 28 c0 05 01 a3 02 61 62", "00 53 28 c0 02 01 45"} {
		d := encoding.NewDecoder(hx(wire))
		_, err := DecodeSource(&d)
		var e *amqp.Error
		if !errors.As(err, &e) || e.Condition != amqp.CondInvalidField {
			t.Errorf("%s: got error %v, want invalid-field", wire, err)
		}
	}
	for _, wire := range []string{"00 53 28 c0 03 01 a1 05", "00 53 28 c0 04 01 a1 01 ff", "00 53 28 c0 02 01 4f", "00 53 29 45", "41"} {
		d := encoding.NewDecoder(hx(wire))
		_, err := DecodeSource(&d)
		checkDecodeError(t, err)
	}
}

func TestTerminiAreCopied(t *testing.T) {
	wire := (&Source{Address: "abc", Filter: hx("c1 01 00"), Capabilities: []amqp.Symbol{"c"}}).Append(nil)
	d := encoding.NewDecoder(wire)
	s, err := DecodeSource(&d)
	if err != nil {
		t.Fatal(err)
	}
	clear(wire)
	if want := (&Source{Address: "abc", HasAddress: true, Filter: hx("c1 01 00"), Capabilities: []amqp.Symbol{"c"}}); !cmp.Equal(want, s) {
		t.Errorf("%s", cmp.Diff(want, s))
	}
}

func TestHeader(t *testing.T) {
	for wire, want := range map[string]Header{
		"00 53 70 45":                               {},
		"00 53 70 c0 02 01 41":                      {Durable: true},
		"00 53 70 c0 08 05 41 50 00 43 41 52 03":    {Durable: true, HasPriority: true, HasTTL: true, FirstAcquirer: true, DeliveryCount: 3},
		"00 53 70 c0 09 03 40 50 09 70 00 00 03 e8": {Priority: 9, HasPriority: true, TTL: 1000, HasTTL: true},
	} {
		b := hx(wire)
		d := encoding.NewDecoder(b)
		got, err := DecodeHeader(&d)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", wire, got, err)
		}
		if out := want.Append(nil); !bytes.Equal(out, b) {
			t.Errorf("%+v: % x, want % x", want, out, b)
		}
		for n := range b {
			d := encoding.NewDecoder(b[:n])
			_, err := DecodeHeader(&d)
			checkDecodeError(t, err)
		}
	}
}

var allProperties = Properties{
	MessageID: uint64(7), UserID: []byte("u"), To: "to", HasTo: true, Subject: "s", ReplyTo: "r", CorrelationID: "c",
	ContentType: "t", ContentEncoding: "e", AbsoluteExpiryTime: 0, HasAbsoluteExpiryTime: true, CreationTime: 5, HasCreationTime: true,
	GroupID: "g", GroupSequence: 0, HasGroupSequence: true, ReplyToGroupID: "rg",
}

func TestProperties(t *testing.T) {
	for name, want := range map[string]*Properties{
		"none":     {},
		"to":       {To: "a/b", HasTo: true},
		"empty to": {HasTo: true},
		"all":      &allProperties,
		"uuid":     {MessageID: encoding.UUID{1}, CorrelationID: encoding.UUID{2}},
		"binary":   {MessageID: []byte{1}, CorrelationID: []byte{}},
	} {
		b := want.Append(nil)
		d := encoding.NewDecoder(b)
		got, err := DecodeProperties(&d)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		to, ok, err := PropertiesTo(b)
		if err != nil || ok != want.HasTo || string(to) != want.To {
			t.Errorf("%s: PropertiesTo = %q, %v, %v", name, to, ok, err)
		}
		for n := range b {
			d := encoding.NewDecoder(b[:n])
			_, err := DecodeProperties(&d)
			checkDecodeError(t, err)
			_, _, err = PropertiesTo(b[:n])
			checkDecodeError(t, err)
		}
	}
	for _, wire := range []string{"00 53 73 c0 02 01 41", "00 53 73 c0 05 03 40 40 52 01", "00 53 70 45",
		"00 53 73 c0 0f 0e 40 40 40 40 40 40 40 40 40 40 40 40 40 40"} {
		d := encoding.NewDecoder(hx(wire))
		_, err := DecodeProperties(&d)
		checkDecodeError(t, err)
	}
}
