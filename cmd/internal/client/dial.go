package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	goamqp "github.com/Azure/go-amqp"
)

// Dial connects. Its errors are ready to be shown.
func Dial(ctx context.Context, o Options) (*goamqp.Conn, error) {
	t, err := o.resolve()
	if err != nil {
		return nil, &Error{Err: err, Usage: true}
	}
	opts := &goamqp.ConnOptions{ContainerID: o.ContainerID, MaxFrameSize: o.FrameSize, HostName: t.url.Hostname()}
	switch t.sasl {
	case "anonymous":
		opts.SASLType = goamqp.SASLTypeAnonymous()
	case "plain":
		opts.SASLType = goamqp.SASLTypePlain(t.user, t.password.Reveal())
	case "external":
		opts.SASLType = goamqp.SASLTypeExternal("")
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	dialCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type result struct {
		conn *goamqp.Conn
		err  error
	}
	// go-amqp heeds deadlines at once, but not each cancellation.
	dialled := make(chan result, 1)
	go func() {
		conn, err := t.open(dialCtx, o.Meter, opts)
		if ctx.Err() != nil && err == nil {
			conn.Close()
		}
		dialled <- result{conn, err}
	}()
	select {
	case r := <-dialled:
		switch {
		case ctx.Err() != nil:
		case r.err != nil:
			return nil, &Error{Err: t.explain(r.err)}
		default:
			return r.conn, nil
		}
	case <-ctx.Done():
	}
	return nil, &Error{Err: fmt.Errorf("interrupted while connecting to %s", t.url)}
}

// open makes the connection and everything on it.
func (t *target) open(ctx context.Context, meter *Meter, opts *goamqp.ConnOptions) (*goamqp.Conn, error) {
	var socket net.Conn
	var err error
	if t.tls != nil {
		socket, err = (&tls.Dialer{Config: t.tls}).DialContext(ctx, "tcp", t.url.Host)
	} else {
		socket, err = new(net.Dialer).DialContext(ctx, "tcp", t.url.Host)
	}
	if err != nil {
		return nil, err
	}
	if meter == nil {
		meter = new(Meter)
	}
	m := &metered{Conn: socket, meter: meter}
	conn, err := goamqp.NewConn(ctx, m, opts)
	if err != nil {
		socket.Close()
		if m.http.Load() {
			err = errHTTP
		}
		return nil, err
	}
	return conn, nil
}
