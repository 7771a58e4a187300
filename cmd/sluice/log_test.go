package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"sluice/cmd/internal/client"
	"sluice/router"
	"sluice/router/control/config"
	"sluice/router/control/logging"
)

// refuseAttaches runs a router that logs to w and has it refuse n attaches. The
// router goes on until end.
func refuseAttaches(t *testing.T, w io.Writer, settings string, n int) (r *router.Router, logs *logging.Logs, end func()) {
	t.Helper()
	cfg, problems := config.LoadText("x.conf", "listener {\nhost: 127.0.0.1\nport: 0\n}\nlistener {\nhost: 127.0.0.1\nport: 0\nhttp: yes\n}\n"+
		"address {\nprefix: closed\ndistribution: unavailable\n}\n"+settings, config.Options{})
	if cfg == nil {
		t.Fatal(problems)
	}
	logs = logging.New(logging.Options{Stderr: w, Stdout: w})
	if err := logs.Apply(cfg.LogSettings()); err != nil {
		t.Fatal(err)
	}
	r, err := router.New(router.Options{Config: cfg, Logs: logs})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(running) }()
	end = func() {
		stop()
		<-done
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	conn, err := client.Dial(ctx, client.Options{URL: r.Addrs()[0].String()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	session, err := conn.NewSession(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		_, err := session.NewReceiver(ctx, "closed", &goamqp.ReceiverOptions{Name: strings.Repeat("x", 500)})
		if err == nil || !strings.Contains(err.Error(), "Node not found") {
			t.Fatalf("not refused: %v", err)
		}
	}
	return r, logs, end
}

// pipe is a stderr that nobody reads until it is opened.
type pipe struct {
	opened chan struct{}
	syncBuffer
}

func (p *pipe) Write(b []byte) (int, error) {
	<-p.opened
	return p.syncBuffer.Write(b)
}

// A stderr that nobody reads stops neither connections nor metrics, which tell
// of it, nor the end.
func TestAStderrThatNobodyReads(t *testing.T) {
	out := &pipe{opened: make(chan struct{})}
	r, logs, end := refuseAttaches(t, out, "log {\nmodule: DEFAULT\nenable: trace+\n}\n", 1000)
	answer, err := http.Get("http://" + r.HTTPAddrs()[0].String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^sluice_log_lines_dropped_total (\S+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("no metric in\n%s", text)
	}
	if lost, err := strconv.ParseFloat(string(found[1]), 64); err != nil || lost == 0 {
		t.Errorf("%s lines are lost", found[1])
	}
	end()
	close(out.opened)
	logs.Close()
	if !regexp.MustCompile(`\(warning\) \d+ log lines were lost: the log could not be written fast enough\n`).MatchString(out.String()) {
		t.Errorf("the log does not say that lines are lost; it ends with\n%s", out.String()[max(0, len(out.String())-2000):])
	}
}

// Refused attaches cost a peer nothing, and so only some are logged.
func TestRefusalsDoNotFillTheLog(t *testing.T) {
	const n = 300
	out := new(syncBuffer)
	began := time.Now()
	_, logs, end := refuseAttaches(t, out, "", n)
	seconds := int(time.Since(began)/time.Second) + 1
	end()
	logs.Close()
	lines := strings.Count(out.String(), "attach refused: Node not found")
	if lines < 10 || lines > 10*seconds {
		t.Errorf("%d lines in less than %d s", lines, seconds)
	}
	held := 0
	for _, m := range regexp.MustCompile(`attach refused: (\d+) more of the same kind w\w+ not logged\n`).FindAllStringSubmatch(out.String(), -1) {
		more, _ := strconv.Atoi(m[1])
		held += more
	}
	if lines+held != n {
		t.Errorf("%d lines and %d more, of %d", lines, held, n)
	}
}

// A running is a router that runs until end, and its log.
type running struct {
	*router.Router
	t    *testing.T
	log  *syncBuffer
	logs *logging.Logs
	stop context.CancelFunc
	done chan error
}

func runRouter(t *testing.T, text string) *running {
	t.Helper()
	cfg, problems := config.LoadText("x.conf", text, config.Options{})
	if cfg == nil {
		t.Fatal(problems)
	}
	r := &running{t: t, log: new(syncBuffer), done: make(chan error, 1)}
	r.logs = logging.New(logging.Options{Stderr: r.log, Stdout: r.log})
	var err error
	if r.Router, err = router.New(router.Options{Config: cfg, Logs: r.logs}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { r.done <- r.Run(ctx) }()
	return r
}

// end ends the router and returns all that it has logged.
func (r *running) end() string {
	r.t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		r.t.Error(err)
	}
	r.logs.Close()
	return r.log.String()
}

// await waits until the log has a text.
func (r *running) await(text string) {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(r.log.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("the log lacks %q:\n%s", text, r.log.String())
		}
	}
}

// A flood of clients does not flood the log: those who are not shown are counted.
func TestClientsDoNotFillTheLog(t *testing.T) {
	const n = 100
	r := runRouter(t, "listener {\nhost: 127.0.0.1\nport: 0\n}\n")
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for range n {
		conn, err := client.Dial(ctx, client.Options{URL: r.Addrs()[0].String()})
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	log := r.end()
	seconds := int(time.Since(began)/time.Second) + 1
	for _, kind := range []string{"Connection Opened", "Connection Closed"} {
		lines := len(regexp.MustCompile(`\(info\) `+kind+` \w+=`).FindAllString(log, -1))
		held := 0
		for _, m := range regexp.MustCompile(kind+`: (\d+) more of the same kind w\w+ not logged\n`).FindAllStringSubmatch(log, -1) {
			more, _ := strconv.Atoi(m[1])
			held += more
		}
		if lines < 10 || lines > 10*seconds || lines+held != n {
			t.Errorf("%s: %d lines in less than %d s and %d more, of %d", kind, lines, seconds, held, n)
		}
	}
}

// The lines of a connector say which one it is; its own router's end is no failure
// of it, and nothing is tried again.
func TestLinesOfConnectors(t *testing.T) {
	a := runRouter(t, "router {\nmode: interior\nid: A\n}\nlistener {\nhost: 127.0.0.1\nport: 0\nrole: inter-router\n}\n")
	port := a.Addrs()[0].(*net.TCPAddr).Port
	text := fmt.Sprintf("router {\nmode: interior\nid: B\n}\nlistener {\nhost: 127.0.0.1\nport: 0\n}\nconnector {\nhost: 127.0.0.1\nport: %d\nrole: inter-router\n}\n", port)
	b := runRouter(t, text)
	b.await(`router "A" is a neighbour at cost 1`)
	if log := b.end(); strings.Contains(log, "connection failed") || strings.Contains(log, "retry") || strings.Contains(log, "warning") {
		t.Errorf("the end of the router is a failure of its connector:\n%s", log)
	}
	up := runRouter(t, "router {\nmode: interior\nid: U\n}\nlistener {\nhost: 127.0.0.1\nport: 0\nrole: edge\n}\n")
	e := runRouter(t, fmt.Sprintf("router {\nmode: edge\nid: E\n}\nconnector {\nhost: 127.0.0.1\nport: %d\nrole: edge\n}\n", up.Addrs()[0].(*net.TCPAddr).Port))
	e.await("edge: uplink activated")
	if log := e.end(); strings.Contains(log, "warning") {
		t.Errorf("the end of an edge router is the loss of its uplink:\n%s", log)
	}
	up.end()
	c := runRouter(t, text)
	c.await(`router "A" is a neighbour at cost 1`)
	a.end()
	// The loss of a neighbour is worth a warning; that of this router's own end is not.
	c.await(`ROUTER_HELLO (warning) router "A" is a neighbour no more`)
	want := fmt.Sprintf("connector=connector/127.0.0.1:%d ", port)
	c.await(want)
	c.end()
}

// Who is refused because of his origin finds in the log what would help.
func TestOriginsThatAreRefusedAreLogged(t *testing.T) {
	r := runRouter(t, "listener {\nname: web\nhost: 127.0.0.1\nport: 0\nhttp: yes\n}\n")
	for !r.Ready() {
		time.Sleep(time.Millisecond)
	}
	request, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+r.HTTPAddrs()[0].String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Origin": "https://app.example", "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "amqp",
	} {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden || !strings.Contains(string(text), "websocketOrigins of the listener says which may") {
		t.Errorf("%s: %s", answer.Status, text)
	}
	if log := r.end(); !strings.Contains(log, `HTTP (warning) WebSocket refused: a web page of origin "https://app.example"`) || !strings.Contains(log, "listener=web") {
		t.Errorf("log:\n%s", log)
	}
}
