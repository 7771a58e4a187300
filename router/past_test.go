package router

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/amqp/driver"
	"sluice/router/admission"
	"sluice/router/trunk"
)

// ended returns a connection that has ended and carried n messages each way.
func ended(container string, n uint64) *connection {
	c := &connection{role: "normal", opened: true, handler: &admission.Connection{Container: container, User: "u"}, driver: new(driver.Driver)}
	c.handler.In.Deliveries.Add(n)
	c.handler.Out.Deliveries.Add(n)
	return c
}

// What has ended counts, also when its peer is not known any more.
func TestPastIsBoundedAndComplete(t *testing.T) {
	var p past
	now := time.Unix(0, 0)
	const n = 3 * pastPeers
	for i := range n {
		now = now.Add(time.Millisecond)
		p.end(ended(fmt.Sprint(strings.Repeat("x", i%2*2*maxName), i), 2), now)
		if len(p.peers) > pastPeers {
			t.Fatalf("%d peers are known", len(p.peers))
		}
	}
	if p.all.DeliveriesIn != 2*n || p.classes[0].in.Deliveries != 2*n || p.classes[0].out.Deliveries != 2*n {
		t.Errorf("%d messages are counted of %d", p.all.DeliveriesIn, 2*n)
	}
	for key := range p.peers {
		if len(key.container) > maxName {
			t.Fatalf("a name has %d bytes", len(key.container))
		}
	}
	p.expire(now.Add(pastTime+time.Second), func(peerKey) bool { return true })
	if n := len(p.peers); n < pastPeers/2-1 {
		t.Errorf("%d peers are known of %d that are there", n, pastPeers)
	}
	p.expire(now.Add(pastTime+time.Second), func(peerKey) bool { return false })
	if len(p.peers) != 0 {
		t.Errorf("%d peers are known for ever", len(p.peers))
	}
}

// So does what connections to a neighbour have carried.
func TestPastNeighbors(t *testing.T) {
	var p past
	for i := range pastNeighbors + 10 {
		for range 2 {
			c := ended(fmt.Sprint("R", i), 3)
			c.trunk = new(trunk.Trunk)
			p.end(c, time.Now())
		}
	}
	if n := p.neighbors["R7"]; n.in.Deliveries != 6 || len(p.neighbors) != pastNeighbors {
		t.Errorf("%+v, %d neighbours", n, len(p.neighbors))
	}
}
