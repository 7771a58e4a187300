package frames

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func seed(f *testing.F) {
	for _, v := range vectors {
		f.Add(hx(v.wire))
	}
	for _, m := range malformed {
		f.Add(hx(m.wire))
	}
	paths, _ := filepath.Glob("testdata/captures/edge-uplink*.bin")
	for _, path := range paths {
		for _, body := range frameBodies(f, path) {
			f.Add(body)
		}
	}
}

// FuzzPerformatives: what is decoded survives being written and read again, and is never longer than it was.
func FuzzPerformatives(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		code, at, err := PeekPerformative(body)
		if err != nil {
			return
		}
		if at < 3 || at > len(body) {
			t.Fatalf("fields at %d of %d", at, len(body))
		}
		first, again := newPerformative[code](), newPerformative[code]()
		payload, err := first.Decode(body)
		if err != nil {
			return
		}
		if !bytes.HasSuffix(body, payload) {
			t.Fatalf("payload of %d bytes is not the end of the body", len(payload))
		}
		wire := first.Append(nil)
		if rest, err := again.Decode(wire); err != nil || len(rest) != 0 {
			t.Fatalf("% x: %v, %d left", wire, err, len(rest))
		}
		if a, ok := first.(*Attach); ok {
			a.Target.Unknown = false // it is not kept
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("(-first +again):\n%s", diff)
		}
		if second := again.Append(nil); !bytes.Equal(wire, second) {
			t.Fatalf("% x, then % x", wire, second)
		}
		if tr, ok := first.(*Transfer); ok && HeaderSize+len(wire) > TransferOverhead(tr) {
			t.Fatalf("%d bytes, TransferOverhead says %d", HeaderSize+len(wire), TransferOverhead(tr))
		}
		// A symbol alone becomes an array, an array without constructor gets one. Nothing else grows, and there are few of these.
		if grow := 24; len(wire) > len(body)-len(payload)+grow {
			t.Fatalf("%d bytes became %d", len(body)-len(payload), len(wire))
		}
	})
}

// FuzzFastDecode: wherever the fast decoders succeed, the slow ones find the same.
func FuzzFastDecode(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		var fast, slow Transfer
		if payload, ok := fast.decodeFast(body); ok {
			want, err := slow.decodeSlow(body)
			if err != nil || !bytes.Equal(payload, want) {
				t.Fatalf("payload of %d bytes, slow: %d, %v", len(payload), len(want), err)
			}
			if diff := cmp.Diff(slow, fast); diff != "" {
				t.Fatalf("(-slow +fast):\n%s", diff)
			}
		}
		var fastDisposition, slowDisposition Disposition
		if fastDisposition.decodeFast(body) {
			if _, err := slowDisposition.decodeSlow(body); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(slowDisposition, fastDisposition); diff != "" {
				t.Fatalf("(-slow +fast):\n%s", diff)
			}
		}
		var fastFlow, slowFlow Flow
		if fastFlow.decodeFast(body) {
			if _, err := slowFlow.decodeSlow(body); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(slowFlow, fastFlow); diff != "" {
				t.Fatalf("(-slow +fast):\n%s", diff)
			}
		}
	})
}

// FuzzParseHeader: a header that is accepted lies within its frame, and is what appendHeader writes but for the extension.
func FuzzParseHeader(f *testing.F) {
	f.Add(hx("00 00 00 08 02 00 00 00"))
	f.Add(hx("00 00 00 07 01 01 ff ff"))
	f.Add(hx("ff ff ff ff ff 00 00 00"))
	f.Add([]byte("AMQP\x00\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if id, err := ParseProtocolHeader(b); err == nil {
			if h := ProtocolHeader(id); !bytes.HasPrefix(b, h[:]) {
				t.Fatalf("% x is taken for %v", b, id)
			}
		}
		h, err := ParseHeader(b)
		if err != nil {
			return
		}
		if h.Size < HeaderSize || h.BodyOffset() < HeaderSize || uint64(h.BodyOffset()) > uint64(h.Size) {
			t.Fatalf("%+v", h)
		}
		want := appendHeader(nil, int(h.Size), h.Type, h.Channel)
		want[4] = h.DataOffset
		if !bytes.Equal(b[:8], want) {
			t.Fatalf("% x became % x", b[:8], want)
		}
	})
}

// FuzzFormat: one printable line of bounded length, without the secrets of SASL.
func FuzzFormat(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		line := Format(1, body)
		if !strings.HasPrefix(line, "[1] ") || len(line) > maxFormat+3 {
			t.Fatalf("%d bytes: %.100q", len(line), line)
		}
		if i := strings.IndexFunc(line, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("not printable at %d: %q", i, line)
		}
	})
}
