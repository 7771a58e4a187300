package frames

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sluice/amqp"
	"sluice/amqp/encoding"
)

// §2.3.1: size, data offset; any type is passed on, and an extended header is skipped.
func TestBC81_FrameHeaders(t *testing.T) {
	tests := []struct {
		wire string
		want Header
		err  string
	}{
		{"00 00 00 08 02 00 00 00", Header{Size: 8, DataOffset: 2}, ""},
		{"00 00 02 00 02 01 ab cd", Header{Size: 512, DataOffset: 2, Type: TypeSASL, Channel: 0xabcd}, ""},
		{"00 00 00 10 04 00 00 01", Header{Size: 16, DataOffset: 4, Channel: 1}, ""},
		{"00 00 03 fc ff 00 00 00", Header{Size: 1020, DataOffset: 255}, ""},
		{"ff ff ff ff 02 00 00 00", Header{Size: 0xffffffff, DataOffset: 2}, ""},
		{"00 00 00 08 02 7f 00 00", Header{Size: 8, DataOffset: 2, Type: 0x7f}, ""},
		{"00 00 00 00 02 00 00 00", Header{DataOffset: 2}, "frame size 0"},
		{"00 00 00 07 02 00 00 00", Header{Size: 7, DataOffset: 2}, "frame size 7"},
		{"00 00 00 08 00 00 00 00", Header{Size: 8}, "data offset 0"},
		{"00 00 00 08 01 00 00 00", Header{Size: 8, DataOffset: 1}, "data offset 1"},
		{"00 00 00 0b 03 00 00 00", Header{Size: 11, DataOffset: 3}, "data offset 3"},
		{"00 00 00 08 ff 00 00 00", Header{Size: 8, DataOffset: 255}, "data offset 255"},
	}
	for _, test := range tests {
		got, err := ParseHeader(hx(test.wire))
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", test.wire, got, test.want)
		}
		checkHeaderError(t, test.wire, err, test.err)
		for n := range 8 {
			_, err := ParseHeader(hx(test.wire)[:n])
			checkHeaderError(t, test.wire, err, "frame header of")
		}
	}
}

func checkHeaderError(t *testing.T, wire string, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("%s: %v", wire, err)
		}
		return
	}
	e, ok := err.(*amqp.Error)
	if !ok || e.Condition != amqp.CondFramingError || !strings.Contains(e.Description, want) {
		t.Errorf("%s: got error %v, want a framing-error with %q", wire, err, want)
	}
}

// malformed are frame bodies that are refused: for whom, how and why.
var malformed = []struct{ name, wire, want string }{
	{"body of null", "40", "performative"},
	{"body of a list", "45", "performative"},
	{"descriptor cut off", "00 53", "performative"},
	{"descriptor of type uint", "00 52 10 45", "performative"},
	{"descriptor 0", "00 44 45", "unknown descriptor 0x0"},
	{"descriptor 0x0f", "00 53 0f 45", "unknown descriptor 0xf"},
	{"descriptor 0x19", "00 53 19 45", "unknown descriptor 0x19"},
	{"descriptor 0x3f", "00 53 3f 45", "unknown descriptor 0x3f"},
	{"descriptor 0x45", "00 53 45 45", "unknown descriptor 0x45"},
	{"descriptor of another domain", "00 80 00 00 00 01 00 00 00 10 45", "unknown descriptor 0x100000010"},
	{"descriptor of a section", "00 53 70 45", "unknown descriptor 0x70"},
	{"symbolic descriptor of nobody", "00 a3 03 78 3a 79 45", `unknown descriptor "x:y"`},
	{"symbolic descriptor of a section", "00 a3 10 616d71703a6865616465723a6c697374 45", "unknown descriptor 0x70"},
	{"open without list", "00 53 10", "open: "},
	{"open of null", "00 53 10 40", "open: at offset 3: list expected, found null"},
	{"open of a map", "00 53 10 c1 01 00", "open: at offset 3: list expected, found map"},
	{"open of an array", "00 53 10 e0 04 01 a1 01 63", "open: at offset 3: list expected, found array"},
	{"open without fields", "00 53 10 45", "open.container-id: mandatory"},
	{"open, size cut off", "00 53 10 c0", "open: "},
	{"open, size beyond the end", "00 53 10 c0 10 01 a1 01 63", "open: "},
	{"open, size without room for the count", "00 53 10 c0 00", "open: "},
	{"open, count above the bytes", "00 53 10 c0 04 09 a1 01 63", "open: "},
	{"open, count below the fields", "00 53 10 c0 05 01 a1 01 63 40", "bytes after the last value"},
	{"open, bytes behind", "00 53 10 c0 04 01 a1 01 63 00", "open: 1 bytes after the performative"},
	{"open, 11 fields", "00 53 10 c0 0e 0b a1 01 63 40 40 40 40 40 40 40 40 40 40", "11 fields, at most 10"},
	{"open.container-id is a symbol", "00 53 10 c0 04 01 a3 01 63", "open.container-id: at offset 6: string expected, found symbol"},
	{"open.container-id is not UTF-8", "00 53 10 c0 04 01 a1 01 ff", "UTF-8"},
	{"open.hostname is a binary", "00 53 10 c0 07 02 a1 01 63 a0 01 63", "open.hostname: at offset 9"},
	{"open.max-frame-size is a ulong", "00 53 10 c0 07 03 a1 01 63 40 53 01", "open.max-frame-size: at offset 10: uint expected, found ulong"},
	{"open.channel-max is a uint", "00 53 10 c0 08 04 a1 01 63 40 40 52 01", "open.channel-max"},
	{"open.idle-time-out is an int", "00 53 10 c0 09 05 a1 01 63 40 40 40 54 01", "open.idle-time-out"},
	{"open.outgoing-locales is a string", "00 53 10 c0 0b 06 a1 01 63 40 40 40 40 a1 01 61", "open.outgoing-locales"},
	{"open.incoming-locales is an array of strings", "00 53 10 c0 0f 07 a1 01 63 40 40 40 40 40 e0 04 01 a1 01 61", "open.incoming-locales"},
	{"open.properties is a list", "00 53 10 c0 0d 0a a1 01 63 40 40 40 40 40 40 40 40 45", "open.properties: at offset 17: map expected, found list"},
	{"open.properties is an odd map", "00 53 10 c0 10 0a a1 01 63 40 40 40 40 40 40 40 40 c1 02 01 40", "odd number"},
	{"begin without fields", "00 53 11 45", "begin.next-outgoing-id: mandatory"},
	{"begin without outgoing-window", "00 53 11 c0 04 03 40 43 43", "begin.outgoing-window: mandatory"},
	{"begin with null incoming-window", "00 53 11 c0 05 04 40 43 40 43", "begin.incoming-window: mandatory"},
	{"begin.remote-channel is a uint", "00 53 11 c0 05 04 43 43 43 43", "begin.remote-channel: at offset 6: ushort expected, found uint"},
	{"begin.handle-max is a ushort", "00 53 11 c0 08 05 40 43 43 43 60 00 01", "begin.handle-max"},
	{"begin, 9 fields", "00 53 11 c0 0a 09 40 43 43 43 40 40 40 40 40", "9 fields, at most 8"},
	{"attach without fields", "00 53 12 45", "attach.name: mandatory"},
	{"attach without role", "00 53 12 c0 05 02 a1 01 6e 43", "attach.role: mandatory"},
	{"attach.handle is an int", "00 53 12 c0 07 03 a1 01 6e 54 01 41", "attach.handle"},
	{"attach.role is a uint", "00 53 12 c0 06 03 a1 01 6e 43 43", "attach.role: at offset 10: boolean expected, found uint"},
	{"attach.role is boolean 2", "00 53 12 c0 07 03 a1 01 6e 43 56 02", "attach.role"},
	{"attach.snd-settle-mode 3", "00 53 12 c0 08 04 a1 01 6e 43 41 50 03", "attach.snd-settle-mode: unknown mode 3"},
	{"attach.rcv-settle-mode 2", "00 53 12 c0 09 05 a1 01 6e 43 41 40 50 02", "attach.rcv-settle-mode: unknown mode 2"},
	{"attach.source is a string", "00 53 12 c0 0b 06 a1 01 6e 43 41 40 40 a1 01 73", "attach.source"},
	{"attach.source is a target", "00 53 12 c0 0c 06 a1 01 6e 43 41 40 40 00 53 29 45", "attach.source"},
	{"attach.source.address is a ulong", "00 53 12 c0 10 06 a1 01 6e 43 41 40 40 00 53 28 c0 03 01 53 01", "source.address: string expected"},
	{"attach.target is a list", "00 53 12 c0 0a 07 a1 01 6e 43 41 40 40 40 45", "attach.target"},
	{"attach.unsettled is a list", "00 53 12 c0 0b 08 a1 01 6e 43 41 40 40 40 40 45", "attach.unsettled"},
	{"attach of a sender without initial-delivery-count", "00 53 12 c0 06 03 a1 01 6e 43 42", "attach.initial-delivery-count: mandatory"},
	{"attach, 15 fields", "00 53 12 c0 12 0f a1 01 6e 43 41 40 40 40 40 40 40 40 40 40 40 40 40", "15 fields, at most 14"},
	{"flow without fields", "00 53 13 45", "flow.incoming-window: mandatory"},
	{"flow without outgoing-window", "00 53 13 c0 04 03 43 43 43", "flow.outgoing-window: mandatory"},
	{"flow.link-credit is a ulong", "00 53 13 c0 08 07 43 43 43 43 43 43 44", "flow.link-credit: at offset 12: uint expected, found ulong"},
	{"flow.drain is null's neighbour", "00 53 13 c0 0a 09 43 43 43 43 43 43 43 43 43", "flow.drain"},
	{"flow.properties is a list", "00 53 13 c0 0c 0b 43 43 43 43 43 43 43 43 41 41 45", "flow.properties"},
	{"flow, 12 fields", "00 53 13 c0 0d 0c 43 43 43 43 43 43 43 43 41 41 40 40", "12 fields, at most 11"},
	{"flow, bytes behind", "00 53 13 c0 05 04 43 43 43 43 40", "flow: 1 bytes after the performative"},
	{"transfer without fields", "00 53 14 45", "transfer.handle: mandatory"},
	{"transfer with null handle", "00 53 14 c0 02 01 40", "transfer.handle: mandatory"},
	{"transfer.delivery-id is a ulong", "00 53 14 c0 03 02 43 44", "transfer.delivery-id"},
	{"transfer.delivery-tag is a string", "00 53 14 c0 05 03 43 43 a1 00", "transfer.delivery-tag"},
	{"transfer.settled is a ubyte", "00 53 14 c0 07 05 43 43 40 40 50 01", "transfer.settled"},
	{"transfer.rcv-settle-mode 2", "00 53 14 c0 09 07 43 40 40 40 40 40 50 02", "transfer.rcv-settle-mode: unknown mode 2"},
	{"transfer.state is a list", "00 53 14 c0 09 08 43 40 40 40 40 40 40 45", "transfer.state"},
	{"transfer.state cut off", "00 53 14 c0 0b 08 43 40 40 40 40 40 40 00 53 24", "transfer.state"},
	{"transfer, count below the fields", "00 53 14 c0 03 01 43 43", "bytes after the last value"},
	{"transfer, 12 fields", "00 53 14 c0 0d 0c 43 40 40 40 40 40 40 40 40 40 40 40", "12 fields, at most 11"},
	{"disposition without fields", "00 53 15 45", "disposition.role: mandatory"},
	{"disposition without first", "00 53 15 c0 02 01 41", "disposition.first: mandatory"},
	{"disposition.role is a ubyte", "00 53 15 c0 04 02 50 01 43", "disposition.role"},
	{"disposition.last is a ulong", "00 53 15 c0 04 03 41 43 44", "disposition.last"},
	{"disposition.state is accepted of a map", "00 53 15 c0 0b 05 41 43 43 41 00 53 24 c1 01 00", "disposition.state"},
	{"disposition, 7 fields", "00 53 15 c0 08 07 41 43 43 41 40 40 40", "7 fields, at most 6"},
	{"detach without fields", "00 53 16 45", "detach.handle: mandatory"},
	{"detach.error is a string", "00 53 16 c0 06 03 43 41 a1 01 78", "detach.error"},
	{"detach.error without condition", "00 53 16 c0 07 03 43 41 00 53 1d 45", "detach.error"},
	{"end.error is a symbol", "00 53 17 c0 04 01 a3 01 78", "end.error"},
	{"end, 2 fields", "00 53 17 c0 03 02 40 40", "2 fields, at most 1"},
	{"close.error of an accepted", "00 53 18 c0 05 01 00 53 24 45", "close.error"},
	{"sasl-mechanisms without fields", "00 53 40 45", "sasl-mechanisms.sasl-server-mechanisms: mandatory"},
	{"sasl-init without mechanism", "00 53 41 45", "sasl-init.mechanism: mandatory"},
	{"sasl-init.mechanism is a string", "00 53 41 c0 04 01 a1 01 58", "sasl-init.mechanism"},
	{"sasl-init.initial-response is a string", "00 53 41 c0 06 02 a3 01 58 a1 00", "sasl-init.initial-response"},
	{"sasl-challenge without fields", "00 53 42 45", "sasl-challenge.challenge: mandatory"},
	{"sasl-response of null", "00 53 43 c0 02 01 40", "sasl-response.response: mandatory"},
	{"sasl-outcome.code is a uint", "00 53 44 c0 03 01 52 00", "sasl-outcome.code"},
	{"sasl-outcome without code", "00 53 44 45", "sasl-outcome.code: mandatory"},
}

func TestBC81_Malformed(t *testing.T) {
	if len(malformed) < 60 {
		t.Errorf("only %d entries", len(malformed))
	}
	for _, m := range malformed {
		t.Run(m.name, func(t *testing.T) {
			body := hx(m.wire)
			code, _, err := PeekPerformative(body)
			if err == nil {
				_, err = newPerformative[code]().Decode(body)
			}
			e, ok := err.(*amqp.Error)
			if !ok || !strings.Contains(e.Description, m.want) {
				t.Fatalf("got error %v, want %q", err, m.want)
			}
			want := amqp.CondDecodeError
			if strings.Contains(m.want, "unknown mode") || strings.Contains(m.want, "address") {
				want = amqp.CondInvalidField
			}
			if e.Condition != want {
				t.Errorf("got condition %s, want %s", e.Condition, want)
			}
			if line := Format(0, body); !strings.Contains(line, "malformed") {
				t.Errorf("Format: %s", line)
			}
		})
	}
}

// A body of one performative is refused by all others.
func TestBC81_OtherPerformative(t *testing.T) {
	for _, v := range vectors {
		body := hx(v.wire)
		code, _, _ := PeekPerformative(body)
		for other, f := range newPerformative {
			if other == code {
				continue
			}
			_, err := f().Decode(body)
			checkDecodeError(t, err)
		}
	}
}

// §2.8.7: "up to 32 octets of binary data".
func TestBC69_DeliveryTags(t *testing.T) {
	for _, n := range []int{0, 1, 4, 31, 32, 33, 255, 256, 300} {
		for _, wide := range []bool{false, true} {
			tag := bytes.Repeat([]byte{0xab}, n)
			b := encoding.AppendDescriptor(nil, encoding.DescTransfer)
			b, m := encoding.BeginList(b)
			b = encoding.AppendUint(encoding.AppendUint(b, 1), 2)
			if wide {
				b = append(append(b, 0xb0, 0, 0, byte(n>>8), byte(n)), tag...)
			} else {
				b = encoding.AppendBinary(b, tag)
			}
			b = append(encoding.EndList(b, m, 3), "payload"...)
			var f Transfer
			payload, err := f.Decode(b)
			if n > 32 {
				checkDecodeError(t, err)
				if err != nil && !strings.Contains(err.Error(), "transfer.delivery-tag") {
					t.Errorf("%d bytes: %v", n, err)
				}
				continue
			}
			if err != nil || !f.HasDeliveryTag || !bytes.Equal(f.DeliveryTag, tag) || string(payload) != "payload" {
				t.Errorf("%d bytes: %+v, %v", n, f, err)
			}
		}
	}
	// A continuation frame may leave it out.
	var f Transfer
	if _, err := f.Decode(hx("00 53 14 c0 02 01 43")); err != nil || f.HasDeliveryTag || f.DeliveryTag != nil {
		t.Errorf("no tag: %+v, %v", f, err)
	}
}

// A small frame costs little whatever it claims, before authentication too.
func TestBC83_Bombs(t *testing.T) {
	const most = 4 << 10 // bytes: the error and its text
	bombs := []string{
		"f0 00 00 00 05 80 00 00 00 40", // array of 2^31 null
		"f0 00 00 00 05 80 00 00 00 43",
		"f0 00 00 00 05 80 00 00 00 45",
		"f0 00 00 00 05 00 00 ff ff a3", // array of 65,535 symbols
		"f0 00 00 00 06 7f ff ff ff a3 00",
		"d0 00 00 00 05 ff ff ff ff 40",
		"d1 00 00 00 05 ff ff ff fe 40",
		"b0 ff ff ff ff 00",
		"b1 7f ff ff ff 00",
		"b3 7f ff ff ff 00",
		strings.Repeat("00", 200),
		strings.Repeat("c0 ff 01", 60),
	}
	for code, f := range newPerformative {
		fields := mostFields(t, code)
		for _, bomb := range bombs {
			for at := range fields {
				// The bomb takes the place of each field, among nulls and among the mandatory values of a good frame.
				for _, v := range vectors {
					body := hx(v.wire)
					if c, _, _ := PeekPerformative(body); c != code {
						continue
					}
					b := replaceField(t, body, at, hx(bomb))
					if got := testing.AllocsPerRun(1, func() { _, _ = f().Decode(b) }); got > 200 {
						t.Errorf("%v, field %d, %s: %v allocations", code, at, bomb, got)
					}
					if got := allocated(func() { _, _ = f().Decode(b) }); got > most {
						t.Errorf("%v, field %d, %s: %d bytes allocated, at most %d", code, at, bomb, got, most)
					}
				}
			}
		}
	}
}

// replaceField returns body with the encoded field number at replaced; missing fields before it become null.
func replaceField(t *testing.T, body []byte, at int, value []byte) []byte {
	t.Helper()
	d := encoding.NewDecoder(body[3:])
	count, fields, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	b, m := encoding.BeginList(bytes.Clone(body[:3]))
	n := max(count, at+1)
	for i := range n {
		field := []byte{0x40}
		if i < count {
			if field, err = fields.Raw(); err != nil {
				t.Fatal(err)
			}
		}
		if i == at {
			field = value
		}
		b = append(b, field...)
	}
	return encoding.EndList(b, m, n)
}

func TestMandatoryFields(t *testing.T) {
	mandatory := map[Performative][]int{
		PerformativeOpen: {0}, PerformativeBegin: {1, 2, 3}, PerformativeAttach: {0, 1, 2}, PerformativeFlow: {1, 2, 3},
		PerformativeTransfer: {0}, PerformativeDisposition: {0, 1}, PerformativeDetach: {0}, PerformativeSASLMechanisms: {0},
		PerformativeSASLInit: {0}, PerformativeSASLChallenge: {0}, PerformativeSASLResponse: {0}, PerformativeSASLOutcome: {0},
	}
	for _, v := range vectors {
		body := hx(v.wire)
		code, _, _ := PeekPerformative(body)
		for i := range mostFields(t, code) {
			must := fmt.Sprint(mandatory[code])
			_, err := newPerformative[code]().Decode(replaceField(t, body, i, []byte{0x40}))
			isMandatory := strings.Contains(" "+strings.Trim(must, "[]")+" ", fmt.Sprintf(" %d ", i))
			if a, ok := v.frame.(*Attach); ok && i == 9 && a.Role == amqp.RoleSender {
				isMandatory = true // §2.7.3: initial-delivery-count
			}
			if (err != nil) != isMandatory {
				t.Errorf("%s without field %d: %v", v.name, i, err)
			}
		}
	}
}
