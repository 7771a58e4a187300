package mesh

import (
	"testing"
	"time"
)

// A neighbour that is late with its HELLO is one as long as other things come
// from it, but not for ever.
func TestBusyNeighbour(t *testing.T) {
	now := time.Unix(1000, 0)
	e, err := New(Config{ID: "A", Instance: 1}, now)
	if err != nil {
		t.Fatal(err)
	}
	neighbours := 0
	look := func() {
		for _, o := range e.Ready() {
			if r, ok := o.(*Routes); ok {
				neighbours = len(r.Neighbors)
			}
		}
	}
	e.Step(now, LinkUp{Link: 1, Cost: 1})
	e.Step(now, Received{Link: 1, Message: NewMessage("B", helloAddress, &Hello{ID: "B", Instance: 7, Seen: []string{"A"}})})
	until := time.Duration(0)
	for at := time.Duration(0); at < 30*time.Second; at += 250 * time.Millisecond {
		if at%time.Second == 0 {
			e.Step(now.Add(at), Alive{Link: 1})
		}
		e.Tick(now.Add(at))
		if look(); neighbours == 1 {
			until = at
		}
	}
	if until < 11*time.Second || until > 16*time.Second {
		t.Errorf("it was a neighbour for %v", until)
	}
}
