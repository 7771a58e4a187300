package messaging

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/amqp/encoding"
)

// FuzzDeliveryState: a decoded state survives being written and read again, and is never longer than it was.
func FuzzDeliveryState(f *testing.F) {
	for _, v := range stateVectors {
		f.Add(hx(v.wire))
	}
	f.Add(hx("00 80 00 00 00 00 00 00 00 24 c0 01 00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := encoding.NewDecoder(b)
		s, err := DecodeDeliveryState(&d)
		if err != nil {
			if d.Offset() != 0 {
				t.Fatalf("moved to %d with %v", d.Offset(), err)
			}
			return
		}
		wire := AppendDeliveryState(nil, s)
		if len(wire) > d.Offset() {
			t.Fatalf("%d bytes became %d", d.Offset(), len(wire))
		}
		again := encoding.NewDecoder(wire)
		s2, err := DecodeDeliveryState(&again)
		if diff := cmp.Diff(s, s2); err != nil || diff != "" || again.Len() != 0 {
			t.Fatalf("%v\n%s", err, diff)
		}
		switch s.Kind {
		case StateRejected:
			if e, err := ParseRejected(s); err == nil {
				if e2, err := ParseRejected(Rejected(e)); err != nil || !cmp.Equal(e, e2) {
					t.Fatalf("%v became %v, %v", e, e2, err)
				}
			}
		case StateModified:
			if m, err := ParseModified(s); err == nil {
				m2, err := ParseModified(Modified(m.DeliveryFailed, m.UndeliverableHere, m.MessageAnnotations))
				if err != nil || !cmp.Equal(m, m2) {
					t.Fatalf("%v became %v, %v", m, m2, err)
				}
			}
		case StateReceived:
			if section, offset, err := ParseReceived(s); err == nil {
				if a, b, err := ParseReceived(Received(section, offset)); err != nil || a != section || b != offset {
					t.Fatalf("%d, %d became %d, %d, %v", section, offset, a, b, err)
				}
			}
		}
	})
}

// FuzzTermini: what is decoded survives being written and read again.
func FuzzTermini(f *testing.F) {
	for _, v := range terminusVectors {
		f.Add(hx(v.wire))
	}
	f.Add(hx("00 53 28 c0 03 01 53 01"))
	f.Add((&Source{Address: "a", Durable: 2, ExpiryPolicy: "never", Dynamic: true, DynamicNodeProperties: hx("c1 01 00"),
		DistributionMode: "copy", Filter: hx("c1 01 00"), DefaultOutcome: hx("00 53 26 45"), Outcomes: nil}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := encoding.NewDecoder(b)
		if s, err := DecodeSource(&d); err == nil && s != nil {
			again := encoding.NewDecoder(s.Append(nil))
			if s2, err := DecodeSource(&again); err != nil || again.Len() != 0 || !cmp.Equal(s, s2) {
				t.Fatalf("%v\n%s", err, cmp.Diff(s, s2))
			}
		}
		d = encoding.NewDecoder(b)
		if field, err := DecodeTargetField(&d); err == nil && !field.Unknown {
			again := encoding.NewDecoder(field.Append(nil))
			if field2, err := DecodeTargetField(&again); err != nil || again.Len() != 0 || !cmp.Equal(field, field2) {
				t.Fatalf("%v\n%s", err, cmp.Diff(field, field2))
			}
		}
	})
}

// FuzzSections: header and properties survive being written and read again, and PropertiesTo agrees with DecodeProperties.
func FuzzSections(f *testing.F) {
	f.Add(allProperties.Append(nil))
	f.Add((&Properties{HasTo: true}).Append(nil))
	f.Add((&Header{Durable: true, HasTTL: true, TTL: 1000, DeliveryCount: 3}).Append(nil))
	f.Add((&Header{}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := encoding.NewDecoder(b)
		if h, err := DecodeHeader(&d); err == nil {
			wire := h.Append(nil)
			again := encoding.NewDecoder(wire)
			if h2, err := DecodeHeader(&again); err != nil || h != h2 || len(wire) > d.Offset() {
				t.Fatalf("%+v, % x, %+v, %v", h, wire, h2, err)
			}
		}
		d = encoding.NewDecoder(b)
		to, ok, toErr := PropertiesTo(b)
		if slow, slowOK, slowErr := slowTo(b); !bytes.Equal(to, slow) || ok != slowOK || (toErr == nil) != (slowErr == nil) {
			t.Fatalf("PropertiesTo = %q, %v, %v; slowTo = %q, %v, %v", to, ok, toErr, slow, slowOK, slowErr)
		}
		p, err := DecodeProperties(&d)
		if err != nil {
			return
		}
		if toErr != nil || ok != p.HasTo || string(to) != p.To {
			t.Fatalf("PropertiesTo = %q, %v, %v; DecodeProperties: %q, %v", to, ok, toErr, p.To, p.HasTo)
		}
		wire := p.Append(nil)
		again := encoding.NewDecoder(wire)
		p2, err := DecodeProperties(&again)
		if err != nil || !cmp.Equal(p, p2) || len(wire) > d.Offset() || !bytes.Equal(wire, p2.Append(nil)) {
			t.Fatalf("%v\n%s", err, cmp.Diff(p, p2))
		}
	})
}
