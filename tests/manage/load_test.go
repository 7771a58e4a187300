package manage

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// Ten thousand addresses are created one by one, and read again, in seconds.
func TestManyAddresses(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	const n = 10000
	began := time.Now()
	for i := range n {
		a.must("operation=CREATE, type=...router.config.address", map[string]any{"prefix": fmt.Sprintf("addresses/%d", i), "distribution": "closest"})
	}
	created := time.Since(began)
	began = time.Now()
	if rows := a.query("router.config.address"); len(rows) != n {
		t.Errorf("%d addresses", len(rows))
	}
	read := time.Since(began)
	began = time.Now()
	body := a.must("operation=QUERY, entityType=...router.config.address", map[string]any{"attributeNames": []any{}}).(map[string]any)
	if rows := body["results"].([]any); len(rows) != n {
		t.Errorf("%d addresses", len(rows))
	}
	report(t, "%d addresses created in %v, read in pages in %v, at once in %v", n, created.Round(time.Millisecond), read.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if created > 10*time.Second || read > 2*time.Second {
		t.Errorf("created in %v, read in %v", created, read)
	}
}

// BC-97: connections that are streaming messages of many frames are closed by
// management, each with amqp:connection:forced, and once more without harm;
// others keep their messages.
func TestBC97_CloseBusyConnections(t *testing.T) {
	busy := 100
	if os.Getenv("SLUICE_FULL") != "" {
		busy = 1000
	}
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	ctx, cancel := context.WithTimeout(context.Background(), 5*harness.Patience)
	defer cancel()
	connect := func(container string) (*goamqp.Conn, *goamqp.Session) {
		c, err := goamqp.Dial(ctx, b.URL(), &goamqp.ConnOptions{ContainerID: container, MaxFrameSize: 4096})
		must(t, err)
		t.Cleanup(func() { c.Close() })
		s, err := c.NewSession(ctx, nil)
		must(t, err)
		return c, s
	}
	_, quiet := connect("quiet")
	in, err := quiet.NewReceiver(ctx, "quiet", &goamqp.ReceiverOptions{Credit: 10})
	must(t, err)
	out, err := quiet.NewSender(ctx, "quiet", nil)
	must(t, err)
	body := []byte(strings.Repeat("x", 64<<10))
	var running sync.WaitGroup
	ends := make(chan error, busy)
	start := make(chan struct{})
	for i := range busy {
		_, s := connect(fmt.Sprint("busy-", i))
		address := fmt.Sprint("busy/", i)
		r, err := s.NewReceiver(ctx, address, &goamqp.ReceiverOptions{Credit: 10})
		must(t, err)
		w, err := s.NewSender(ctx, address, nil)
		must(t, err)
		running.Go(func() {
			for {
				m, err := r.Receive(ctx, nil)
				if err != nil {
					return
				}
				r.AcceptMessage(ctx, m)
			}
		})
		running.Go(func() {
			<-start
			for {
				if err := w.Send(ctx, goamqp.NewMessage(body), nil); err != nil {
					ends <- err
					return
				}
			}
		})
	}
	rows := a.query("connection", "identity", "container")
	close(start)
	began := time.Now()
	for _, c := range rows {
		if !strings.HasPrefix(c["container"].(string), "busy-") {
			continue
		}
		update := "operation=UPDATE, type=...connection, identity=" + c["identity"].(string)
		for range 2 {
			r := a.must(update, map[string]any{"adminStatus": "deleted"}).(map[string]any)
			if r["adminStatus"] != "deleted" || r["operStatus"] != "closing" {
				t.Fatalf("got %v", r)
			}
		}
		receipt, err := out.SendWithReceipt(ctx, goamqp.NewMessage([]byte("still here")), nil)
		must(t, err)
		m, err := in.Receive(ctx, nil)
		must(t, err)
		must(t, in.AcceptMessage(ctx, m))
		_, err = receipt.Wait(ctx)
		must(t, err)
	}
	running.Wait()
	for range busy {
		if err := <-ends; !strings.Contains(err.Error(), "amqp:connection:forced") {
			t.Fatalf("a connection ended with %v", err)
		}
	}
	wait(t, "only two are left", func() bool { return len(a.query("connection", "identity")) == 2 })
	report(t, "%d busy connections are closed after %v", busy, time.Since(began).Round(time.Millisecond))
	a.fails("operation=UPDATE, type=...connection, identity=99999", map[string]any{"adminStatus": "deleted"}, 400, "there is no connection 99999")
}

// Lists of many links come in pages or at once, and cost those who send and
// receive meanwhile little.
func TestManyLinks(t *testing.T) {
	connections, each := 10, 1000
	if os.Getenv("SLUICE_FULL") != "" {
		connections = 50
	}
	b := harness.Start(t, harness.Loopback)
	for i := range connections {
		c, err := raw.Dial(b.Addr(), raw.Options{})
		must(t, err)
		t.Cleanup(c.Abort)
		s := c.MustSession()
		for j := range each {
			_, err := s.Receiver(fmt.Sprintf("links/%d/%d", i, j), raw.ReceiverOptions{Credit: 1})
			must(t, err)
		}
	}
	a := dial(t, b.URL(), "$management")
	want := connections*each + 2
	began := time.Now()
	if rows := a.query("router.link"); len(rows) != want {
		t.Errorf("%d links", len(rows))
	}
	paged := time.Since(began)
	began = time.Now()
	body := a.must("operation=QUERY, entityType=...router.link", map[string]any{"attributeNames": []any{}}).(map[string]any)
	if rows := body["results"].([]any); len(rows) != want {
		t.Errorf("%d links", len(rows))
	}
	whole := time.Since(began)
	began = time.Now()
	if r := a.query("router", "linkCount", "addrCount"); r[0]["linkCount"] != uint64(want) {
		t.Errorf("got %v", r)
	}
	report(t, "%d links in pages of 500 in %v, at once in %v; the router's counts in %v", want, paged.Round(time.Millisecond), whole.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))

	c, err := raw.Dial(b.Addr(), raw.Options{})
	must(t, err)
	defer c.Abort()
	s := c.MustSession()
	in, err := s.Receiver("busy", raw.ReceiverOptions{Credit: 1000})
	must(t, err)
	out, err := s.Sender("busy", raw.SenderOptions{})
	must(t, err)
	const n = 1_000_000
	carry := func() time.Duration {
		from, began := in.Messages(), time.Now()
		for i := range n {
			must(t, out.Send(raw.Numbered(nil, 100, uint64(i)), true))
		}
		must(t, in.WaitMessages(from+n))
		return time.Since(began)
	}
	carry()
	alone := carry()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
				a.query("router.link")
			}
		}
	}()
	watched := carry()
	close(stop)
	<-done
	report(t, "%d messages in %v, and in %v while all links are read every second", n, alone.Round(time.Millisecond), watched.Round(time.Millisecond))
}
