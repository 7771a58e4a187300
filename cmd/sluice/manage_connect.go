package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/urfave/cli/v2"

	"sluice/cmd/internal/client"
	"sluice/cmd/internal/management"
	"sluice/router/control/schema"
)

// routerFlags are the flags of the commands that ask routers.
func routerFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "router", Aliases: []string{"r"}, Usage: "ask the router with this `ID`, anywhere in the mesh"},
		&cli.StringSliceFlag{Name: "edge", Aliases: []string{"d"}, Usage: "ask the edge router with this `ID`"},
		&cli.DurationFlag{Name: "timeout", Aliases: []string{"t"}, Value: management.DefaultTimeout, Usage: "give up a router that does not answer a request in this time"},
	}
}

// agents are the management agents that a command asks, over one connection. It
// is made when it is needed first, and again after it was lost.
type agents struct {
	options client.Options
	timeout time.Duration
	address string // of the agent at the other end; empty: the usual one

	conn      *goamqp.Conn
	client    *management.Client
	directory *management.Directory
	local     string // id of the router at the other end, once known
}

// newAgents returns what the flags say. The path of the URL, if it has one, is
// the address of the agent.
func newAgents(c *cli.Context) (*agents, error) {
	options, err := connection(c)
	if err != nil {
		return nil, err
	}
	a := &agents{options: options, timeout: c.Duration("timeout")}
	a.options.URL, a.address = client.SplitURL(options.URL)
	if a.timeout <= 0 {
		return nil, usagef("--timeout must be positive")
	}
	return a, nil
}

// connect returns the client, which may have to be made.
func (a *agents) connect(ctx context.Context) (*management.Client, error) {
	if a.client != nil {
		return a.client, nil
	}
	conn, err := client.Dial(ctx, a.options)
	if err != nil {
		return nil, err
	}
	c, err := management.New(ctx, conn, a.timeout)
	if err != nil {
		conn.Close()
		return nil, err
	}
	a.conn, a.client, a.directory, a.local = conn, c, c.Directory(a.here(c)), ""
	return c, nil
}

// close ends the connection. The next connect makes another.
func (a *agents) close() {
	if a.client != nil {
		a.client.Close()
		a.conn.Close()
		a.client, a.conn = nil, nil
	}
}

// here returns the agent at the other end.
func (a *agents) here(c *management.Client) *management.Node {
	if a.address != "" {
		return c.Node(fmt.Sprintf("%q", a.address), a.address)
	}
	return c.Node("the router", management.Local)
}

// id returns the id of the router at the other end.
func (a *agents) id(ctx context.Context, c *management.Client) (string, error) {
	if a.local != "" {
		return a.local, nil
	}
	q := management.Query{Type: schema.Prefix + "router", Attributes: []string{"id"}, Limit: 1}
	for page, err := range q.Run(ctx, a.here(c)) {
		if err != nil {
			return "", err
		}
		for _, row := range page.Rows {
			a.local, _ = row[0].(string)
		}
	}
	if a.local == "" {
		a.local = "?" // it is a router that does not say
	}
	return a.local, nil
}

// notAnswered gives an error of the management client its exit status.
func notAnswered(ctx context.Context, err error) error {
	var own *statusError
	var failure *client.Failure
	var none *management.NoAnswer
	var unknown *management.Unknown
	var refused *management.StatusError
	switch {
	case err == nil, errors.As(err, &own):
		return err
	case ctx.Err() != nil:
		return messagesf("interrupted")
	case errors.As(err, &refused):
		return &statusError{exitFailed, err}
	case errors.As(err, &none), errors.As(err, &unknown):
		return &statusError{exitMessages, err}
	case errors.As(err, &failure):
		return failed(failure)
	}
	return err
}
