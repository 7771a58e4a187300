package uplink

import (
	"bytes"
	"testing"
)

// The message of the recorded uplink: a list32 where this router writes list8.
var recorded = []byte("\x00Sp\xd0\x00\x00\x00\x05\x00\x00\x00\x01B\x00Sr\xc18\x04\xa3\x10x-opt-qd.ingress\xa1\x070/QDR.A\xa3\x0ex-opt-qd.trace\xc0\n\x01\xa1\x070/QDR.A\x00Sw\xd0\x00\x00\x00\r\x00\x00\x00\x02\xa1\x06M0up.qA")

func TestTracked(t *testing.T) {
	for name, b := range map[string][]byte{"recorded": recorded, "own": AppendTracked(nil, "M0up.q", true)} {
		key, has, err := DecodeTracked(b)
		if err != nil || key != "M0up.q" || !has {
			t.Errorf("%s: %q, %v, %v", name, key, has, err)
		}
		for n := range len(b) {
			if _, _, err := DecodeTracked(b[:n]); err == nil {
				t.Errorf("%s: %d bytes of %d are read", name, n, len(b))
			}
		}
	}
}

// Whatever is read can be written and is then the same.
func FuzzDecodeTracked(f *testing.F) {
	f.Add(recorded)
	f.Add(AppendTracked(nil, "M0q", false))
	f.Add([]byte("\x00Sw\xc0\x01\x00"))
	f.Add([]byte("\x00Sw@"))
	f.Fuzz(func(t *testing.T, b []byte) {
		key, has, err := DecodeTracked(b)
		if err != nil {
			return
		}
		k, h, err := DecodeTracked(AppendTracked(nil, key, has))
		if err != nil || k != key || h != has {
			t.Fatalf("%q, %v has become %q, %v: %v", key, has, k, h, err)
		}
	})
}

func TestAttachOf(t *testing.T) {
	a, b := AttachOf(true, "x", ""), AttachOf(true, "x", "")
	if a.Name == b.Name || len(a.Name) != len("qdlink.")+15 {
		t.Errorf("names %q and %q", a.Name, b.Name)
	}
	if bytes.Contains(a.Append(nil), []byte("capabilities")) {
		t.Error("a capability that was not asked for")
	}
}
