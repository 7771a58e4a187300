package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sluice/cmd/internal/client"
	"sluice/cmd/internal/management"
	"sluice/cmd/internal/management/agenttest"
	"sluice/router"
	"sluice/router/control/config"
	"sluice/router/control/logging"
)

// agentAt runs a router in which an agent answers at an address, and returns the
// URL of that.
func agentAt(t *testing.T, a *agenttest.Agent) string {
	t.Helper()
	cfg, problems := config.LoadText("x.conf", "listener {\nhost: 127.0.0.1\nport: 0\n}\n", config.Options{})
	if cfg == nil {
		t.Fatal(problems)
	}
	logs := logging.New(logging.Options{Stderr: new(syncBuffer), Stdout: new(syncBuffer)})
	r, err := router.New(router.Options{Config: cfg, Logs: logs})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- r.Run(ctx) }()
	url := "amqp://" + r.Addrs()[0].String()
	conn, err := client.Dial(ctx, client.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	go func() { ended <- a.Serve(ctx, conn, "agent", ready) }()
	t.Cleanup(func() {
		stop()
		<-ended
		<-ended
		conn.Close()
		logs.Close()
	})
	<-ready
	return url + "/agent"
}

// typed runs a command line, and returns what is seen and the exit status.
func typed(args ...string) (stdout, stderr string, status int) {
	var out, err bytes.Buffer
	status = sluice(append([]string{"sluice"}, args...), &out, &err)
	return out.String(), err.String(), status
}

// An agent of the existing family answers names that it does not know with
// another attribute, and passes over those of a CREATE.
func TestNamesThatAnAgentPassesOver(t *testing.T) {
	a := &agenttest.Agent{NamesUnknown: true, Tables: map[string]*agenttest.Table{
		"router.config.address": {Attributes: []string{"name", "identity", "prefix", "distribution"}, Rows: [][]any{{"one", "1", "orders", "balanced"}}},
	}}
	url := agentAt(t, a)
	for _, test := range []struct {
		args           string
		status         int
		stdout, stderr string
	}{
		{"query --type address prefix --indent -1", 0, `[{"prefix":"orders"}]` + "\n", ""},
		{"query --type address prefx", 1, "", "sluice: 404 Not Found: Unknown attributes ['prefx'] for type org.apache.qpid.dispatch.router.config.address; did you mean prefix?\n"},
		{"create --type address --name two prefix=x distributoin=closest --indent -1", 0, `{"name":"two","prefix":"x"}` + "\n",
			`sluice: the router has ignored "distributoin", which is no attribute of router.config.address; did you mean distribution?` + "\n"},
		{"read --type address --name two --indent -1", 0, `{"name":"two","prefix":"x"}` + "\n", ""},
		{"delete --type address --name two", 0, "", ""},
		{"delete --type address --name two", 1, "", "sluice: 404 Not Found: No entity with name=two\n"},
		{"query --type adress", 1, "", "sluice: 400 Bad Request: No such entity type 'org.apache.qpid.dispatch.adress'; did you mean address?\n"},
		{"frobnicate", 1, "", "sluice: 501 Not Implemented: Operation 'FROBNICATE' not implemented for 'management'\n"},
		{"get-lgo", 1, "", "sluice: 501 Not Implemented: Operation 'GET-LGO' not implemented for 'management'; did you mean get-log?\n"},
		{"get-json-schema", 0, "{}\n", ""},
	} {
		stdout, stderr, status := typed(append([]string{"manage", "--url", url}, strings.Fields(test.args)...)...)
		if stdout != test.stdout || stderr != test.stderr || status != test.status {
			t.Errorf("%s: status %d\n%s%s", test.args, status, stdout, stderr)
		}
	}
}

// A list that ends in an error has no end, and exit status 1.
func TestAQueryThatFailsHalfway(t *testing.T) {
	a := &agenttest.Agent{Tables: map[string]*agenttest.Table{"log": {
		Attributes: []string{"identity"}, N: 5000, Make: func(i int) []any { return []any{i} },
	}}}
	a.Fail = func(r *management.Request) error {
		if r.Properties["offset"] == int32(1000) {
			return errors.New("no more")
		}
		return nil
	}
	stdout, stderr, status := typed("manage", "query", "--type", "log", "--indent", "-1", "--url", agentAt(t, a))
	if status != 1 || stderr != "sluice: 500 Internal Server Error: no more\n" || strings.Count(stdout, "identity") != 1000 || strings.HasSuffix(stdout, "]\n") {
		t.Errorf("status %d, %s: %.60s…", status, stderr, stdout)
	}
}

// What no agent sends is an error, too.
func TestSomeoneElseAnswers(t *testing.T) {
	a := &agenttest.Agent{Tables: map[string]*agenttest.Table{}}
	url := agentAt(t, a)
	_, stderr, status := typed("stat", "connections", "--url", url)
	if status != 1 || !strings.Contains(stderr, "400 Bad Request: No such entity type") {
		t.Errorf("status %d, %s", status, stderr)
	}
	_, stderr, status = typed("stat", "--timeout", "100ms", "--url", strings.TrimSuffix(url, "agent")+"nobody")
	if status != 4 || stderr != "sluice: \"nobody\" did not answer within 100ms\n" {
		t.Errorf("status %d, %s", status, stderr)
	}
}

func TestInterval(t *testing.T) {
	for in, want := range map[string]time.Duration{"true": 2 * time.Second, "5": 5 * time.Second, "0.5": time.Second / 2, "1m": time.Minute, "100ms": 100 * time.Millisecond} {
		if got, err := parseInterval(in); err != nil || got != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"soon", "0", "-1", "10ms", "48h", "", "NaN", "1e300"} {
		if d, err := parseInterval(in); err == nil {
			t.Errorf("%s: %v", in, d)
		}
	}
}
