package main

import (
	"context"
	"io"
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
