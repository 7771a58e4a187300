package interop

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"sluice/amqp"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

func dialRaw(t testing.TB, addr string, o raw.Options) *raw.Conn {
	t.Helper()
	c, err := raw.Dial(addr, o)
	must(t, err)
	t.Cleanup(c.Abort)
	return c
}

// A message is for nobody once its ttl has run out: the sender is told, and the
// receiver that comes later gets the next one.
func TestTTL_RunsOutWhileWaiting(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	c := dialGo(t, b.URL(), nil)
	in := c.receiver("q", &goamqp.ReceiverOptions{Credit: -1})
	out := c.sender("q", nil)
	m := text("short-lived")
	m.Header = &goamqp.MessageHeader{Priority: 4, TTL: 50 * time.Millisecond}
	late := c.send(out, m)
	want := &goamqp.StateModified{UndeliverableHere: true}
	if got := <-late; !reflect.DeepEqual(got, want) {
		t.Errorf("outcome %#v, want %#v", got, want)
	}
	fresh := c.send(out, text("fresh"))
	must(t, in.IssueCredit(10))
	if got := string(c.accept(in).GetData()); got != "fresh" {
		t.Errorf("received %q", got)
	}
	c.wantAccepted(fresh)
	b.WaitMetric(`sluice_deliveries_dropped_total{cause="ttl"}`, "1", func(v float64) bool { return v == 1 })
}

// The ttl that a receiver sees is what is left of it.
func TestTTL_IsReducedByTheTimeWaited(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	c := dialGo(t, b.URL(), nil)
	in := c.receiver("q", &goamqp.ReceiverOptions{Credit: -1})
	m := text("x")
	m.Header = &goamqp.MessageHeader{Priority: 4, TTL: time.Minute}
	outcome := c.send(c.sender("q", nil), m)
	b.WaitMetric("sluice_deliveries_waiting", "1", func(v float64) bool { return v == 1 })
	time.Sleep(30 * time.Millisecond) // what is measured is the passing of time
	must(t, in.IssueCredit(1))
	got := c.accept(in)
	if ttl := got.Header.TTL; ttl > time.Minute-30*time.Millisecond || ttl < 30*time.Second {
		t.Errorf("ttl %v, want a little less than a minute", ttl)
	}
	c.wantAccepted(outcome)
}

// What waits is delivered by priority, and in order within one.
func TestPriority_DecidesWhatWaits(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	c := dialGo(t, b.URL(), nil)
	in := c.receiver("q", &goamqp.ReceiverOptions{Credit: -1})
	out := c.sender("q", nil)
	var want []string
	for i, p := range []uint8{1, 9, 4, 9, 1} {
		m := text(fmt.Sprint(p, "/", i))
		m.Header = &goamqp.MessageHeader{Priority: p}
		c.send(out, m)
	}
	want = []string{"9/1", "9/3", "4/2", "1/0", "1/4"}
	b.WaitMetric("sluice_deliveries_waiting", "5", func(v float64) bool { return v == 5 })
	must(t, in.IssueCredit(5))
	for _, w := range want {
		if got := string(c.accept(in).GetData()); got != w {
			t.Errorf("received %s, want %s", got, w)
		}
	}
}

// Properties, annotations, footers and bodies of every kind arrive byte for byte,
// in one frame and in many; so does a message-format that the router does not
// know.
func TestBC67_MessagesArriveByteForByte(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	s := dialRaw(t, b.Addr(), raw.Options{MaxFrame: 512}).MustSession()
	sections := map[string][]byte{
		// Encodings that a decoder and encoder of ours would not choose.
		"annotations": append([]byte{0x00, 0x53, 0x72, 0xd1, 0, 0, 0, 24, 0, 0, 0, 2, 0xb3, 0, 0, 0, 7}, "x-opt-a\xb1\x00\x00\x00\x03abc"...),
		"properties":  append([]byte{0x00, 0x53, 0x73, 0xd0, 0, 0, 0, 19, 0, 0, 0, 2, 0x80, 0, 0, 0, 0, 0, 0, 0, 9, 0xa0, 4}, "user"...),
		"application": append([]byte{0x00, 0x53, 0x74, 0xc1, 6, 2}, "\xa1\x01k\x54\x05"...),
	}
	body := raw.Data(bytes.Repeat([]byte("0123456789"), 200))
	footer := append([]byte{0x00, 0x53, 0x78, 0xc1, 10, 2}, "\xa3\x05x-sum\x54\x07"...)
	var message []byte
	for _, name := range []string{"annotations", "properties", "application"} {
		message = append(message, sections[name]...)
	}
	message = append(append(message, body...), footer...)
	type received struct {
		format  uint32
		message []byte
	}
	got := make(chan received, 10)
	var now received
	_, err := s.Receiver("q", raw.ReceiverOptions{Credit: 10, Frame: func(f *raw.Frame) {
		if f.First {
			now = received{format: f.Format}
		}
		now.message = append(now.message, f.Payload...)
		if f.Last {
			got <- now
		}
	}})
	must(t, err)
	out, err := s.Sender("q", raw.SenderOptions{})
	must(t, err)
	for _, want := range []received{
		{0, message},
		{0, append(append([]byte(nil), sections["properties"]...), 0x00, 0x53, 0x77, 0x45)},
		{0x80013700, message},
		{0x80013700, []byte("no sections at all")},
		{7, bytes.Repeat([]byte{0xff}, 5000)},
	} {
		must(t, out.SendFormat(want.format, want.message, false))
		select {
		case g := <-got:
			if g.format != want.format || !bytes.Equal(g.message, want.message) {
				t.Errorf("format %#x: %d bytes of format %#x arrived, want %d: they differ", want.format, len(g.message), g.format, len(want.message))
			}
		case <-time.After(harness.Patience):
			t.Fatal("nothing arrived")
		}
	}
	must(t, out.WaitSettled(5))
	if r := out.Result(); r.Accepted != 5 {
		t.Errorf("%+v, want 5 accepted", r)
	}
}

// A sender starts with one credit, since the size of its messages is not known,
// and has linkCapacity of them when that is small.
func TestCredit_FollowsCapacityAndSize(t *testing.T) {
	b := harness.Start(t, harness.Listeners("linkCapacity: 50\nlinkBytes: 100000"))
	s := dialRaw(t, b.Addr(), raw.Options{}).MustSession()
	out, err := s.Sender("q", raw.SenderOptions{Attach: nil})
	must(t, err)
	if n := out.Credit(); n != 0 {
		t.Errorf("credit %d without a destination", n)
	}
	in, err := s.Receiver("q", raw.ReceiverOptions{Credit: 1000})
	must(t, err)
	must(t, out.WaitCredit(1))
	if n := out.Credit(); n != 1 {
		t.Errorf("credit %d before the first message", n)
	}
	must(t, out.Send(raw.Data(make([]byte, 100)), false))
	must(t, out.WaitCredit(49))
	if n := out.Credit(); n > 50 {
		t.Errorf("credit %d, linkCapacity is 50", n)
	}
	// 100,000 bytes hold ten messages of 10,000.
	for range 30 {
		must(t, out.Send(raw.Data(make([]byte, 10000)), false))
	}
	must(t, out.WaitSettled(31))
	if !harness.Eventually(5*time.Second, func() bool { return out.Credit() <= 10 }) {
		t.Errorf("credit %d for messages of 10,000 bytes, linkBytes is 100,000", out.Credit())
	}
	// Without a destination credit is taken back.
	must(t, in.Detach())
	if !harness.Eventually(harness.Patience, func() bool { return out.Credit() == 0 }) {
		t.Errorf("credit %d after the last destination has gone", out.Credit())
	}
}

// Many senders on connections of their own share one receiver.
func TestFanIn(t *testing.T) {
	const senders, each = 200, 100
	b := harness.Start(t, harness.Loopback)
	in, err := dialRaw(t, b.Addr(), raw.Options{}).MustSession().Receiver("q", raw.ReceiverOptions{Credit: 500})
	must(t, err)
	var wg sync.WaitGroup
	errs := make(chan error, senders)
	for i := range senders {
		wg.Go(func() {
			errs <- func() error {
				c, err := raw.Dial(b.Addr(), raw.Options{Container: fmt.Sprint("sender-", i)})
				if err != nil {
					return err
				}
				out, err := c.MustSession().Sender("q", raw.SenderOptions{})
				if err != nil {
					return err
				}
				for range each {
					if err := out.Send(raw.Data(make([]byte, 100)), false); err != nil {
						return err
					}
				}
				if err := out.WaitSettled(each); err != nil {
					return err
				}
				if r := out.Result(); r.Accepted != each || r.Twice != 0 {
					return fmt.Errorf("%+v", r)
				}
				return c.Close()
			}()
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	must(t, in.WaitMessages(senders*each))
	if n := in.Messages(); n != senders*each {
		t.Errorf("%d messages, want %d", n, senders*each)
	}
	b.WaitMetric("sluice_connections", "1", func(v float64) bool { return v == 1 })
}

// SIGTERM closes connections with amqp:connection:forced, and the process ends
// with status 0.
func TestShutdown_ClosesForced(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	c := dialRaw(t, b.Addr(), raw.Options{})
	g := dialGo(t, b.URL(), nil)
	b.Stop()
	if !harness.Eventually(harness.Patience, func() bool { return c.Err() != nil }) {
		t.Fatal("the connection stays open")
	}
	if e := c.Condition(); e == nil || e.Condition != amqp.CondConnectionForced {
		t.Errorf("closed with %v (%v)", e, c.Err())
	}
	<-g.conn.Done()
	var closed *goamqp.ConnError
	if err := g.conn.Err(); !errors.As(err, &closed) || closed.RemoteErr == nil || closed.RemoteErr.Condition != goamqp.ErrCondConnectionForced {
		t.Errorf("go-amqp: closed with %v", err)
	}
	if _, err := net.DialTimeout("tcp", b.Addr(), time.Second); err == nil {
		t.Error("the port is still open")
	}
}

// An idle peer is closed with resource-limit-exceeded: §2.4.5.
func TestIdlePeer_IsClosed(t *testing.T) {
	b := harness.Start(t, harness.Listeners("idleTimeoutSeconds: 1"))
	c := dialRaw(t, b.Addr(), raw.Options{Silent: true})
	start := time.Now()
	if !harness.Eventually(harness.Patience, func() bool { return c.Err() != nil }) {
		t.Fatal("the connection stays open")
	}
	if e := c.Condition(); e == nil || e.Condition != amqp.CondResourceLimitExceeded && e.Condition != amqp.CondConnectionForced {
		t.Errorf("closed with %v (%v)", e, c.Err())
	}
	if d := time.Since(start); d < 900*time.Millisecond || d > 10*time.Second {
		t.Errorf("closed after %v", d)
	}
}

// A frame larger than was allowed closes the connection with framing-error.
func TestFrameTooLarge_ClosesConnection(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	c := dialRaw(t, b.Addr(), raw.Options{})
	c.Write([]byte{0, 1, 0, 0, 2, 0, 0, 0})
	if !harness.Eventually(harness.Patience, func() bool { return c.Err() != nil }) {
		t.Fatal("the connection stays open")
	}
	if e := c.Condition(); e == nil || e.Condition != amqp.CondFramingError {
		t.Errorf("closed with %v (%v)", e, c.Err())
	}
}

// After replaced files and SIGHUP new connections see the new certificate, and
// old ones go on.
func TestCertificateReload(t *testing.T) {
	s := newSecrets(t)
	b := harness.Start(t, s.config())
	serial := func() string {
		tc := s.client()
		conn, err := tls.Dial("tcp", at(b, external), tc)
		must(t, err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	before := serial()
	old := dialGo(t, "amqps://"+at(b, external), &goamqp.ConnOptions{TLSConfig: s.client(), SASLType: goamqp.SASLTypeExternal("")})
	s.issue("server", "localhost")
	b.Signal(syscall.SIGHUP)
	b.WaitLog("configuration reloaded", 1)
	if after := serial(); after == before {
		t.Errorf("the certificate is still number %s", after)
	}
	goExchange(old)
	goExchange(dialGo(t, "amqps://"+at(b, external), &goamqp.ConnOptions{TLSConfig: s.client(), SASLType: goamqp.SASLTypeExternal("")}))
}

// A reload with a mistake changes nothing.
func TestReload_WithMistakeKeepsTheOld(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	b.Config("router {\n mode: sideways\n}\n")
	b.Signal(syscall.SIGHUP)
	b.WaitLog("configuration not reloaded", 1)
	goExchange(dialGo(t, b.URL(), nil))
}

// A reload changes how new addresses are treated.
func TestReload_NewAddresses(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	b.Config(harness.Loopback + "\naddress {\n prefix: forbidden\n distribution: unavailable\n}\n")
	b.Signal(syscall.SIGHUP)
	b.WaitLog("configuration reloaded", 1)
	c := dialGo(t, b.URL(), nil)
	_, err := c.session.NewSender(ctx(t), "forbidden", nil)
	var refused *goamqp.Error
	if !errors.As(err, &refused) || refused.Condition != goamqp.ErrCondNotFound {
		t.Errorf("an unavailable address: %v", err)
	}
	goExchange(c)
}

func TestConfigMistake_ExitsWith1(t *testing.T) {
	for name, config := range map[string]string{
		"unknown attribute": "router {\n id: x\n colour: red\n}\n",
		"unknown entity":    "rooter {\n id: x\n}\n",
		"no certificate":    "sslProfile {\n name: p\n certFile: /none.pem\n privateKeyFile: /none.key\n}\nlistener {\n port: 0\n sslProfile: p\n}\n",
		"unknown profile":   "listener {\n port: 0\n sslProfile: nobody\n}\n",
	} {
		status, output := harness.Fail(t, config)
		if status != 1 {
			t.Errorf("%s: exit status %d\n%s", name, status, output)
		}
		if !strings.Contains(output, "router.conf:") || strings.Contains(output, "goroutine ") {
			t.Errorf("%s: no place in the file is named:\n%s", name, output)
		}
	}
}

func TestPortInUse_IsOneClearLine(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	status, output := harness.Fail(t, "router {\n id: x\n}\nlistener {\n host: 127.0.0.1\n port: "+port+"\n}\n")
	if status != 1 {
		t.Errorf("exit status %d", status)
	}
	var about []string
	for line := range strings.Lines(output) {
		if strings.Contains(line, "cannot listen") {
			about = append(about, line)
		}
	}
	if len(about) != 1 || !strings.Contains(about[0], port) || !strings.Contains(about[0], "address already in use") {
		t.Errorf("want one line that says so:\n%s", output)
	}
}

func TestHTTP_HealthAndReadiness(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := get(t, "http://"+b.HTTP[0]+path); status != 200 || strings.TrimSpace(body) != "OK" {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _ := get(t, "http://"+b.HTTP[0]+"/nothing"); status != 404 {
		t.Errorf("status %d for what is not there", status)
	}
}

// The commands send and receive talk to a router.
func TestCommands_SendAndReceive(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	done := make(chan string, 1)
	go func() {
		out, err := command(t, "receive", "greetings", "--url", b.URL(), "--count", "1", "--timeout", "30s")
		done <- fmt.Sprint(out, err)
	}()
	b.WaitMetric("sluice_addresses", "1", func(v float64) bool { return v == 1 })
	out, err := command(t, "send", "greetings", "hello, world", "--url", b.URL())
	if err != nil {
		t.Errorf("send: %v\n%s", err, out)
	}
	if got := <-done; !strings.Contains(got, "hello, world") || !strings.Contains(got, "<nil>") {
		t.Errorf("receive: %s", got)
	}
	// Nobody listens: status 3.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	url := "amqp://" + l.Addr().String()
	l.Close()
	if out, err := command(t, "send", "x", "y", "--url", url); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("send to nobody: %v\n%s", err, out)
	}
}

// A new attach under a name in use wins on its connection; on others the same
// name is another link.
func TestBC51_NamesAreOfAConnection(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	first := dialRaw(t, b.Addr(), raw.Options{Container: "same"})
	s := first.MustSession()
	in, err := s.Receiver("q", raw.ReceiverOptions{Name: "x", Credit: 1})
	must(t, err)
	_, err = s.Sender("q", raw.SenderOptions{Name: "x"}) // the other direction
	must(t, err)
	second := dialRaw(t, b.Addr(), raw.Options{Container: "same"})
	_, err = second.MustSession().Receiver("q", raw.ReceiverOptions{Name: "x", Credit: 1})
	must(t, err)
	if d := in.Detached(); d != nil {
		t.Fatalf("a link of another connection was stolen: %v", d.Error)
	}
	_, err = first.MustSession().Receiver("q", raw.ReceiverOptions{Name: "x", Credit: 1})
	must(t, err)
	if !harness.Eventually(harness.Patience, func() bool { return in.Detached() != nil }) {
		t.Fatal("two links of one name and direction on one connection")
	}
	if e := in.Detached().Error; e == nil || e.Condition != amqp.CondStolen {
		t.Errorf("detached with %v, want amqp:link:stolen", e)
	}
}

// Rejected outcomes pass at full rate, and afterwards everything goes on.
func TestBC21_RejectsPass(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	c := dialGo(t, b.URL(), nil)
	in := c.receiver("q", &goamqp.ReceiverOptions{Credit: 50})
	out := c.sender("q", nil)
	full := &goamqp.Error{Condition: goamqp.ErrCondResourceLimitExceeded, Description: "the queue is full"}
	const n = 300 // a third is accepted, a third rejected, a third accepted
	go func() {
		for i := range n {
			m, err := in.Receive(context.Background(), nil)
			if err != nil {
				return
			}
			if i >= n/3 && i < 2*n/3 {
				in.RejectMessage(context.Background(), m, full)
			} else {
				in.AcceptMessage(context.Background(), m)
			}
		}
	}()
	for i := range n {
		state := <-c.send(out, text("x"))
		rejected, ok := state.(*goamqp.StateRejected)
		if ok != (i >= n/3 && i < 2*n/3) || ok && !reflect.DeepEqual(rejected.Error, full) {
			t.Fatalf("outcome %d is %#v", i, state)
		}
	}
}

// Totals never fall, also when links and addresses go, and every message that
// found no receiver is counted.
func TestMetrics_TotalsStay(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	in := dialRaw(t, b.Addr(), raw.Options{})
	_, err := in.MustSession().Receiver("q", raw.ReceiverOptions{Credit: 100})
	must(t, err)
	c := dialRaw(t, b.Addr(), raw.Options{})
	s := c.MustSession()
	out, err := s.Sender("q", raw.SenderOptions{})
	must(t, err)
	anonymous, err := s.Sender("", raw.SenderOptions{})
	must(t, err)
	for i := range 20 {
		must(t, out.Send(raw.Data([]byte("x")), i%2 == 0))
	}
	for i := range 4 {
		message := append(append([]byte{0x00, 0x53, 0x73, 0xc0, 10, 3, 0x40, 0x40, 0xa1, 6}, "nobody"...), raw.Data([]byte("x"))...)
		message[4] = byte(len("nobody") + 5)
		must(t, anonymous.Send(message, i%2 == 0))
	}
	must(t, out.WaitSettled(10))
	must(t, anonymous.WaitSettled(2))
	want := map[string]float64{
		"sluice_deliveries_ingress_total":                         20,
		"sluice_deliveries_egress_total":                          20,
		`sluice_deliveries_outcomes_total{outcome="accepted"}`:    10,
		`sluice_deliveries_outcomes_total{outcome="released"}`:    2,
		`sluice_deliveries_outcomes_total{outcome="presettled"}`:  12,
		`sluice_deliveries_dropped_total{cause="no-destination"}`: 4,
	}
	check := func(when string) {
		t.Helper()
		m := b.Metrics()
		for name, v := range want {
			if m[name] != v {
				t.Errorf("%s: %s is %v, want %v", when, name, m[name], v)
			}
		}
	}
	check("attached")
	must(t, c.Close())
	must(t, in.Close())
	b.WaitMetric("sluice_addresses", "0", func(v float64) bool { return v == 0 })
	check("afterwards")
}
