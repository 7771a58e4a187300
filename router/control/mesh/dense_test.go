package mesh

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// neighbour is an engine with one neighbour, R0001, that tells it of all else.
func neighbour(t *testing.T, c Config) (e *Engine, now time.Time, hear func(b Body)) {
	now = time.Unix(1_800_000_000, 0)
	c.ID, c.Instance = "R0000", 1
	e, err := New(c, now)
	if err != nil {
		t.Fatal(err)
	}
	e.Step(now, LinkUp{Link: 1, Cost: 1})
	e.Step(now, Received{1, NewMessage("R0001", helloAddress, &Hello{ID: "R0001", Instance: 1, Seen: []string{c.ID}})})
	return e, now, func(b Body) {
		to := routerAddress(c.ID, routingEndpoint)
		if _, ok := b.(*MAU); ok {
			to = mobileToAll
		}
		e.Step(now, Received{1, NewMessage(b.Origin(), to, b)})
	}
}

func limits(outputs []Output) (n int) {
	for _, o := range outputs {
		if o, ok := o.(Notice); ok && o.Kind == NoticeLimit {
			n++
		}
	}
	return n
}

// dense is the link state of the i-th of n routers that are all linked with k
// others, the first with R0000, too.
func dense(i, n, k int) *LSU {
	u := &LSU{ID: fmt.Sprintf("R%04d", i), Instance: 1, LSSeq: 1}
	if i == 1 {
		u.Peers = append(u.Peers, Peer{"R0000", 1})
	}
	for j := 1; j <= k/2; j++ {
		for _, to := range []int{(i-1+j)%n + 1, (i-1-j+n)%n + 1} {
			u.Peers = append(u.Peers, Peer{fmt.Sprintf("R%04d", to), 1 + (i+to)%3})
		}
	}
	return u
}

// Routes of a large dense mesh are made in pieces, between which HELLOs go out
// in time; they are what would come of it at once.
func TestDense_RoutesInPieces(t *testing.T) {
	const n, k = 300, 60
	e, now, hear := neighbour(t, Config{})
	for i := 1; i <= n; i++ {
		hear(dense(i, n, k))
	}
	if e.pathsDirty == e.pathsAt.IsZero() {
		t.Error("paths are calculated at each link state")
	}
	var routes *Routes
	pieces, hellos := 0, 0
	for range 10_000 {
		for _, o := range e.Ready() {
			switch o := o.(type) {
			case *Routes:
				routes = o
			case Send:
				if _, ok := o.Message.Body.(*Hello); ok {
					hellos++
				}
			}
		}
		if routes != nil && len(routes.Routers) == n && e.building == nil {
			break
		}
		pieces++
		now = now.Add(20 * time.Millisecond)
		e.Tick(now)
	}
	if routes == nil || len(routes.Routers) != n {
		t.Fatal("not all have a route")
	}
	if pieces < 10 || hellos < int(time.Duration(pieces)*20*time.Millisecond/time.Second) {
		t.Errorf("%d pieces with %d hellos in between", pieces, hellos)
	}
	whole := e.beginRoutes()
	whole.next(1 << 62)
	if !whole.routes.equal(routes) {
		t.Error("what was made in pieces is not what comes of it at once")
	}
}

// Link states together have a limit; what is beyond it is left out, and what
// is forgotten makes room.
func TestDense_LinksHaveALimit(t *testing.T) {
	e, now, hear := neighbour(t, Config{MaxLinks: 10})
	hear(dense(1, 9, 4)) // 5 links
	hear(dense(2, 9, 4))
	if n := limits(e.Ready()); n != 0 || e.edges != 9 {
		t.Fatalf("%d notices, %d links", n, e.edges)
	}
	hear(dense(3, 9, 4))
	if n := limits(e.Ready()); n != 1 || e.edges != 9 || e.routers["R0003"].hasLS {
		t.Errorf("%d notices, %d links", n, e.edges)
	}
	again := dense(2, 9, 4)
	again.LSSeq, again.Peers = 2, again.Peers[:1]
	hear(again)
	hear(dense(3, 9, 4))
	if n := limits(e.Ready()); n != 0 || e.edges != 10 || !e.routers["R0003"].hasLS {
		t.Errorf("%d notices, %d links", n, e.edges)
	}
	e.Tick(now.Add(2 * time.Minute))
	if e.edges != 0 {
		t.Errorf("%d links of routers that are forgotten", e.edges)
	}
}

// So have addresses.
func TestDense_AddressesHaveALimit(t *testing.T) {
	e, now, hear := neighbour(t, Config{MaxKeys: 5, MaxAddresses: 4})
	keys := strings.Split("M0a M0b M0c M0d M0e", " ")
	hear(&MAU{ID: "R0001", MobileSeq: 1, Absolute: true, Exist: keys[:3]})
	hear(&MAU{ID: "R0002", MobileSeq: 1, Absolute: true, Exist: keys[:2]})
	if n := limits(e.Ready()); n != 0 || e.keys != 5 {
		t.Fatalf("%d notices, %d keys", n, e.keys)
	}
	hear(&MAU{ID: "R0003", MobileSeq: 1, Absolute: true, Exist: keys})
	if n := limits(e.Ready()); n != 1 || e.keys != 5 {
		t.Errorf("%d notices, %d keys", n, e.keys)
	}
	hear(&MAU{ID: "R0001", MobileSeq: 2, Add: []string{}, Del: keys[:1]})
	hear(&MAU{ID: "R0003", MobileSeq: 2, Absolute: true, Exist: keys})
	if n := limits(e.Ready()); n != 1 || e.keys != 5 || len(e.routers["R0003"].mobile.keys) != 1 {
		t.Errorf("%d notices, %d keys", n, e.keys)
	}
	e.Tick(now.Add(2 * time.Minute))
	if e.keys != 0 {
		t.Errorf("%d keys of routers that are forgotten", e.keys)
	}
}
