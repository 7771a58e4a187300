package client

import (
	"context"

	goamqp "github.com/Azure/go-amqp"
)

// Dial connects. Its errors are ready to be shown.
func Dial(ctx context.Context, o Options) (*goamqp.Conn, error) {
	t, err := o.resolve()
	if err != nil {
		return nil, &Error{Err: err, Usage: true}
	}
	opts := &goamqp.ConnOptions{ContainerID: o.ContainerID, MaxFrameSize: o.FrameSize, TLSConfig: t.tls}
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
	conn, err := goamqp.Dial(dialCtx, t.url.String(), opts)
	if err != nil {
		return nil, &Error{Err: t.explain(err)}
	}
	return conn, nil
}
