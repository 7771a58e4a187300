package e2e

import (
	"fmt"
	"math/rand"
	"testing"
	"testing/synctest"

	. "sluice/amqp/amqptest"
	"sluice/amqp/frames"
	"sluice/tests/harness/bubble"
)

// takeEdge lets an interior router have anything from an edge router, while two
// clients go about their business.
func takeEdge(t *testing.T, data []byte) {
	r := bubble.New(t, bubble.Options{})
	in, out := r.Receiver("in", "up.q", 10), r.Sender("out", "up.q")
	p := r.DialEdge()
	p.Handshake(Open("E"))
	feed(p, data)
	if n := r.Collect(); n > 3 {
		t.Errorf("%d connections", n)
	}
	in.All("")
	out.All("")
}

// takeUplink lets an edge router have anything from an interior one.
func takeUplink(t *testing.T, data []byte) {
	u := newUplinked(t, "qd.streaming-links")
	in, out := u.Receiver("in", "ed.q", 10), u.Connect("out")
	out.Attach(Sending("out", 0, "up.q"))
	feed(u.p, data)
	in.All("")
	out.All("")
}

func feed(p *Peer, data []byte) {
	for len(data) > 0 {
		n := min(len(data), 64)
		if _, err := p.End.Write(data[:n]); err != nil {
			break
		}
		data = data[n:]
		p.All("") // the frames that are answered must be frames
	}
	wait(60)
	p.All("")
	p.End.Close()
	synctest.Wait()
}

// recorded are the frames of one direction of the recorded uplink, after its open.
func recorded(t testing.TB, name string, from int) (parts [][]byte) {
	for _, f := range captured(t, name, from, 1<<20) {
		parts = append(parts, f.raw)
	}
	return parts
}

func joined(parts [][]byte) (b []byte) {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

var edgeSides = []struct {
	name    string
	capture string
	from    int
	take    func(*testing.T, []byte)
}{
	{"interior", "E-to-A", 301, takeEdge},
	{"edge", "A-to-E", 352, takeUplink},
}

// No bytes on a connection of role edge make either end panic, hang, or keep
// anything.
func FuzzEdge(f *testing.F) {
	for i, side := range edgeSides {
		parts := recorded(f, side.capture, side.from)
		f.Add(i == 1, joined(parts))
		f.Add(i == 1, joined(parts[:len(parts)/2]))
		f.Add(i == 1, joined(parts[8:]))
	}
	f.Fuzz(func(t *testing.T, edge bool, data []byte) {
		side := edgeSides[0]
		if edge {
			side = edgeSides[1]
		}
		if len(data) > 1<<14 {
			return
		}
		synctest.Test(t, func(t *testing.T) { side.take(t, data) })
	})
}

// The same for recorded frames with bytes changed, left out, twice or in another
// order.
func TestEdge_TakesBrokenConversations(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 20
	}
	rnd := rand.New(rand.NewSource(1))
	for _, side := range edgeSides {
		parts := recorded(t, side.capture, side.from)
		for round := range rounds {
			var data []byte
			for range 10 + rnd.Intn(2*len(parts)) {
				p := append([]byte(nil), parts[rnd.Intn(len(parts))]...)
				if rnd.Intn(2) == 0 && len(p) > frames.HeaderSize {
					p[frames.HeaderSize+rnd.Intn(len(p)-frames.HeaderSize)] = byte(rnd.Intn(256))
				}
				data = append(data, p...)
			}
			if round%2 == 0 {
				data = append(joined(parts[:rnd.Intn(len(parts))]), data...)
			}
			t.Run(fmt.Sprint(side.name, round), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { side.take(t, data) })
			})
		}
	}
}
