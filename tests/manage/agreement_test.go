package manage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	goamqp "github.com/Azure/go-amqp"

	"sluice/tests/harness"
)

// How many messages the run has of each kind.
const (
	accepted = 230
	settled  = 170
	released = 60
	rejected = 7
	modified = 11
	news     = 40 // multicast
	far      = 90 // across all three routers
	all      = accepted + settled + released + rejected + modified
)

// A client is a connection with a session.
type client struct {
	t testing.TB
	*goamqp.Session
}

func join(t testing.TB, addr, container string) *client {
	t.Helper()
	conn, err := goamqp.Dial(t.Context(), "amqp://"+addr, &goamqp.ConnOptions{ContainerID: container})
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	s, err := conn.NewSession(t.Context(), nil)
	must(t, err)
	return &client{t, s}
}

func (c *client) sender(name, address string, settled bool) *goamqp.Sender {
	c.t.Helper()
	o := &goamqp.SenderOptions{Name: name}
	if settled {
		o.SettlementMode = goamqp.SenderSettleModeSettled.Ptr()
	}
	s, err := c.NewSender(c.t.Context(), address, o)
	must(c.t, err)
	return s
}

func (c *client) receiver(name, address string) *goamqp.Receiver {
	c.t.Helper()
	r, err := c.NewReceiver(c.t.Context(), address, &goamqp.ReceiverOptions{Name: name, Credit: 20})
	must(c.t, err)
	return r
}

// presend sends n messages that are settled already.
func presend(t testing.TB, s *goamqp.Sender, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	for i := range n {
		must(t, s.Send(ctx, goamqp.NewMessage(fmt.Appendf(nil, "%0100d", i)), nil))
	}
}

// send sends n messages and waits for their outcomes.
func send(t testing.TB, s *goamqp.Sender, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	var receipts []goamqp.SendReceipt
	for i := range n {
		r, err := s.SendWithReceipt(ctx, goamqp.NewMessage(fmt.Appendf(nil, "%0100d", i)), nil)
		must(t, err)
		receipts = append(receipts, r)
	}
	for _, r := range receipts {
		_, err := r.Wait(ctx)
		must(t, err)
	}
}

// receive receives n messages in another goroutine, and does to each what f says.
func receive(t testing.TB, r *goamqp.Receiver, n int, f func(context.Context, *goamqp.Message) error) (wait func()) {
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
		defer cancel()
		for range n {
			m, err := r.Receive(ctx, nil)
			if err == nil {
				err = f(ctx, m)
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	return func() {
		t.Helper()
		must(t, <-done)
	}
}

func nothing(context.Context, *goamqp.Message) error { return nil }

// shown is what "sluice stat" shows, a map of attributes for each row.
func shown(t testing.TB, url string, args ...string) (rows []map[string]any) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), harness.Path(t), slices.Concat([]string{"stat", "--json", "--url", url}, args)...).Output()
	if err != nil {
		t.Fatalf("stat %v: %v", args, err)
	}
	for line := range bytes.Lines(out) {
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		row := map[string]any{}
		must(t, d.Decode(&row))
		rows = append(rows, row)
	}
	return rows
}

// one is the row of which all of some attributes, "name=value", are so.
func one(t testing.TB, rows []map[string]any, where ...string) map[string]any {
	t.Helper()
	var found []map[string]any
	for _, r := range rows {
		if !slices.ContainsFunc(where, func(w string) bool {
			name, value, _ := strings.Cut(w, "=")
			return fmt.Sprint(r[name]) != value
		}) {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d rows with %v among %v", len(found), where, rows)
	}
	return found[0]
}

// agree compares attributes of a row.
func agree(t testing.TB, what string, row map[string]any, want map[string]int) {
	t.Helper()
	for name, n := range want {
		if got := fmt.Sprint(row[name]); got != fmt.Sprint(n) {
			t.Errorf("%s: %s is %s, want %d", what, name, got, n)
		}
	}
}

// After a run of known size over two routers and an edge router, what "sluice stat"
// shows is what was sent: by link, by connection, by address, and in all.
func TestStatAgrees(t *testing.T) {
	p := harness.Pair().WithEdge("E", "A")
	p.Entities = harness.Distribution("news", "multicast")
	m := harness.StartMesh(t, p)
	a := "amqp://" + m.Addr("A")
	from, to := join(t, m.Addr("A"), "sends"), join(t, m.Addr("A"), "receives")
	farther, below := join(t, m.Addr("B"), "far"), join(t, m.Addr("E"), "below")

	// One address, one receiver, every outcome.
	work, preset := from.sender("s-work", "work", false), from.sender("s-settled", "work", true)
	r := to.receiver("r-work", "work")
	for _, step := range []struct {
		send func(testing.TB, *goamqp.Sender, int)
		from *goamqp.Sender
		n    int
		do   func(context.Context, *goamqp.Message) error
	}{
		{send, work, accepted, r.AcceptMessage},
		{presend, preset, settled, nothing},
		{send, work, released, r.ReleaseMessage},
		{send, work, rejected, func(ctx context.Context, m *goamqp.Message) error { return r.RejectMessage(ctx, m, nil) }},
		{send, work, modified, func(ctx context.Context, m *goamqp.Message) error {
			return r.ModifyMessage(ctx, m, &goamqp.ModifyMessageOptions{DeliveryFailed: true})
		}},
	} {
		done := receive(t, r, step.n, step.do)
		step.send(t, step.from, step.n)
		done()
	}

	// Multicast to a receiver at each router.
	readers := []*goamqp.Receiver{to.receiver("r-news-a", "news"), farther.receiver("r-news-b", "news"), below.receiver("r-news-e", "news")}
	wait(t, "A knows the receivers at B and E", func() bool {
		for _, row := range shown(t, a, "addresses") {
			if row["key"] == "M0news" {
				return fmt.Sprint(row["remoteCount"]) == "1" && fmt.Sprint(row["subscriberCount"]) == "2"
			}
		}
		return false
	})
	var done []func()
	for _, r := range readers {
		done = append(done, receive(t, r, news, r.AcceptMessage))
	}
	send(t, from.sender("s-news", "news", false), news)
	for _, d := range done {
		d()
	}

	// From the edge router through A to B.
	r = farther.receiver("r-far", "far")
	through := below.sender("s-far", "far", false)
	d := receive(t, r, far, r.AcceptMessage)
	send(t, through, far)
	d()

	check := func(what string) {
		// Links, by their names.
		at := map[string][]map[string]any{}
		for _, id := range []string{"A", "B"} {
			at[id] = shown(t, a, "links", "--router", id)
		}
		at["E"] = shown(t, a, "links", "--edge", "E")
		outcomes := map[string]int{"acceptedCount": accepted, "releasedCount": released, "rejectedCount": rejected, "modifiedCount": modified, "presettledCount": 0,
			"deliveryCount": all - settled, "unsettledCount": 0, "undeliveredCount": 0}
		agree(t, what+" s-work", one(t, at["A"], "linkName=s-work", "linkDir=in"), outcomes)
		agree(t, what+" s-settled", one(t, at["A"], "linkName=s-settled", "linkDir=in"), map[string]int{"deliveryCount": settled, "presettledCount": settled, "acceptedCount": 0, "unsettledCount": 0})
		outcomes["deliveryCount"], outcomes["presettledCount"] = all, settled
		agree(t, what+" r-work", one(t, at["A"], "linkName=r-work", "linkDir=out"), outcomes)
		agree(t, what+" s-news", one(t, at["A"], "linkName=s-news"), map[string]int{"deliveryCount": news, "acceptedCount": news})
		for name, id := range map[string]string{"r-news-a": "A", "r-news-b": "B", "r-news-e": "E"} {
			agree(t, what+" "+name, one(t, at[id], "linkName="+name), map[string]int{"deliveryCount": news, "acceptedCount": news, "unsettledCount": 0})
		}
		agree(t, what+" s-far", one(t, at["E"], "linkName=s-far"), map[string]int{"deliveryCount": far, "acceptedCount": far})
		agree(t, what+" r-far", one(t, at["B"], "linkName=r-far"), map[string]int{"deliveryCount": far, "acceptedCount": far})

		// Addresses: what came in, went out, and through.
		for _, e := range []struct {
			router, key      string
			in, out, through int
		}{
			{"A", "M0work", all, all, 0},
			{"A", "M0news", news, 2 * news, news}, // to its own receiver and the edge router; to B
			{"B", "M0news", 0, news, 0},
			{"E", "M0news", news, news, 0}, // from its uplink
			{"A", "M0far", far, 0, far},
			{"B", "M0far", 0, far, 0},
			{"E", "M0far", far, far, 0}, // by its uplink
		} {
			flag := "--router"
			if e.router == "E" {
				flag = "--edge"
			}
			agree(t, what+" address "+e.key+" at "+e.router, one(t, shown(t, a, "addresses", flag, e.router), "key="+e.key),
				map[string]int{"deliveriesIngress": e.in, "deliveriesEgress": e.out, "deliveriesTransit": e.through, "waitingCount": 0,
					"droppedNoDestination": 0, "droppedExpired": 0, "droppedSlow": 0})
		}

		// Connections, and what they have in links.
		conns := shown(t, a, "connections")
		agree(t, what+" sends", one(t, conns, "container=sends"), map[string]int{"linkCount": 3})
		agree(t, what+" receives", one(t, conns, "container=receives"), map[string]int{"linkCount": 2})
		for _, c := range []string{"sends", "receives"} {
			row := one(t, conns, "container="+c)
			n := 0
			for _, l := range at["A"] {
				if l["connectionId"] == row["identity"] {
					n++
				}
			}
			if got := fmt.Sprint(row["linkCount"]); got != fmt.Sprint(n) {
				t.Errorf("%s: the connection %s has %s links, and %d are shown", what, c, got, n)
			}
			in, out := number(row["bytesIn"]), number(row["bytesOut"])
			if c == "sends" && in < 100*(all+news) || c == "receives" && out < 100*(all+news) {
				t.Errorf("%s: %s: %d bytes in and %d out", what, c, in, out)
			}
		}

		// The mesh and its edge.
		nodes := shown(t, a, "nodes")
		if len(nodes) != 2 || one(t, nodes, "id=A")["nextHop"] != "(self)" {
			t.Errorf("%s: nodes %v", what, nodes)
		}
		one(t, nodes, "id=B")
		if edges := shown(t, a, "edges"); len(edges) != 1 || edges[0]["container"] != "E" {
			t.Errorf("%s: edges %v", what, edges)
		}
		agree(t, what+" general", shown(t, a, "general")[0], map[string]int{"nodeCount": 1, "rejectedDeliveries": rejected, "releasedDeliveries": released, "modifiedDeliveries": modified})
		if m := shown(t, a, "memory")[0]; number(m["memoryUsage"]) == 0 || number(m["bufferBytes"]) == 0 {
			t.Errorf("%s: memory %v", what, m)
		} else {
			// The parts of the resident memory add up to it, but for what has changed
			// between looking at one and the other.
			sum, parts := int64(0), m["residentMemoryParts"].(map[string]any)
			for _, n := range parts {
				sum += number(n)
			}
			if all := number(m["residentMemory"]); all < 1<<20 || sum < all/2 || sum > all*3/2 || len(parts) != 11 {
				t.Errorf("%s: %d resident bytes, and %d in parts %v", what, all, sum, parts)
			}
		}
	}
	check("once")
	// What is asked changes nothing.
	check("again")

	// The router as a whole has counted this run and the requests: so many have come
	// from other connections as those have gone that asked.
	before := shown(t, a, "general")[0]
	arrived := receive(t, to.receiver("r-more", "more"), 100, nothing)
	presend(t, from.sender("s-more", "more", true), 100)
	arrived()
	after := shown(t, a, "general")[0]
	for name, want := range map[string]int64{"deliveriesIngress": 100, "deliveriesEgress": 100, "presettledDeliveries": 100, "deliveriesTransit": 0} {
		// Each look is a few requests of its own.
		if got := number(after[name]) - number(before[name]); got < want || got > want+5 {
			t.Errorf("%s has grown by %d, want %d and the requests", name, got, want)
		}
	}
}

func number(v any) int64 {
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return i
}
