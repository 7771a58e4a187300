package frames

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

func TestVectors(t *testing.T) {
	covered := map[Performative]bool{}
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			wire := hx(v.wire)
			if got := v.frame.Append([]byte("head")); !bytes.Equal(got, append([]byte("head"), wire...)) {
				t.Errorf("Append:\n got % x\nwant % x", got[4:], wire)
			}
			code, at, err := PeekPerformative(wire)
			if err != nil || at != 3 {
				t.Fatalf("PeekPerformative = %v, %d, %v", code, at, err)
			}
			covered[code] = true
			got := newPerformative[code]()
			payload, err := got.Decode(wire)
			if err != nil || len(payload) != 0 {
				t.Fatalf("Decode: payload % x, %v", payload, err)
			}
			if diff := cmp.Diff(v.frame, got); diff != "" {
				t.Errorf("Decode (-want +got):\n%s", diff)
			}
			// Decode resets what an earlier frame left.
			for _, other := range vectors {
				if code2, _, _ := PeekPerformative(hx(other.wire)); code2 == code {
					_, _ = got.Decode(hx(other.wire))
					if _, err := got.Decode(wire); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(v.frame, got); diff != "" {
						t.Errorf("Decode after %s (-want +got):\n%s", other.name, diff)
					}
				}
			}
			for n := range wire {
				_, err := got.Decode(wire[:n:n])
				checkDecodeError(t, err)
			}
			if text := Format(0, wire); text != v.text {
				t.Errorf("Format:\n got %s\nwant %s", text, v.text)
			}
			checkUnusualEncodings(t, code, wire, v.frame)
		})
	}
	for code := range newPerformative {
		if !covered[code] {
			t.Errorf("no vector for %v", code)
		}
	}
}

// checkUnusualEncodings decodes the same fields with another descriptor, a wide list, and trailing nulls.
func checkUnusualEncodings(t *testing.T, code Performative, wire []byte, want performative) {
	t.Helper()
	d := encoding.NewDecoder(wire[3:])
	count, body, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	list := body.Rest()
	long := append(append(append(make([]byte, 0, 512), hx("d0 00 00 00")...), byte(len(list)+4), 0, 0, 0, byte(count)), list...)
	most := mostFields(t, code)
	nulls := append(append(append(make([]byte, 0, 512), hx("d0 00 00 00")...), byte(len(list)+4+most-count), 0, 0, 0, byte(most)), list...)
	nulls = append(nulls, bytes.Repeat([]byte{0x40}, most-count)...)
	symbol := "amqp:" + code.String() + ":list"
	for name, body := range map[string][]byte{
		"list32":                  append(hx("00 53"), append([]byte{byte(code)}, long...)...),
		"trailing nulls":          append(hx("00 53"), append([]byte{byte(code)}, nulls...)...),
		"ulong descriptor":        append(hx("00 80 00 00 00 00 00 00 00"), append([]byte{byte(code)}, wire[3:]...)...),
		"symbolic descriptor":     append(encoding.AppendSymbol([]byte{0}, symbol), wire[3:]...),
		"symbolic and list32":     append(encoding.AppendSymbol([]byte{0}, symbol), long...),
		"ulong and list32, nulls": append(hx("00 80 00 00 00 00 00 00 00"), append([]byte{byte(code)}, nulls...)...),
	} {
		got := newPerformative[code]()
		if _, err := got.Decode(body); err != nil {
			t.Errorf("%s: % x: %v", name, body, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// mostFields finds out how many fields a performative takes: the number at which the error changes.
func mostFields(t *testing.T, code Performative) int {
	t.Helper()
	for n := 1; n < 30; n++ {
		body := append([]byte{0, 0x53, byte(code), 0xc0, byte(n + 1), byte(n)}, bytes.Repeat([]byte{0x40}, n)...)
		if _, err := newPerformative[code]().Decode(body); err != nil && strings.Contains(err.Error(), "at most") {
			return n - 1
		}
	}
	t.Fatalf("%v takes any number of fields", code)
	return 0
}

func checkDecodeError(t *testing.T, err error) {
	t.Helper()
	var e *amqp.Error
	if !errors.As(err, &e) || e.Condition != amqp.CondDecodeError {
		t.Errorf("got error %v, want a decode-error", err)
	}
}

// Numbers of fields by performative, from §2.7 and §5.3.3.
func TestFieldCounts(t *testing.T) {
	want := map[Performative]int{
		PerformativeOpen: 10, PerformativeBegin: 8, PerformativeAttach: 14, PerformativeFlow: 11, PerformativeTransfer: 11,
		PerformativeDisposition: 6, PerformativeDetach: 3, PerformativeEnd: 1, PerformativeClose: 1,
		PerformativeSASLMechanisms: 1, PerformativeSASLInit: 3, PerformativeSASLChallenge: 1, PerformativeSASLResponse: 1,
		PerformativeSASLOutcome: 2,
	}
	for code := range newPerformative {
		if got := mostFields(t, code); got != want[code] {
			t.Errorf("%v takes %d fields, want %d", code, got, want[code])
		}
	}
}

func TestTransferPayload(t *testing.T) {
	for _, payload := range [][]byte{{}, {0}, bytes.Repeat([]byte{0xff}, 1000)} {
		for _, head := range []string{"00 53 14 c0 03 01 52 01", "00 53 14 d0 00 00 00 06 00 00 00 01 52 01",
			"00 80 00 00 00 00 00 00 00 14 c0 03 01 52 01", "00 53 14 c0 0a 08 52 01 40 40 40 40 40 40 40"} {
			var f Transfer
			got, err := f.Decode(append(hx(head), payload...))
			if err != nil || !bytes.Equal(got, payload) || f.Handle != 1 {
				t.Errorf("%s: payload of %d bytes, %v, want %d", head, len(got), err, len(payload))
			}
		}
	}
}

func TestAppendFrame(t *testing.T) {
	b := AppendFrame([]byte("head"), TypeAMQP, 0x0102, &End{})
	if want := append([]byte("head"), hx("00 00 00 0c 02 00 01 02 00 53 17 45")...); !bytes.Equal(b, want) {
		t.Errorf("AppendFrame = % x, want % x", b, want)
	}
	b = AppendHeartbeat([]byte("head"))
	if want := append([]byte("head"), hx("00 00 00 08 02 00 00 00")...); !bytes.Equal(b, want) {
		t.Errorf("AppendHeartbeat = % x, want % x", b, want)
	}
}

func TestAppendTransferFrame(t *testing.T) {
	payload := []byte("payload")
	for _, v := range vectors {
		f, ok := v.frame.(*Transfer)
		if !ok {
			continue
		}
		b := AppendTransferFrame([]byte("head"), 0xabcd, f, len(payload))[4:]
		h, err := ParseHeader(b)
		if want := (Header{Size: uint32(len(b) + len(payload)), DataOffset: 2, Channel: 0xabcd}); err != nil || h != want {
			t.Errorf("%s: header %+v, %v, want %+v", v.name, h, err, want)
		}
		if got := b[h.BodyOffset():]; !bytes.Equal(got, hx(v.wire)) {
			t.Errorf("%s: body % x", v.name, got)
		}
		if most := TransferOverhead(f); len(b) > most {
			t.Errorf("%s: %d bytes, TransferOverhead says %d at most", v.name, len(b), most)
		}
	}
	// The largest of each field, with a state that needs a wide list.
	f := &Transfer{
		Handle: 1 << 31, DeliveryID: 1 << 31, HasDeliveryID: true, DeliveryTag: make([]byte, 32), HasDeliveryTag: true,
		MessageFormat: 1 << 31, HasMessageFormat: true, Settled: true, More: true, HasReceiverSettleMode: true,
		State: messaging.Rejected(amqp.Errorf(amqp.CondNotFound, "%s", strings.Repeat("x", 1000))), Batchable: true,
	}
	b := AppendTransferFrame(nil, 0, f, 0)
	if most := TransferOverhead(f); len(b) > most {
		t.Errorf("%d bytes, TransferOverhead says %d at most", len(b), most)
	}
	var got Transfer
	if _, err := got.Decode(b[8:]); err != nil {
		t.Fatal(err)
	}
	f.HasSettled = true // Settled alone is written too
	if diff := cmp.Diff(f, &got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProtocolHeader(t *testing.T) {
	for _, id := range []ProtoID{ProtoAMQP, ProtoTLS, ProtoSASL} {
		h := ProtocolHeader(id)
		if got, err := ParseProtocolHeader(h[:]); got != id || err != nil {
			t.Errorf("%v: %v, %v", id, got, err)
		}
		for n := range h {
			if _, err := ParseProtocolHeader(h[:n]); err == nil {
				t.Errorf("%v: no error for %d bytes", id, n)
			}
		}
	}
	for _, s := range []string{"AMQP\x00\x00\x09\x01", "AMQP\x01\x01\x00\x00", "AMQP\x00\x01\x00\x01", "AMQP\x00\x02\x00\x00",
		"GET / HT", "\x16\x03\x01\x02\x00\x01\x00\x01", "amqp\x00\x01\x00\x00", "AMQP\x03\x01\x01\x00"} {
		if id, err := ParseProtocolHeader([]byte(s)); err == nil {
			t.Errorf("%q: %v without error", s, id)
		}
	}
}

// frameBodies splits a captured stream into the bodies of its frames.
func frameBodies(t testing.TB, path string) (bodies [][]byte) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		if bytes.HasPrefix(b, []byte("AMQP")) {
			if _, err := ParseProtocolHeader(b); err != nil {
				t.Fatal(err)
			}
			b = b[ProtocolHeaderSize:]
			continue
		}
		h, err := ParseHeader(b)
		if err != nil || int(h.Size) > len(b) {
			t.Fatalf("%s: %+v, %v", path, h, err)
		}
		bodies = append(bodies, b[h.BodyOffset():h.Size])
		b = b[h.Size:]
	}
	return bodies
}

// testdata/captures are the bytes that two real routers exchanged on loopback, qdrouterd 1.19 and skrouterd: every frame of
// it is decoded, and survives being written by us.
func TestCaptures(t *testing.T) {
	paths, err := filepath.Glob("testdata/captures/*.bin")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		seen := map[Performative]int{}
		for _, body := range frameBodies(t, path) {
			if len(body) == 0 {
				continue
			}
			code, _, err := PeekPerformative(body)
			if err != nil {
				t.Fatal(err)
			}
			seen[code]++
			f, again := newPerformative[code](), newPerformative[code]()
			payload, err := f.Decode(body)
			if err != nil {
				t.Errorf("%s: %v: % x", path, err, body)
				continue
			}
			wire := f.Append(nil)
			// A single capability may come without array, which takes 4 bytes less.
			if len(wire) > len(body)-len(payload)+8 {
				t.Errorf("%s: %d bytes were %d: %s", path, len(wire), len(body)-len(payload), Format(0, body))
			}
			if _, err := again.Decode(wire); err != nil {
				t.Errorf("%s: % x: %v", path, wire, err)
			}
			if diff := cmp.Diff(f, again); diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", path, code, diff)
			}
		}
		t.Logf("%s: %v", filepath.Base(path), seen)
	}
}

// The messages in them are scanned and decoded whole, and come out as they were, but for wider encodings than ours.
func TestCapturedMessages(t *testing.T) {
	for _, name := range []string{"interior-pair.A-to-B", "interior-pair.B-to-A", "edge-uplink.A-to-E", "edge-uplink.E-to-A"} {
		n := 0
		for _, body := range frameBodies(t, "testdata/captures/"+name+".bin") {
			var f Transfer
			payload, err := f.Decode(body)
			if err != nil || f.More || !f.HasDeliveryID || len(payload) == 0 {
				continue
			}
			n++
			e, err := messaging.Scan(payload, messaging.SectionProperties)
			if err != nil {
				t.Errorf("%s: % x: %v", name, payload, err)
				continue
			}
			m, err := messaging.DecodeMessage(payload)
			if err != nil {
				t.Errorf("%s: % x: %v", name, payload, err)
				continue
			}
			if (e.Header.Len() > 0) != (m.Header != nil) || (e.Properties.Len() > 0) != (m.Properties != nil) ||
				(e.MessageAnnotations.Len() > 0) != (m.MessageAnnotations != nil) {
				t.Errorf("%s: Scan %+v, DecodeMessage %+v", name, e, m)
			}
			if e.Properties.Len() > 0 {
				to, ok, err := messaging.PropertiesTo(e.Properties.Of(payload))
				if err != nil || ok != m.Properties.HasTo || string(to) != m.Properties.To {
					t.Errorf("%s: to %q, %v, %v, want %q", name, to, ok, err, m.Properties.To)
				}
			}
			wire, err := m.Append(nil)
			if err != nil || len(wire) > len(payload) {
				t.Errorf("%s: %d bytes became %d, %v", name, len(payload), len(wire), err)
			}
			if again, err := messaging.DecodeMessage(wire); err != nil || !cmp.Equal(m, again) {
				t.Errorf("%s: %v\n%s", name, err, cmp.Diff(m, again))
			}
		}
		if n == 0 {
			t.Errorf("%s: no message", name)
		}
	}
}

func TestFormat(t *testing.T) {
	for want, body := range map[string]string{
		"[7] heartbeat": "",
		`[7] malformed: "amqp:decode-error: performative: at offset 0: described value expected, found null"`: "40",
		`[7] malformed: "amqp:decode-error: performative: unknown descriptor 0x19"`:                           "00 53 19 45",
		`[7] detach malformed: "amqp:decode-error: detach.handle: mandatory field is missing"`:                "00 53 16 45",
		`[7] transfer handle=1 payload=2`: "00 53 14 c0 03 01 52 01 ff ff",
		`[7] open container-id="" properties={a=array(3 of 0x40) b=0x0102 c=@x(array[1 2])}`: "00 53 10 c0 2d 0a a1 00 40 40 40 40 40 40 40 40" +
			"c1 1f 06 a3 01 61 e0 02 03 40 a3 01 62 a0 02 01 02 a3 01 63 00 a3 01 78 e0 04 02 50 01 02",
	} {
		b := hx(body)
		if strings.HasPrefix(body, "00 53 10") {
			b[4] = byte(len(b) - 5)
			b[17] = byte(len(b) - 18)
		}
		if got := Format(7, b); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	long := (&Open{ContainerID: strings.Repeat("\xc3\xbc", 100000)}).Append(nil)
	if got := Format(1, long); len(got) > maxFormat+3 {
		t.Errorf("a line of %d bytes", len(got))
	}
}
