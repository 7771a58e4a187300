package mesh

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"sluice/amqp/frames"
)

// capturePath finds a recorded byte stream; those that the codec's tests need, too, are kept there.
func capturePath(name string) string {
	own := filepath.Join("testdata", "captures", name)
	if _, err := os.Stat(own); err == nil {
		return own
	}
	return filepath.Join("..", "..", "..", "amqp", "frames", "testdata", "captures", name)
}

// controlMessages returns the messages on the control session of a recorded byte stream, in order.
func controlMessages(t testing.TB, name string) [][]byte {
	t.Helper()
	b, err := os.ReadFile(capturePath(name))
	if err != nil {
		t.Fatal(err)
	}
	var list [][]byte
	for len(b) > 0 {
		if bytes.HasPrefix(b, []byte("AMQP")) {
			b = b[8:]
			continue
		}
		h, err := frames.ParseHeader(b)
		if err != nil {
			t.Fatal(err)
		}
		frame := b[:h.Size]
		b = b[h.Size:]
		body := frame[h.BodyOffset():]
		if h.Type != frames.TypeAMQP || h.Channel != 0 || !bytes.HasPrefix(body, []byte{0, 0x53, 0x14}) {
			continue
		}
		var transfer frames.Transfer
		payload, err := transfer.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		if transfer.More {
			t.Fatalf("%s: a control message in parts", name)
		}
		list = append(list, payload)
	}
	return list
}

// Streams of the first implementation, by the number of messages of each kind on the control session.
var captured = []struct {
	name  string
	count int
}{
	{"interior-pair.A-to-B.bin", 30}, {"interior-pair.B-to-A.bin", 30},
	{"interior-line.B-to-C.bin", 15}, {"interior-line.C-to-B.bin", 15},
}

// What the first implementation sends, this package reads, and writes byte for byte the same.
func TestMessagesOfTheCaptures(t *testing.T) {
	kinds := map[string]int{}
	for _, c := range captured {
		list := controlMessages(t, c.name)
		if len(list) < c.count {
			t.Errorf("%s: only %d messages were found", c.name, len(list))
		}
		for i, b := range list {
			m, err := Decode(b)
			if err != nil || m.Problem != nil {
				t.Fatalf("%s, message %d: %v, %v", c.name, i, err, m.Problem)
			}
			if got := m.Append(nil); !bytes.Equal(got, b) {
				t.Errorf("%s, message %d, passed on as it came:\n got %x\nwant %x", c.name, i, got, b)
			}
			if got := composed(m).Append(nil); !bytes.Equal(got, b) {
				t.Errorf("%s, message %d, %T composed:\n got %x\nwant %x", c.name, i, m.Body, got, b)
			}
			kind := string(m.Body.Opcode())
			if u, ok := m.Body.(*MAU); ok && u.Absolute {
				kind += " absolute"
			}
			kinds[kind]++
		}
	}
	for _, kind := range []string{"HELLO", "RA", "LSR", "LSU", "MAR", "MAU", "MAU absolute"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s in the captures: %v", kind, kinds)
		}
	}
}

// composed returns m without what it keeps of the bytes it came as.
func composed(m *Message) *Message {
	return &Message{To: m.To, Ingress: m.Ingress, Trace: m.Trace, Body: m.Body}
}

// The fork's annotations are a section in front of the header.
func TestAnnotationsVersion2(t *testing.T) {
	for _, name := range []string{"skrouterd-pair.SA-to-SB.bin", "qdrouterd-skrouterd.S-to-A.bin"} {
		list := controlMessages(t, name)
		if len(list) == 0 {
			t.Errorf("%s: no messages", name)
		}
		for i, b := range list {
			if _, err := Decode(b); err != ErrAnnotationsVersion2 {
				t.Errorf("%s, message %d: %v", name, i, err)
			}
		}
	}
}
