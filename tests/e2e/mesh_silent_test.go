package e2e

import (
	"testing"
	"testing/synctest"
	"time"

	. "sluice/amqp/amqptest"
	"sluice/tests/harness/bubble"
)

// A router that says nothing any more costs those who send through it no more
// than the time after which a neighbour is given up.
func TestMesh_SilentRouter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := bubble.NewMesh(t, bubble.Options{}, "A", "B", "C", "D")
		m.Join("A", "B", 1)
		m.Join("B", "D", 1)
		m.Join("A", "C", 5)
		m.Join("C", "D", 5)
		m.Settle()
		in := m.Router("D").Receiver("in", "q", 1000)
		m.Soon()
		out := m.Router("A").Sender("out", "q")
		m.Freeze("B")
		out.Write(With(Transfer(0, 0), Text("0"))) // on its way to B when that is given up
		time.Sleep(4 * time.Second)
		synctest.Wait()
		out.Until("", "disposition first=0 settled state=modified[true]")
		out.Write(With(Transfer(0, 1), Text("1")))
		time.Sleep(time.Second)
		in.Until("the other way", "transfer delivery-id=0")
		in.Write(Accept(0))
		out.Until("", "disposition first=1 settled state=accepted")
	})
}
