package raw

import (
	"testing"

	"sluice/amqp/messaging"
)

// A numbered message keeps its number behind any sections, and in its last
// frame.
func TestNumbered(t *testing.T) {
	m := Numbered(&messaging.Message{Header: &messaging.Header{Durable: true}}, 100, 7)
	if Number(m) != 7 || Number(m[len(m)-8:]) != 7 {
		t.Errorf("number %d", Number(m))
	}
	Renumber(m, 8)
	if d, err := messaging.DecodeMessage(m); err != nil || len(d.Data) != 1 || len(d.Data[0]) != 100 || Number(m) != 8 {
		t.Errorf("%v, %v", d, err)
	}
	if Number([]byte{1}) != 1<<64-1 {
		t.Error("a payload without a number has one")
	}
}

func TestLedger_CountsAndMisses(t *testing.T) {
	var a, b Ledger
	for n := range uint64(5) {
		a.Note(n)
	}
	for _, n := range []uint64{0, 1, 1, 4} {
		b.Frame(&Frame{First: true, Last: true, Payload: Numbered(nil, 8, n)})
	}
	if n, again := b.Len(); n != 3 || again != 1 {
		t.Errorf("%d different, %d again", n, again)
	}
	if missing := a.Missing(&b); len(missing) != 2 || b.Count(1) != 2 {
		t.Errorf("missing %v", missing)
	}
}

// The checksum of a body is that of the noise it was made of, whatever the
// frames.
func TestLedger_SumOfFrames(t *testing.T) {
	n, check := NewNoise(3), NewNoise(3)
	body := make([]byte, 1000)
	n.Read(body)
	var l Ledger
	m := Data(body)
	l.Frame(&Frame{First: true, Payload: m[:300]})
	l.Frame(&Frame{Last: true, Payload: m[300:]})
	check.Read(make([]byte, 400))
	check.Read(make([]byte, 600))
	if sum, bytes := l.Sum(); sum != check.Sum() || bytes != 1000 {
		t.Errorf("%x of %d bytes, want %x", sum, bytes, check.Sum())
	}
}
