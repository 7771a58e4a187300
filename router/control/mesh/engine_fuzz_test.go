package mesh

import (
	"fmt"
	"testing"
	"time"
)

// Whatever arrives in whatever order, an engine does not panic, always has something left to wait for, tells nothing
// twice to the data plane, and sends no message without its own id at the end of the trace.
func FuzzEngine(f *testing.F) {
	f.Add([]byte("\x00\x10\x02\x11\x11\x02\x11\x03\x21\x11\x31\x12\x41\x11"))
	f.Add([]byte("\x00\x10\x00\x20\x02\x11\x11\x02\x22\x21\x02\x12\x31\x0a\xff\x01\x10\x09\x77\x0a\xff"))
	f.Add([]byte("\x00\x10\x02\x11\x11\x04\x12\x22\x05\x12\x21\x07\x13\x31\x08\x12\x13\x0a\x03\x06\x11\x01"))
	f.Fuzz(live)
}

// live makes an engine live through what b says, three bytes an event.
func live(t *testing.T, b []byte) {
	now := time.Unix(1_800_000_000, 0)
	e, err := New(Config{ID: "A", Instance: 5, MaxRouters: 4, MaxAddresses: 3, MaxPeers: 3}, now)
	if err != nil {
		t.Fatal(err)
	}
	data := newDataPlane(t)
	ids := []string{"A", "B", "C", "D", "E", "F", "all", ""}
	keys := []string{"M0x", "M0y", "Cz", "Hedge", "M0w", "", "Lq"}
	for b = b[:min(len(b), 600)]; len(b) >= 3; b = b[3:] {
		x, y := int(b[1]), int(b[2])
		link, id, other := uint64(1+x>>4&3), ids[x&7], ids[y>>4&7]
		instance, n := int64(y>>2&3), int64(y&7)
		to, trace := allAddress, []string{NodeView(id)}
		if y&8 != 0 {
			to, trace = routerAddress(other, routingEndpoint), append(trace, NodeView(other))
		}
		receive := func(body Body) {
			if body.Origin() == "" {
				return // Decode lets none of these pass
			}
			if _, ok := body.(*Hello); ok {
				to = helloAddress
			}
			e.Step(now, Received{link, &Message{To: to, Trace: trace, Body: body}})
		}
		switch b[0] % 12 {
		case 0:
			e.Step(now, LinkUp{Link: link, Cost: int(n), Slow: n%2 == 1})
		case 1:
			e.Step(now, LinkDown{link})
		case 2:
			receive(&Hello{ID: id, Instance: instance, Seen: []string{"A", other}})
		case 3:
			receive(&Hello{ID: id, Instance: instance, Seen: []string{}})
		case 4:
			receive(&RA{ID: id, Instance: instance, LSSeq: n, MobileSeq: int64(y >> 5)})
		case 5:
			receive(&LSU{ID: id, Instance: instance, LSSeq: n, Peers: []Peer{{other, int(n)}, {ids[n], 1}, {"A", x >> 6}}})
		case 6:
			receive(&LSR{ID: id})
		case 7:
			receive(&MAU{ID: id, MobileSeq: n, Add: []string{keys[y%7]}, Del: []string{keys[x%7]}, Hints: []int{1}})
		case 8:
			receive(&MAU{ID: id, MobileSeq: n, Absolute: true, Exist: []string{keys[y%7], keys[x%7]}})
		case 9:
			receive(&MAR{ID: id, HaveSeq: n})
		case 10:
			now = now.Add(time.Duration(x*x) * time.Millisecond)
			e.Tick(now)
		case 11:
			if y&1 == 0 {
				e.Step(now, LocalAdd{keys[x%7], y % 9})
			} else {
				e.Step(now, LocalRemove{keys[x%7]})
			}
		}
		data.take(e.Ready())
		for i := 0; !e.Next().After(now); i++ {
			if i > 5 {
				t.Fatal("the engine wants to tick at once, for ever")
			}
			e.Tick(now)
			data.take(e.Ready())
		}
	}
}

// dataPlane checks that what an engine says fits together.
type dataPlane struct {
	t      *testing.T
	routes *Routes
	keys   map[string]bool
}

func newDataPlane(t *testing.T) *dataPlane { return &dataPlane{t: t, keys: map[string]bool{}} }

func (d *dataPlane) take(outputs []Output) {
	for _, o := range outputs {
		switch o := o.(type) {
		case Send:
			if trace := o.Message.Trace; len(trace) == 0 || trace[len(trace)-1] != NodeView("A") {
				d.t.Fatalf("sent with trace %v", trace)
			}
			if m, err := Decode(o.Message.Append(nil)); err != nil || m.Problem != nil {
				d.t.Fatalf("sent what cannot be read: %v, %v", err, m.Problem)
			}
		case RemoteAdd:
			if d.keys[o.Router+" "+o.Key] {
				d.t.Fatalf("%+v twice", o)
			}
			d.keys[o.Router+" "+o.Key] = true
		case RemoteRemove:
			if !d.keys[o.Router+" "+o.Key] {
				d.t.Fatalf("%+v was not there", o)
			}
			delete(d.keys, o.Router+" "+o.Key)
		case RouterGone:
			for key := range d.keys {
				if key[:1] == o.Router {
					d.t.Fatalf("%+v still has %s", o, key)
				}
			}
			if d.routes.Lookup(o.Router) != nil || d.routes.ByNumber(o.Number) != nil {
				d.t.Fatalf("%+v still has a route", o)
			}
		case *Routes:
			for i := range o.Routers {
				r := &o.Routers[i]
				if o.Neighbor(r.NextHop) == nil || len(r.Links) == 0 || r.Number == SelfNumber || o.Lookup(r.ID) != r || o.ByNumber(r.Number) != r {
					d.t.Fatal(fmt.Sprint("impossible route ", *r))
				}
				if d.routes != nil {
					if before := d.routes.Lookup(r.ID); before != nil && before.Number != r.Number {
						// Only if it was gone meanwhile, which takes a minute and another Routes.
						d.t.Fatalf("number of %s was %d and is %d", r.ID, before.Number, r.Number)
					}
				}
			}
			d.routes = o
		}
	}
}
