package mesh

import (
	"fmt"
	"testing"
	"time"

	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// edged is two interior routers with an edge router at each, E at A; E has a
// second uplink, to B.
func edged(t *testing.T) *harness.Mesh {
	t.Helper()
	p := harness.Pair().WithEdge("E", "A", "B").WithEdge("F", "B")
	p.Proxied = true
	p.Entities += distributions
	m := harness.Prepare(t, p)
	m.Proxy("E-B").Refuse() // the first that opens is used
	for _, name := range m.Names() {
		m.Start(name)
	}
	settled(t, m)
	uses(t, m, "E", "A")
	m.Proxy("E-B").Heal()
	if !harness.Eventually(harness.Patience, func() bool { return m.Router("E").Metric("sluice_edge_idle_connections") == 1 }) {
		t.Fatal("E does not have its second uplink")
	}
	return m
}

// uses waits until an edge router uses its uplink to an interior one.
func uses(t *testing.T, m *harness.Mesh, edge, interior string) {
	t.Helper()
	name := fmt.Sprintf("sluice_edge_uplink_active{interior=%q}", interior)
	if !harness.Eventually(harness.Patience, func() bool { return m.Router(edge).Metrics()[name] == 1 }) {
		t.Fatalf("%s does not use its uplink to %s", edge, interior)
	}
}

// A network with edge routers is one router to its clients.
func TestEdge_IsOneRouter(t *testing.T) {
	m := edged(t)
	for _, way := range []string{"EA", "AE", "EB", "BE", "EF", "FE", "EE"} {
		t.Run(way, func(t *testing.T) {
			address := "q/" + way
			in := receiver(t, session(t, m.Addr(way[1:])), address, raw.ReceiverOptions{Credit: 100})
			out := sender(t, session(t, m.Addr(way[:1])), address, raw.SenderOptions{})
			for i := range 1000 {
				must(t, out.Send(raw.Numbered(nil, small, uint64(i)), i%2 == 0))
			}
			must(t, in.WaitMessages(1000))
			must(t, out.WaitSettled(500))
			if r := out.Result(); r.Accepted != 500 || r.Twice != 0 {
				t.Errorf("outcomes %+v", r)
			}
		})
	}
}

// BC-61: a receiver that comes and goes beyond an uplink is known to senders at
// edge routers as soon as to others.
func TestBC61_ReceiverComesAndGoes(t *testing.T) {
	m := edged(t)
	e := session(t, m.Addr("E"))
	for _, at := range []string{"A", "B", "F"} {
		s := session(t, m.Addr(at))
		var came, went []float64
		for round := range sized(200, 15) {
			address := fmt.Sprintf("toggled/%d", round%3)
			out := sender(t, e, address, raw.SenderOptions{})
			begin := time.Now()
			in := receiver(t, s, address, raw.ReceiverOptions{Credit: 10})
			must(t, out.WaitCredit(1))
			came = append(came, time.Since(begin).Seconds())
			must(t, out.Send(raw.Numbered(nil, small, 1), false))
			must(t, out.WaitSettled(1))
			begin = time.Now()
			must(t, in.Detach())
			if !harness.Eventually(harness.Patience, func() bool { return out.Credit() == 0 }) {
				t.Fatalf("receiver at %s: the sender keeps its credit", at)
			}
			went = append(went, time.Since(begin).Seconds())
			must(t, out.Detach())
		}
		report(t, "a receiver at %s is known to a sender at an edge router after %.0f ms, and its end after %.0f ms", at, 1000*median(came), 1000*median(went))
		if median(came) > 0.3 || median(went) > 0.3 {
			t.Errorf("receiver at %s: medians of %.3f and %.3f s", at, median(came), median(went))
		}
	}
}

// BC-59: anonymous senders at an edge router reach everybody, with small messages
// and large ones.
func TestBC59_AnonymousSenders(t *testing.T) {
	m := edged(t)
	for i, at := range m.Names() {
		t.Run(at, func(t *testing.T) {
			address := "anonymous." + at
			in := receiver(t, session(t, m.Addr(at)), address, raw.ReceiverOptions{Credit: 10})
			out := sender(t, session(t, m.Addr("E")), "", raw.SenderOptions{})
			n := 0
			// News of a receiver elsewhere need not be there yet.
			ok := harness.Eventually(harness.Patience, func() bool {
				must(t, out.Send(raw.Numbered(raw.To(address), small, uint64(i)), false))
				n++
				must(t, out.WaitSettled(n))
				return out.Result().Accepted > 0
			})
			if !ok {
				t.Fatalf("no message arrives: %+v", out.Result())
			}
			must(t, out.Send(raw.Numbered(raw.To(address), 20<<20, 7), false))
			n++
			must(t, out.WaitSettled(n))
			if r := out.Result(); r.Accepted != 2 || r.Rejected+r.Modified != 0 {
				t.Errorf("outcomes %+v", r)
			}
			must(t, in.WaitMessages(2))
		})
	}
}

// When the interior router of the active uplink is lost, the other uplink takes
// over; what was accepted has arrived.
func TestEdge_FailOver(t *testing.T) {
	m := edged(t)
	ledger := &raw.Ledger{}
	in := receiver(t, session(t, m.Addr("F")), "load", raw.ReceiverOptions{Credit: 1000, Frame: ledger.Frame})
	down, downLedger := accepting(t, session(t, m.Addr("E")), "down", 1000)
	var yes, downYes raw.Ledger
	out := sender(t, session(t, m.Addr("E")), "load", raw.SenderOptions{Outcome: accepted(&yes)})
	back := sender(t, session(t, m.Addr("F")), "down", raw.SenderOptions{Outcome: accepted(&downYes)})
	must(t, back.WaitCredit(1))
	must(t, out.WaitCredit(1))
	stop := time.Now().Add(time.Duration(sized(10_000, 3000)) * time.Millisecond)
	n, cut := 0, false
	begin := time.Now()
	for time.Now().Before(stop) {
		if !cut && time.Since(begin) > time.Second {
			cut = true
			m.Router("A").Kill()
		}
		must(t, out.Send(raw.Numbered(nil, small, uint64(n)), false))
		must(t, back.Send(raw.Numbered(nil, small, uint64(n)), false))
		n++
		time.Sleep(time.Millisecond)
	}
	must(t, out.WaitSettled(n))
	must(t, back.WaitSettled(n))
	quiet(in, down)
	if lost := yes.Missing(ledger); len(lost) > 0 {
		t.Errorf("%d messages up were accepted and did not arrive", len(lost))
	}
	if lost := downYes.Missing(downLedger); len(lost) > 0 {
		t.Errorf("%d messages down were accepted and did not arrive", len(lost))
	}
	up, dn := out.Result(), back.Result()
	report(t, "fail-over: up %d of %d accepted, %d modified, %d released; down %d accepted, %d modified, %d released", up.Accepted, n, up.Modified, up.Released, dn.Accepted, dn.Modified, dn.Released)
	if up.Accepted < n*9/10 || dn.Accepted < n/2 {
		t.Errorf("outcomes up %+v, down %+v", up, dn)
	}
	uses(t, m, "E", "B")
}

// BC-71: an uplink that breaks, or freezes, is made again for ever, soon after the
// network is back.
func TestBC71_UplinkComesBack(t *testing.T) {
	m := edged(t)
	f := m.Router("F")
	up := func() bool { return f.Metrics()[`sluice_edge_uplink_active{interior="B"}`] == 1 }
	for _, blackout := range []time.Duration{0, 3 * time.Second, time.Duration(sized(40, 9)) * time.Second} {
		if !harness.Eventually(harness.Patience, up) {
			t.Fatal("there is no uplink")
		}
		p := m.Proxy("F-B")
		p.Refuse()
		p.Reset()
		if !harness.Eventually(harness.Patience, func() bool { return !up() }) {
			t.Fatal("the uplink is still there")
		}
		time.Sleep(blackout)
		p.Heal()
		begin := time.Now()
		if !harness.Eventually(30*time.Second, up) {
			t.Fatalf("no uplink 30 s after a blackout of %v", blackout)
		}
		report(t, "after a blackout of %v the uplink is back after %v", blackout, ms(time.Since(begin)))
	}
}

// A second edge router with the id of the first is refused, and both sides say so.
func TestEdge_DuplicateID(t *testing.T) {
	p := harness.Pair().WithEdge("E", "A").WithEdge("G", "A")
	for i := range p.Nodes {
		if p.Nodes[i].Name == "G" {
			p.Nodes[i].ID = "E"
		}
	}
	m := harness.Prepare(t, p)
	for _, name := range []string{"A", "B", "E"} {
		m.Start(name)
	}
	uses(t, m, "E", "A")
	m.Start("G")
	const refusal = `an edge router "E" is connected already`
	m.Router("G").WaitLog(refusal, 1)
	m.Router("A").WaitLog(refusal, 1)
	if m.Router("E").Metrics()[`sluice_edge_uplink_active{interior="A"}`] != 1 {
		t.Error("the first has lost its uplink")
	}
}

// A stream that its receiver does not take costs little memory on each router and
// stops nothing else.
func TestEdge_StoppedStream(t *testing.T) {
	m := edged(t)
	for _, way := range []string{"EF", "FE"} {
		t.Run(way, func(t *testing.T) {
			slow := session(t, m.Addr(way[1:]))
			stuck := receiver(t, slow, "slow/"+way, raw.ReceiverOptions{Credit: 1})
			slow.Shut(true)
			from := session(t, m.Addr(way[:1]))
			out := sender(t, from, "slow/"+way, raw.SenderOptions{})
			must(t, out.WaitCredit(1))
			before := map[string]int64{}
			for _, name := range m.Names() {
				before[name] = m.Router(name).RSS()
			}
			done := make(chan error, 1)
			go func() { done <- out.Stream(200<<20, raw.NewNoise(1), false) }()
			in := receiver(t, session(t, m.Addr(way[1:])), "q/"+way, raw.ReceiverOptions{Credit: 100})
			other := sender(t, session(t, m.Addr(way[:1])), "q/"+way, raw.SenderOptions{})
			for i := range 200 {
				must(t, other.Send(raw.Numbered(nil, small, uint64(i)), false))
			}
			must(t, other.WaitSettled(200))
			must(t, in.WaitMessages(200))
			for _, name := range m.Names() {
				if grown := m.Router(name).RSS() - before[name]; grown > 32<<20 {
					t.Errorf("%s has grown by %s", name, mib(grown))
				}
			}
			slow.Shut(false)
			must(t, stuck.WaitMessages(1))
			must(t, <-done)
		})
	}
}

// Thousands of addresses with consumers and producers at an edge router are known
// within seconds, here and after a fail-over, and are all forgotten.
func TestEdge_ManyAddresses(t *testing.T) {
	m := edged(t)
	n := sized(50_000, 2000)
	proxies := func(direction string) func() bool {
		return func() bool {
			return m.Router("E").Metrics()[`sluice_edge_proxies{direction="`+direction+`"}`] >= float64(n)
		}
	}
	const each = 1000
	var outs []*raw.Sender
	c, d := dial(t, m.Addr("E"), raw.Options{}), dial(t, m.Addr("A"), raw.Options{})
	begin := time.Now()
	for i := 0; i < n; i += each {
		s, far := c.MustSession(), d.MustSession()
		for j := range each {
			address := fmt.Sprintf("many/%d", i+j)
			receiver(t, far, address, raw.ReceiverOptions{Credit: 10})
			outs = append(outs, sender(t, s, address, raw.SenderOptions{}))
		}
	}
	if !harness.Eventually(time.Minute, proxies("out")) {
		t.Fatalf("%v proxies", m.Router("E").Metrics()[`sluice_edge_proxies{direction="out"}`])
	}
	for _, out := range outs {
		must(t, out.WaitCredit(1))
	}
	report(t, "%d addresses with a producer at an edge router: all have credit after %v", n, ms(time.Since(begin)))
	begin = time.Now()
	m.Proxy("E-A").Refuse()
	m.Proxy("E-A").Reset()
	if !harness.Eventually(time.Minute, func() bool {
		time.Sleep(time.Duration(n) * 10 * time.Microsecond) // looking costs the router time, too
		v := m.Router("E").Metrics()
		return v[`sluice_edge_uplink_active{interior="B"}`] == 1 && v["sluice_edge_proxies_tracked"] >= float64(n)
	}) {
		t.Fatal("the other uplink has not taken over")
	}
	report(t, "%d addresses: another uplink has taken over after %v", n, ms(time.Since(begin)))
	for _, out := range outs[:10] {
		must(t, out.Send(raw.Numbered(nil, small, 1), false))
		must(t, out.WaitSettled(1))
	}
	c.Abort()
	d.Abort()
	if !harness.Eventually(time.Minute, func() bool { return m.Router("E").Metrics()[`sluice_edge_proxies{direction="out"}`] == 0 }) {
		t.Error("proxies are left")
	}
}

// An edge router of the existing family asks for link routes over $management. It
// is told that there are none, and keeps its links.
func TestEdge_LinkRouteRequest(t *testing.T) {
	a := harness.Start(t, "router {\n mode: interior\n id: A\n}\nlistener {\n host: 127.0.0.1\n port: 0\n role: edge\n}\n")
	s := session(t, a.Addr())
	var reply *messaging.Message
	came := make(chan struct{})
	in := receiver(t, s, "", raw.ReceiverOptions{Credit: 10, Dynamic: true, Frame: func(f *raw.Frame) {
		reply, _ = messaging.DecodeMessage(f.Payload)
		close(came)
	}})
	out := sender(t, s, "$management", raw.SenderOptions{})
	request, err := (&messaging.Message{
		Properties: &messaging.Properties{ReplyTo: in.Address(), CorrelationID: "c1"},
		ApplicationProperties: encoding.Map{
			{Key: "operation", Value: "CREATE"},
			{Key: "type", Value: "org.apache.qpid.dispatch.router.connection.linkRoute"},
			{Key: "name", Value: "E/proxyLinkRoute/Celr"},
		},
		Body: encoding.Map{{Key: "pattern", Value: "elr/#"}, {Key: "direction", Value: "in"}},
	}).Append(nil)
	must(t, err)
	must(t, out.Send(request, false))
	must(t, out.WaitSettled(1))
	<-came
	status := int32(0)
	for _, e := range reply.ApplicationProperties {
		if e.Key == "statusCode" {
			status, _ = e.Value.(int32)
		}
	}
	if status < 400 || reply.Properties.CorrelationID != "c1" {
		t.Errorf("%+v", reply)
	}
	if out.Detached() != nil || in.Detached() != nil {
		t.Error("a link was ended")
	}
}

// An uplink that falls silent, without an end, is given up by both sides soon, and
// another takes over.
func TestEdge_FrozenUplink(t *testing.T) {
	m := edged(t)
	in := receiver(t, session(t, m.Addr("F")), "q", raw.ReceiverOptions{Credit: 1000})
	out := sender(t, session(t, m.Addr("E")), "q", raw.SenderOptions{})
	must(t, out.WaitCredit(1))
	m.Proxy("E-A").Freeze()
	begin := time.Now()
	if !harness.Eventually(20*time.Second, func() bool {
		return m.Router("E").Metrics()[`sluice_edge_uplink_active{interior="B"}`] == 1
	}) {
		t.Fatal("the other uplink has not taken over")
	}
	report(t, "an uplink that is frozen is replaced after %v", ms(time.Since(begin)))
	must(t, out.Send(raw.Numbered(nil, small, 1), false))
	must(t, out.WaitSettled(1))
	must(t, in.WaitMessages(1))
	if !harness.Eventually(20*time.Second, func() bool { return m.Router("A").Metric("sluice_edge_routers") == 0 }) {
		t.Error("A has not given up E")
	}
	report(t, "its interior router has given it up after %v", ms(time.Since(begin)))
}
