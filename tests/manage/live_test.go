package manage

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// After a run of known size, what is shown is what was done.
func TestCountsAgree(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	c, err := raw.Dial(b.Addr(), raw.Options{})
	must(t, err)
	defer c.Abort()
	s := c.MustSession()
	in, err := s.Receiver("q", raw.ReceiverOptions{Credit: 1000})
	must(t, err)
	out, err := s.Sender("q", raw.SenderOptions{})
	must(t, err)
	const n = 3000
	for i := range n {
		must(t, out.Send(raw.Numbered(nil, 100, uint64(i)), i%3 == 0))
	}
	must(t, in.WaitMessages(n))
	must(t, out.WaitSettled(2*n/3))
	for dir, want := range map[string][3]uint64{"in": {n, n / 3, 2 * n / 3}, "out": {n, n / 3, 2 * n / 3}} {
		found := false
		for _, l := range a.find("router.link", "owningAddr", "M0q") {
			if l["linkDir"] != dir {
				continue
			}
			found = true
			if got := [3]uint64{l["deliveryCount"].(uint64), l["presettledCount"].(uint64), l["acceptedCount"].(uint64)}; got != want {
				t.Errorf("%s: got %v, want %v", dir, got, want)
			}
			if l["unsettledCount"] != uint64(0) || l["undeliveredCount"] != uint64(0) || l["outgoingBytes"] != int64(0) || l["waitsFor"] != nil || l["transferredBytes"].(uint64) < n*100 {
				t.Errorf("%s: %v", dir, l)
			}
		}
		if !found {
			t.Errorf("there is no link %s", dir)
		}
	}
	addr := a.find("router.address", "name", "M0q")[0]
	if addr["deliveriesIngress"] != uint64(n) || addr["deliveriesEgress"] != uint64(n) || addr["senderCount"] != uint32(1) || addr["gate"] != "open" {
		t.Errorf("got %v", addr)
	}
	r := a.query("router")[0]
	// The requests are those of this test and this one.
	if in, out := r["deliveriesIngress"].(uint64)-n, r["deliveriesEgress"].(uint64)-n; in != a.next || out != a.next-1 {
		t.Errorf("%d requests have come and %d replies left, of %d", in, out, a.next)
	}
	if r["presettledDeliveries"].(uint64) < n/3 || r["acceptedDeliveries"].(uint64) < 2*n/3 || r["connectionCount"] != uint64(2) || r["linkCount"] != uint64(4) {
		t.Errorf("got %v", r)
	}
	if r["memoryUsage"].(uint64) == 0 || r["id"] != "test" || r["mode"] != "standalone" {
		t.Errorf("got %v", r)
	}
}

// A connection says when it last carried a message, in either direction.
func TestLastDelivery(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	end := func(container string) (*goamqp.Session, func() any) {
		conn, err := goamqp.Dial(context.Background(), b.URL(), &goamqp.ConnOptions{ContainerID: container})
		must(t, err)
		t.Cleanup(func() { conn.Close() })
		s, err := conn.NewSession(context.Background(), nil)
		must(t, err)
		return s, func() any { return a.find("connection", "container", container)[0]["lastDlvSeconds"] }
	}
	from, sent := end("sends")
	to, received := end("receives")
	in, err := to.NewReceiver(context.Background(), "q", nil)
	must(t, err)
	out, err := from.NewSender(context.Background(), "q", nil)
	must(t, err)
	if sent() != nil || received() != nil {
		t.Errorf("before the first message: %v, %v", sent(), received())
	}
	_, err = out.SendWithReceipt(context.Background(), goamqp.NewMessage([]byte("x")), nil)
	must(t, err)
	m, err := in.Receive(context.Background(), nil)
	must(t, err)
	must(t, in.AcceptMessage(context.Background(), m))
	for _, n := range []any{sent(), received()} {
		if n, ok := n.(uint32); !ok || n > 60 {
			t.Errorf("behind a message: %v, %v", sent(), received())
		}
	}
}

// A link that is stuck says what it waits for, for whom, and for how long.
func TestStuck(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	conn, err := goamqp.Dial(context.Background(), b.URL(), &goamqp.ConnOptions{ContainerID: "sleepy"})
	must(t, err)
	defer conn.Close()
	s, err := conn.NewSession(context.Background(), nil)
	must(t, err)
	_, err = s.NewReceiver(context.Background(), "stuck", &goamqp.ReceiverOptions{Credit: 10}) // and never settles
	must(t, err)
	c, err := raw.Dial(b.Addr(), raw.Options{})
	must(t, err)
	defer c.Abort()
	rs := c.MustSession()
	out, err := rs.Sender("stuck", raw.SenderOptions{})
	must(t, err)
	_, err = rs.Sender("nobody", raw.SenderOptions{})
	must(t, err)
	for i := range 15 { // ten are with the receiver, and five wait for its credit
		must(t, out.Send(raw.Numbered(nil, 100, uint64(i)), false))
	}
	want := map[string][2]any{"M0stuck out": {"credit", "sleepy"}, "M0nobody in": {"receiver", nil}}
	wait(t, "the links say what they wait for", func() bool {
		got := map[string][2]any{}
		for _, l := range a.query("router.link") {
			got[fmt.Sprint(l["owningAddr"], " ", l["linkDir"])] = [2]any{l["waitsFor"], l["waitsForPeer"]}
		}
		for k, v := range want {
			if got[k] != v {
				return false
			}
		}
		return true
	})
	if testing.Short() {
		return
	}
	wait(t, "deliveries are stuck", func() bool {
		for _, l := range a.find("router.link", "owningAddr", "M0stuck") {
			if l["linkDir"] == "out" && l["deliveriesStuck"] == uint64(10) {
				if l["oldestUnsettledSeconds"].(uint32) < 10 || l["zeroCreditSeconds"].(uint32) < 5 || l["waitsFor"] != "outcome" || l["waitsSeconds"].(uint32) < 10 {
					t.Errorf("a receiver that holds all of its credit: got %v", l)
				}
				in := a.find("router.link", "owningAddr", "M0stuck")
				for _, l := range in {
					if l["linkDir"] == "in" && (l["waitsFor"] != "outcome" || l["waitsForPeer"] != "sleepy" || l["waitsForAddress"] != "M0stuck") {
						t.Errorf("its sender: got %v", l)
					}
				}
				return true
			}
		}
		time.Sleep(time.Second)
		return false
	})
	if v := b.Metric("sluice_deliveries_stuck"); v != 0 { // that is those of stuckDeliverySeconds, 30
		t.Errorf("%v deliveries are stuck", v)
	}
	// Ten that are not settled, on both links, and five that wait for credit.
	if r := a.query("router")[0]; r["deliveriesStuck"] != uint64(25) || r["linksBlocked"].(uint32) == 0 {
		t.Errorf("got %v", r)
	}
}

// What counts as stuck in metrics is what is warned of, after the age that is
// configured.
func TestStuck_AfterConfiguredTime(t *testing.T) {
	b := harness.Start(t, "router {\nid: test\nstuckDeliverySeconds: 2\n}\nlistener {\nhost: 127.0.0.1\nport: 0\n}\nlistener {\nhost: 127.0.0.1\nport: 0\nhttp: yes\n}\n")
	c, err := raw.Dial(b.Addr(), raw.Options{})
	must(t, err)
	defer c.Abort()
	s := c.MustSession()
	_, err = s.Receiver("stuck", raw.ReceiverOptions{Credit: 10, Manual: true})
	must(t, err)
	out, err := s.Sender("stuck", raw.SenderOptions{})
	must(t, err)
	must(t, out.Send(raw.Numbered(nil, 100, 0), false))
	b.WaitMetric("sluice_deliveries_stuck", "the delivery is stuck", func(v float64) bool { return v == 1 })
	b.WaitLog("a delivery is stuck", 1)
}

// Nobody can be the agent of a router but itself.
func TestManagementNode(t *testing.T) {
	b := harness.Start(t, harness.Loopback+"address {\nprefix: $management\ndistribution: multicast\n}\n")
	conn, err := goamqp.Dial(context.Background(), b.URL(), nil)
	must(t, err)
	defer conn.Close()
	s, err := conn.NewSession(context.Background(), nil)
	must(t, err)
	for _, address := range []string{"$management", "_local/$management", "_topo/0/test/$management"} {
		if _, err := s.NewReceiver(context.Background(), address, nil); err == nil {
			t.Errorf("%s: the link was taken", address)
		}
	}
	a := dial(t, b.URL(), "$management")
	a.must("operation=READ, name=self", nil)
	if l := a.query("router.link"); len(l) != 2 {
		t.Errorf("links of the agent are shown: %v", l)
	}
	if m := a.find("router.address", "name", "M0$management")[0]; m["inProcess"] != uint32(1) || m["subscriberCount"] != uint32(0) || m["distribution"] != "closest" {
		t.Errorf("got %v", m)
	}
}

// Messages on connections of role route-container are counted, also when the
// connections have ended.
func TestRouteContainerCounts(t *testing.T) {
	b := harness.Start(t, harness.Listeners("", "listener {", " host: 127.0.0.1", " port: 0", " role: route-container", "}"))
	a := dial(t, b.URL(), "$management")
	check := func(in, out uint64) {
		t.Helper()
		r := a.query("router")[0]
		if r["deliveriesIngressRouteContainer"] != in || r["deliveriesEgressRouteContainer"] != out {
			t.Errorf("%v in and %v out, want %d and %d", r["deliveriesIngressRouteContainer"], r["deliveriesEgressRouteContainer"], in, out)
		}
	}
	check(0, 0)
	client, err := raw.Dial(b.Addr(), raw.Options{})
	must(t, err)
	defer client.Abort()
	container, err := raw.Dial(b.AMQP[1], raw.Options{})
	must(t, err)
	defer container.Abort()
	ours, theirs := client.MustSession(), container.MustSession()
	pass := func(from, to *raw.Session, address string, n int) {
		in := to.MustReceiver(address, raw.ReceiverOptions{Credit: 10})
		out := from.MustSender(address, raw.SenderOptions{})
		for i := range n {
			must(t, out.Send(raw.Numbered(nil, 100, uint64(i)), false))
		}
		must(t, in.WaitMessages(n))
		must(t, out.WaitSettled(n))
	}
	pass(ours, theirs, "to", 7)
	pass(theirs, ours, "from", 3)
	check(3, 7)
	must(t, container.Close())
	wait(t, "it has gone", func() bool { return len(a.find("connection", "role", "route-container")) == 0 })
	check(3, 7)
}

// Addresses of replies come and go, and stand behind all others, so that none of
// these is missed between two pages.
func TestAddressesInPages(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	s, err := a.conn.NewSession(t.Context(), nil)
	must(t, err)
	for i := range 20 {
		_, err := s.NewReceiver(t.Context(), fmt.Sprint("q", i), nil)
		must(t, err)
	}
	replies := false
	for _, row := range a.query("router.address", "key") {
		reply := strings.HasPrefix(row["key"].(string), "L")
		if replies && !reply {
			t.Errorf("%s stands behind the address of a reply", row["key"])
		}
		replies = replies || reply
	}
	if !replies {
		t.Error("there is no address of a reply")
	}
}

// Messages that were sent settled and that nobody took stay counted when their
// sender has gone.
func TestDroppedPresettledIsKept(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	c, err := raw.Dial(b.Addr(), raw.Options{})
	must(t, err)
	defer c.Abort()
	out := c.MustSession().MustSender("", raw.SenderOptions{})
	for i := range 5 {
		must(t, out.Send(raw.Numbered(raw.To("nobody"), 100, uint64(i)), i > 0))
	}
	must(t, out.WaitSettled(1))
	dropped := func() any { return a.query("router")[0]["droppedPresettledDeliveries"] }
	wait(t, "all have been dropped", func() bool { return dropped() == uint64(4) })
	must(t, c.Close())
	wait(t, "the sender has gone", func() bool { return len(a.query("connection")) == 1 })
	if n := dropped(); n != uint64(4) {
		t.Errorf("%v are counted when the sender has gone", n)
	}
}

// The metrics by their names of old are what the router entity says.
func TestMetricsOfOld(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	conn, err := goamqp.Dial(context.Background(), b.URL(), &goamqp.ConnOptions{ContainerID: "4f81d4fa-7dec-11d0-a765-00a0c91e6bf6"})
	must(t, err)
	defer conn.Close()
	s, err := conn.NewSession(context.Background(), nil)
	must(t, err)
	in, err := s.NewReceiver(context.Background(), "q", &goamqp.ReceiverOptions{Credit: 10})
	must(t, err)
	out, err := s.NewSender(context.Background(), "q", nil)
	must(t, err)
	for range 3 {
		r, err := out.SendWithReceipt(context.Background(), goamqp.NewMessage([]byte("x")), nil)
		must(t, err)
		m, err := in.Receive(context.Background(), nil)
		must(t, err)
		must(t, in.AcceptMessage(context.Background(), m))
		_, err = r.Wait(context.Background())
		must(t, err)
	}
	metrics := b.Metrics()
	r := a.query("router")[0]
	for name, attribute := range map[string]string{
		"connections_total": "connectionCount", "addresses_total": "addrCount", "routers_total": "nodeCount", "link_routes_total": "linkRouteCount",
		"auto_links_total": "autoLinkCount", "dropped_presettled_deliveries_total": "droppedPresettledDeliveries",
		"released_deliveries_total": "releasedDeliveries", "rejected_deliveries_total": "rejectedDeliveries", "modified_deliveries_total": "modifiedDeliveries",
		"deliveries_transit_total":                 "deliveriesTransit",
		"deliveries_ingress_route_container_total": "deliveriesIngressRouteContainer", "deliveries_egress_route_container_total": "deliveriesEgressRouteContainer",
		"deliveries_delayed_1sec_total": "deliveriesDelayed1Sec", "deliveries_delayed_10sec_total": "deliveriesDelayed10Sec",
		"deliveries_stuck_total": "deliveriesStuck", "deliveries_redirected_to_fallback_total": "deliveriesRedirectedToFallback",
	} {
		if v, there := metrics["qdr_"+name]; !there || fmt.Sprint(v) != fmt.Sprint(r[attribute]) {
			t.Errorf("qdr_%s is %v (%v), %s is %v", name, v, there, attribute, r[attribute])
		}
	}
	// A query is answered by a delivery of its own.
	for _, name := range []string{"links_total", "links_blocked_total", "presettled_deliveries_total", "accepted_deliveries_total", "deliveries_ingress_total", "deliveries_egress_total"} {
		if _, there := metrics["qdr_"+name]; !there {
			t.Errorf("no qdr_%s", name)
		}
	}
	for _, name := range []string{"accepted_deliveries_total", "deliveries_ingress_total", "deliveries_egress_total"} {
		if n := metrics["qdr_"+name]; n < 3 {
			t.Errorf("qdr_%s is %v, want 3 at least", name, n)
		}
	}
	if n := metrics[`sluice_connection_open{container="generated",role="normal",user="anonymous"}`]; n != 2 {
		t.Errorf("%v connections have container-ids that are made up, want 2", n)
	}
}
