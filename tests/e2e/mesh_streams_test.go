package e2e

import (
	"fmt"
	"testing"
	"testing/synctest"

	. "sluice/amqp/amqptest"
	"sluice/tests/harness/bubble"
)

// Streams to a receiver that takes nothing wait where they came in, beyond a
// bounded number, and arrive when it takes them.
func TestMesh_StreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := bubble.NewMesh(t, bubble.Options{}, "A", "B").Line()
		in := m.Router("B").Receiver("in", "q", 0)
		m.Soon()
		const senders, size, frame = 24, 200_000, 16000
		for i := range senders {
			out := m.Router("A").Sender(fmt.Sprint("out", i), "q")
			out.Stream(Settled(0, 0), Message(make([]byte, size)), frame)
		}
		all, idle := m.Router("A").Network.Status().Neighbors[0].Trunks[0].Way().Streams()
		if n := all - idle; n < 2 || n > 16 {
			t.Errorf("%d streams are under way", n)
		}
		in.Write(Flow(0, 0, 1000))
		for range senders {
			if _, b, _ := in.Message("each arrives"); len(b) < size {
				t.Fatalf("a message of %d bytes", len(b))
			}
		}
		m.Idle()
	})
}
