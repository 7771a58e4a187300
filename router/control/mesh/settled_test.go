package mesh

import (
	"testing"
	"time"
)

// A router is unknown until its link state is there and it has confirmed its addresses; one without path does not count.
func TestUnknown(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	e, err := New(Config{ID: "A", Instance: 1}, now)
	if err != nil {
		t.Fatal(err)
	}
	e.Step(now, LinkUp{Link: 1, Cost: 1})
	receive := func(to string, body Body) {
		e.Step(now, Received{1, NewMessage("B", to, body)})
	}
	for _, c := range []struct {
		to   string
		body Body
		want int
	}{
		{helloAddress, &Hello{ID: "B", Seen: []string{}}, 0},
		{helloAddress, &Hello{ID: "B", Seen: []string{"A"}}, 1},
		{routerAddress("A", routingEndpoint), &LSU{ID: "B", LSSeq: 1, Peers: []Peer{{"A", 1}}}, 1},
		{allAddress, &RA{ID: "B", LSSeq: 1, MobileSeq: 1}, 1},
		{routerAddress("A", mobileEndpoint), &MAU{ID: "B", MobileSeq: 1, Absolute: true, Exist: []string{}}, 0},
		{routerAddress("A", routingEndpoint), &LSU{ID: "B", LSSeq: 2, Peers: []Peer{{"A", 1}, {"C", 1}}}, 1},
		{allAddress, &RA{ID: "B", LSSeq: 2, MobileSeq: 2}, 2},
	} {
		receive(c.to, c.body)
		if got := e.Unknown(); got != c.want {
			t.Errorf("after %+v there are %d unknown, want %d", c.body, got, c.want)
		}
	}
	e.Step(now, LinkDown{1})
	if got := e.Unknown(); got != 0 {
		t.Errorf("without a link there are %d unknown", got)
	}
}
