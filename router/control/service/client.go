package service

import (
	"context"
	"fmt"
	"net"
	"sync"

	"sluice/amqp"
	"sluice/amqp/driver"
	"sluice/amqp/frames"
	"sluice/amqp/transport"
)

const (
	// maxFrameSize is that of the client, in bytes. Messages are small, and
	// large ones cost a frame header in every 16 KiB.
	maxFrameSize = 16 << 10
	// sessionBytes is the window of the client, in bytes. Frames never wait in
	// it, so it bounds what may be on its way.
	sessionBytes = 1 << 20
	// maxLinks is the number of links that a client may have, and maxSessions that
	// of sessions: one, unless links want their own.
	maxLinks    = 4096
	maxSessions = 1024
)

// A Client is a connection to the router in which it runs. Its methods may be
// called from any goroutine, but not from a function that it calls: those run
// under the lock of the connection.
type Client struct {
	d         *driver.Driver
	container string
	running   sync.WaitGroup
	opened    chan struct{} // closed when the router's open is there
	done      chan struct{} // closed when the connection has ended
	err       error         // why; set before done is closed

	// Guarded by the lock of the connection.
	session *transport.Session
	made    uint64 // links attached so far
}

// Dial connects to the router, whose end serve runs until it has ended; serve
// gets a connection and closes it, as it would one that a listener has accepted.
// Dial returns when the router has opened the connection. ctx has no meaning
// after that.
func Dial(ctx context.Context, containerID string, serve func(net.Conn)) (*Client, error) {
	here, there := net.Pipe()
	c := &Client{container: containerID, opened: make(chan struct{}), done: make(chan struct{})}
	c.d = driver.New(here, nil, driver.Options{}, transport.Config{
		ContainerID:  containerID,
		Client:       true,
		MaxFrameSize: maxFrameSize,
		ChannelMax:   maxSessions - 1,
		HandleMax:    maxLinks - 1,
		SessionBytes: sessionBytes,
	}, (*handler)(c))
	c.running.Go(func() {
		defer there.Close()
		serve(there)
	})
	c.running.Go(func() { c.d.Run() })
	select {
	case <-c.opened:
		return c, nil
	case <-c.done:
		c.running.Wait()
		return nil, fmt.Errorf("%s: the router did not open the connection: %w", containerID, c.err)
	case <-ctx.Done():
		c.d.Abort()
		c.running.Wait()
		return nil, fmt.Errorf("%s: the router did not open the connection: %w", containerID, ctx.Err())
	}
}

// Close closes the connection and returns when both of its ends have ended:
// within transport.DefaultCloseTimeout, if the router does not answer.
func (c *Client) Close() {
	c.d.Close(nil)
	c.running.Wait()
}

// Done is closed when the connection has ended, whoever ended it.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err is why the connection has ended, nil before Done is closed. A connection
// that was closed without an error has ended with net.ErrClosed.
func (c *Client) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// attach attaches l and waits for the answer.
func (c *Client) attach(ctx context.Context, l *link, end transport.Link, a *frames.Attach) error {
	var err error
	c.d.Do(func(conn *transport.Conn) {
		c.made++
		a.Name = fmt.Sprintf("%s.%d", c.container, c.made)
		a.SenderSettleMode = amqp.SenderSettleMixed
		session := c.session
		if l.apart || session.Ended() { // by the router: one link may have cost all
			if session, err = conn.Begin(); err != nil {
				return
			}
			if !l.apart {
				c.session = session
			}
		}
		if l.ep, err = session.Attach(end, a); err != nil && l.apart {
			session.End(nil)
		}
	})
	if err != nil {
		return err
	}
	select {
	case <-l.answered:
		return nil
	case <-l.done:
		return l.err
	case <-ctx.Done():
		l.Close()
		return fmt.Errorf("the router did not answer: %w", ctx.Err())
	}
}

// handler is the Client as transport sees it.
type handler Client

func (h *handler) Authenticated(*transport.Conn, string, string) {}

func (h *handler) Opened(conn *transport.Conn, _ *frames.Open) *amqp.Error {
	var err error
	if h.session, err = conn.Begin(); err != nil {
		return amqp.Errorf(amqp.CondInternalError, "%v", err)
	}
	close(h.opened)
	return nil
}

// Attach refuses links: the client serves nobody who does not go through the
// router's addresses.
func (h *handler) Attach(*transport.Session, *frames.Attach) (transport.Link, *frames.Attach, *amqp.Error) {
	return nil, nil, amqp.Errorf(amqp.CondNotAllowed, "links to this container are not accepted")
}

func (h *handler) Attached(transport.Link) {}

func (h *handler) Closed(_ *transport.Conn, cause *transport.CloseCause) {
	h.err = net.ErrClosed
	if cause != nil && cause.Err != nil {
		h.err = cause.Err
	}
	close(h.done)
}
