package main

import (
	"context"
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"sluice/cmd/internal/client"
	"sluice/router"
	"sluice/router/control/config"
	"sluice/router/control/logging"
)

// The warning of a receiver that does not settle says who it is.
func TestAStuckReceiverIsNamed(t *testing.T) {
	cfg, problems := config.LoadText("x.conf", "listener {\nhost: 127.0.0.1\nport: 0\n}\naddress {\nprefix: q\nunsettledTimeoutSeconds: 1\n}\n", config.Options{})
	if cfg == nil {
		t.Fatal(problems)
	}
	log := new(syncBuffer)
	logs := logging.New(logging.Options{Stderr: log, Stdout: log})
	r, err := router.New(router.Options{Config: cfg, Logs: logs})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(running) }()
	defer func() {
		stop()
		<-done
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := client.Dial(ctx, client.Options{URL: r.Addrs()[0].String(), ContainerID: "stuck"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	session, err := conn.NewSession(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.NewReceiver(ctx, "q", nil); err != nil {
		t.Fatal(err)
	}
	sender, err := session.NewSender(ctx, "q", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sender.Send(ctx, goamqp.NewMessage([]byte("x")), nil); err != nil {
		t.Fatal(err) // modified is no error
	}
	logs.Close() // writes what waits
	for _, line := range strings.Split(log.String(), "\n") {
		if strings.Contains(line, "has not settled deliveries in time") {
			for _, want := range []string{"conn=C1", "peer=127.0.0.1:", "user=anonymous", "container=stuck", "address=q"} {
				if !strings.Contains(line, want) {
					t.Errorf("no %s in %s", want, line)
				}
			}
			return
		}
	}
	t.Errorf("no warning in\n%s", log)
}
