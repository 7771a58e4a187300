package e2e

import (
	"strings"
	"testing"
	"time"

	wire "sluice/tests/raw"
)

// scraped is a series as /metrics shows it, "" if it is not there.
func (s *site) scraped(series string) string {
	_, text := s.get("http://" + s.http[0] + "/metrics")
	_, after, found := strings.Cut(text, "\nsluice_"+series+" ")
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(after, "\n")
	return value
}

// wants waits until series have values: outcomes are counted when they pass.
func (s *site) wants(pairs ...string) {
	s.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		got := ""
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if got = s.scraped(pairs[i]); got == pairs[i+1] {
				break
			}
		}
		if got != pairs[i+1] {
			s.t.Errorf("%s is %q, want %s", pairs[i], got, pairs[i+1])
		}
	}
}

// dial is a client over a WebSocket.
func (s *site) dial(container string) *wire.Conn {
	s.t.Helper()
	c, err := wire.Client(s.socket("ws://"+s.http[0], nil), wire.Options{Container: container, MaxFrame: 16 << 10, Window: 2048})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Abort)
	return c
}

// send sends messages and waits for their outcomes.
func send(t *testing.T, x *wire.Sender, n int) {
	t.Helper()
	for range n {
		if err := x.Send(wire.Data([]byte("x")), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.WaitSettled(n); err != nil {
		t.Fatal(err)
	}
}

// What an address, a peer and a class of links have carried is counted, and no
// count falls when a link or a connection leaves, or comes back.
func TestMetricsByAddressPeerAndClass(t *testing.T) {
	s := newSite(t, webListener+"}\n")
	receiving := s.dial("receives")
	receiving.MustSession().MustReceiver("q", wire.ReceiverOptions{Credit: 100})
	sending := s.dial("sends")
	session := sending.MustSession()
	out := session.MustSender("q", wire.SenderOptions{})
	send(t, out, 30)
	const in, received = `{address="q",direction="in"}`, `{container="receives",direction="out",role="normal",user="anonymous"}`
	const sent, class = `{container="sends",direction="in",role="normal",user="anonymous"}`, `{class="endpoint",direction="in"}`
	s.wants("address_deliveries_total"+in, "30", `address_deliveries_total{address="q",direction="out"}`, "30",
		`address_consumers{address="q"}`, "1", `address_producers{address="q"}`, "1", `address_gate{address="q"}`, "0", `address_credit{address="q"}`, "70",
		"connection_deliveries_total"+sent, "30", "connection_deliveries_total"+received, "30", "class_deliveries_total"+class, "30",
		`connection_open{container="sends",role="normal",user="anonymous"}`, "1", `connection_links{container="sends",role="normal",user="anonymous"}`, "1",
		`class_links{class="endpoint",direction="in"}`, "1", "websockets", "2")
	if err := out.Detach(); err != nil {
		t.Fatal(err)
	}
	s.wants(`address_producers{address="q"}`, "0", "address_deliveries_total"+in, "30", "connection_deliveries_total"+sent, "30", "class_deliveries_total"+class, "30")
	sending.Close()
	s.wants("connections", "1", "connection_deliveries_total"+sent, "30", "class_deliveries_total"+class, "30",
		`connection_open{container="sends",role="normal",user="anonymous"}`, "0", `deliveries_outcomes_total{outcome="accepted"}`, "30")
	again := s.dial("sends")
	send(t, again.MustSession().MustSender("q", wire.SenderOptions{}), 12)
	s.wants("connection_deliveries_total"+sent, "42", "class_deliveries_total"+class, "42", "address_deliveries_total"+in, "42")
	again.Close()
	receiving.Close()
	s.wants("connections", "0", "addresses", "0", "class_deliveries_total"+class, "42", "connection_deliveries_total"+received, "42", "deliveries_ingress_total", "42")
	other := s.dial("other")
	other.MustSession().MustReceiver("q", wire.ReceiverOptions{Credit: 1})
	s.wants("address_deliveries_total"+in, "42") // it goes on where it was
}

// Beyond the bound the busiest have series, and the others are added up.
func TestMetricsAreBounded(t *testing.T) {
	s := newSite(t, "router {\nmetricsSeries: 2\n}\n"+webListener+"}\n")
	c := s.dial("c")
	session := c.MustSession()
	for i, name := range []string{"a", "b", "c", "d"} {
		session.MustReceiver(name, wire.ReceiverOptions{Credit: 100})
		send(t, c.MustSession().MustSender(name, wire.SenderOptions{}), 10*(i+1))
	}
	s.wants(`address_deliveries_total{address="d",direction="in"}`, "40", `address_deliveries_total{address="c",direction="in"}`, "30",
		`address_deliveries_total{address="other",direction="in"}`, "30", `address_consumers{address="other"}`, "2", `series_folded{by="address"}`, "2",
		`address_deliveries_total{address="a",direction="in"}`, "")
}

// One line says what a connection did; those who only knock have none.
func TestAccessLines(t *testing.T) {
	s := newSite(t, webListener+"}\n")
	c := s.dial("client-1")
	c.MustSession().MustReceiver("q", wire.ReceiverOptions{Credit: 10})
	send(t, c.MustSession().MustSender("q", wire.SenderOptions{}), 7)
	c.Close()
	probe := s.socket("ws://"+s.http[0], nil)
	probe.Close()
	s.wants("connections", "0")
	s.stop()
	lines := 0
	for line := range strings.Lines(s.logged()) {
		if strings.Contains(line, "Connection Closed") {
			lines++
			for _, want := range []string{"SERVER (info) ", "container=client-1", "user=anonymous", "messagesIn=7", "messagesOut=7", "bytesIn=", "bytesOut=", "for=", "peer=127.0.0.1:"} {
				if !strings.Contains(line, want) {
					t.Errorf("%s has no %s", line, want)
				}
			}
		}
	}
	if lines != 1 {
		t.Errorf("%d lines:\n%s", lines, s.logged())
	}
}

// A receiver that does not settle, and one that gives no credit while a message
// waits, are warned of, once: with link and peer, the age, and what it waits for; and
// metrics say so.
func TestStuckDeliveries(t *testing.T) {
	s := newSite(t, "router {\nstuckDeliverySeconds: 1\n}\n"+webListener+"}\n")
	slow := s.dial("slow")
	slow.MustSession().MustReceiver("q", wire.ReceiverOptions{Name: "slow-link", Credit: 10, Manual: true})
	out := s.dial("sends").MustSession().MustSender("q", wire.SenderOptions{})
	if err := out.Send(wire.Data([]byte("x")), false); err != nil {
		t.Fatal(err)
	}
	none := s.dial("no-credit")
	none.MustSession().MustReceiver("w", wire.ReceiverOptions{})
	waits := s.dial("sends").MustSession().MustSender("w", wire.SenderOptions{})
	if err := waits.Send(wire.Data([]byte("x")), false); err != nil {
		t.Fatal(err)
	}
	s.wants("links_stuck", "2")
	s.wants("deliveries_stuck", "1")
	slow.Close()
	none.Close()
	s.wants("links_stuck", "0")
	s.stop()
	log := s.logged()
	_, line, _ := strings.Cut(log, "a delivery is stuck: it waits for the receiver to settle")
	line, _, _ = strings.Cut(line, "\n")
	for _, want := range []string{"address=q", "age=", "container=slow", "link=slow-link", "peer=127.0.0.1:", "unsettled=1", "user=anonymous", "conn=C1"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q has no %s", line, want)
		}
	}
	if _, line, _ = strings.Cut(log, "it waits for credit of the receiver "); !strings.Contains(line, "address=w") || !strings.Contains(line, "container=no-credit") {
		t.Errorf("%.200q", line)
	}
	if n := strings.Count(log, "is stuck"); n != 2 {
		t.Errorf("%d lines:\n%s", n, log)
	}
}
