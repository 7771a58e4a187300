package mesh

import (
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// Two connections between the same two routers are one neighbour: both carry
// messages, nothing flaps, and the loss of one costs no accepted message and
// hardly any time.
func TestParallelConnections(t *testing.T) {
	p := distributed(harness.Plan{Nodes: harness.Interior(2), Proxied: true, Trunks: []harness.Trunk{
		{From: "B", To: "A", Name: "one"}, {From: "B", To: "A", Name: "two"},
	}})
	m := start(t, p)
	var loads []*load
	for _, address := range []string{"balanced/1", "balanced/2", "balanced/3", "balanced/4", "closest/1", "multicast/1"} {
		loads = append(loads, newLoad(t, m, address, "B"))
	}
	_, one := m.Proxy("one").Bytes()
	_, two := m.Proxy("two").Bytes()
	messages := routing(m)
	time.Sleep(2 * time.Second)
	_, oneNow := m.Proxy("one").Bytes()
	_, twoNow := m.Proxy("two").Bytes()
	one, two = oneNow-one, twoNow-two
	messages = routing(m) - messages
	report(t, "two connections carry %s and %s to B in 2 s; %v routing messages at both ends", mib(one), mib(two), messages)
	if min(one, two) < max(one, two)/20 {
		t.Errorf("%d and %d bytes", one, two)
	}
	if messages > 60 {
		t.Errorf("%v routing messages in 2 s: it flaps", messages)
	}
	for _, l := range loads {
		l.mark()
	}
	m.Proxy("one").Refuse()
	m.Proxy("one").Reset()
	time.Sleep(time.Second)
	for _, l := range loads {
		l.gone(t, "one of two cut", time.Second, 200*time.Millisecond)
	}
	if n := m.Router("A").Neighbours()["B"]; n != 1 {
		t.Errorf("%d connections are left", n)
	}
	m.Proxy("one").Heal()
	m.WaitNeighbour("A", "B", 2)
	for _, l := range loads {
		l.account(t, "one of two cut")
	}
	once(t, m, 500)
}

// routing is how many routing messages all routers have sent.
func routing(m *harness.Mesh) (sum float64) {
	for _, name := range m.Names() {
		for id := range m.Router(name).Neighbours() {
			sum += m.Router(name).Metric(`sluice_mesh_neighbor_routing_messages_total{direction="out",router="` + id + `"}`)
		}
	}
	return sum
}

// Streams go on over the connection that is left.
func TestParallelConnections_Streams(t *testing.T) {
	p := harness.Plan{Nodes: harness.Interior(2), Proxied: true, Trunks: []harness.Trunk{
		{From: "B", To: "A", Name: "one"}, {From: "B", To: "A", Name: "two"},
	}}
	m := start(t, p)
	l := &raw.Ledger{}
	in := receiver(t, session(t, m.Addr("B")), "q", raw.ReceiverOptions{Credit: 10, Frame: l.Frame})
	out := sender(t, session(t, m.Addr("A")), "q", raw.SenderOptions{})
	noise := raw.NewNoise(1)
	for range 4 {
		must(t, out.Stream(2<<20, noise, false))
	}
	must(t, in.WaitMessages(4))
	must(t, out.WaitSettled(4)) // or an outcome might be lost with the connection
	m.Proxy("two").Refuse()
	m.Proxy("two").Reset()
	m.WaitNeighbour("A", "B", 1)
	for range 4 {
		must(t, out.Stream(2<<20, noise, false))
	}
	must(t, in.WaitMessages(8))
	must(t, out.WaitSettled(8))
	if sum, n := l.Sum(); sum != noise.Sum() || n != 16<<20 || out.Result().Accepted != 8 {
		t.Errorf("%d bytes, %+v", n, out.Result())
	}
}
