package management_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"sluice/cmd/internal/client"
	"sluice/cmd/internal/management"
	"sluice/cmd/internal/management/agenttest"
	"sluice/router"
	"sluice/router/control/config"
	"sluice/router/control/logging"
)

// routerAt runs a router for a test, and returns its URL.
func routerAt(t *testing.T) string {
	t.Helper()
	cfg, problems := config.LoadText("x.conf", "listener {\nhost: 127.0.0.1\nport: 0\n}\naddress {\npattern: never.#\ndistribution: unavailable\n}\n", config.Options{})
	if cfg == nil {
		t.Fatal(problems)
	}
	logs := logging.New(logging.Options{Stderr: t.Output(), Stdout: t.Output()})
	r, err := router.New(router.Options{Config: cfg, Logs: logs})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-done
		logs.Close()
	})
	return r.Addrs()[0].String()
}

func dial(t *testing.T, url string) *goamqp.Conn {
	t.Helper()
	conn, err := client.Dial(t.Context(), client.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// serve has an agent answer at an address.
func serve(t *testing.T, url string, a *agenttest.Agent, address string) {
	t.Helper()
	conn := dial(t, url)
	ctx, stop := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- a.Serve(ctx, conn, address, ready) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
}

func connect(t *testing.T, url string, timeout time.Duration) *management.Client {
	t.Helper()
	c, err := management.New(t.Context(), dial(t, url), timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Requests and replies cross a router; many may be on their way.
func TestRequestsAcrossARouter(t *testing.T) {
	url := routerAt(t)
	for _, id := range []string{"A", "B"} {
		a := numbered(2500)
		a.Nodes = []string{id}
		serve(t, url, a, "agent."+id)
	}
	c := connect(t, url, 20*time.Second)
	var asking sync.WaitGroup
	for i := range 20 {
		asking.Go(func() {
			id := string("AB"[i%2])
			n := c.Node("agent "+id, "agent."+id)
			if ids, err := management.Routers(t.Context(), n); err != nil || !slices.Equal(ids, []string{id}) {
				t.Errorf("agent %s: %v, %v", id, ids, err)
			}
		})
	}
	asking.Wait()
	rows := 0
	for p, err := range (management.Query{Type: link}).Run(t.Context(), c.Node("A", "agent.A")) {
		if err != nil {
			t.Fatal(err)
		}
		rows += len(p.Rows)
	}
	if rows != 2500 {
		t.Errorf("%d rows", rows)
	}
	_, err := c.Node("A", "agent.A").Call(t.Context(), &management.Request{Operation: "FROB"})
	var refused *management.StatusError
	if !errors.As(err, &refused) || refused.Code != 501 || !strings.Contains(err.Error(), "501 Not Implemented: Operation 'FROB'") {
		t.Errorf("%v", err)
	}
}

// Who does not answer costs the time-out, and the next request nothing.
func TestNoAnswer(t *testing.T) {
	url := routerAt(t)
	serve(t, url, numbered(1), "agent")
	c := connect(t, url, 200*time.Millisecond)
	_, err := c.Node("router B", "nobody").Call(t.Context(), &management.Request{Operation: "GET-TYPES"})
	var none *management.NoAnswer
	if !errors.As(err, &none) || err.Error() != "router B did not answer within 200ms" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Node("router B", "nobody").Call(ctx, &management.Request{Operation: "GET-TYPES"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := connect(t, url, 20*time.Second).Node("A", "agent").Call(t.Context(), &management.Request{Operation: "GET-TYPES"}); err != nil {
		t.Error(err)
	}
}

func TestARefusedAddressSaysWhy(t *testing.T) {
	c := connect(t, routerAt(t), 20*time.Second)
	for range 2 { // the second attach is a new one
		_, err := c.Node("it", "never.x").Call(t.Context(), &management.Request{Operation: "GET-TYPES"})
		var failure *client.Failure
		if !errors.As(err, &failure) || failure.Kind != client.Refused || !strings.Contains(err.Error(), `the router refused the link to "never.x"`) {
			t.Errorf("%v", err)
		}
	}
}

// What is lost with the connection is told at once.
func TestALostConnection(t *testing.T) {
	url := routerAt(t)
	silent := dial(t, url)
	session, err := silent.NewSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := session.NewReceiver(t.Context(), "silent", nil)
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, url)
	c, err := management.New(t.Context(), conn, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	failed := make(chan error, 1)
	go func() {
		_, err := c.Node("it", "silent").Call(t.Context(), &management.Request{Operation: "GET-TYPES"})
		failed <- err
	}()
	m, err := taken.Receive(t.Context(), nil)
	if err == nil {
		err = taken.AcceptMessage(t.Context(), m)
	}
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := <-failed; err == nil || strings.Contains(err.Error(), "did not answer") {
		t.Errorf("%v", err)
	}
}
