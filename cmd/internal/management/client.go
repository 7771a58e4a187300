package management

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"sluice/cmd/internal/client"
)

// A Client sends requests over one connection and brings the replies. Its
// methods may be called from any goroutine.
type Client struct {
	session *goamqp.Session
	replies *goamqp.Receiver
	timeout time.Duration // for each request

	stop    context.CancelFunc
	stopped chan struct{} // no reply comes any more
	err     error         // why; set before stopped is closed

	mu      sync.Mutex // guards what follows
	senders map[string]*sender
	waiting map[string]chan *goamqp.Message // who waits, by correlation-id
	last    uint64                          // correlation-id
}

// sender is a link to one address. It is there when ready is closed.
type sender struct {
	ready chan struct{}
	link  *goamqp.Sender
	err   error
}

// New returns a client on an open connection, which must be closed after it.
// The time-out is for each request; 0 means DefaultTimeout.
func New(ctx context.Context, conn *goamqp.Conn, timeout time.Duration) (*Client, error) {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	begin, done := context.WithTimeout(ctx, timeout)
	defer done()
	session, err := conn.NewSession(begin, nil)
	if err != nil {
		return nil, noLink(ctx, err)
	}
	replies, err := session.NewReceiver(begin, "", &goamqp.ReceiverOptions{
		DynamicAddress: true, Credit: replyCredit, MaxMessageSize: maxReply,
	})
	if err != nil {
		return nil, noLink(ctx, err)
	}
	reading, stop := context.WithCancel(context.Background())
	c := &Client{
		session: session, replies: replies, timeout: timeout, stop: stop, stopped: make(chan struct{}),
		senders: make(map[string]*sender), waiting: make(map[string]chan *goamqp.Message),
	}
	go c.read(reading)
	return c, nil
}

func noLink(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return client.ExplainAttach(err, "replies")
}

// Close ends the client's session. Who waits for a reply gets an error.
func (c *Client) Close() {
	c.stop()
	<-c.stopped
	ctx, done := context.WithTimeout(context.Background(), closeTimeout)
	defer done()
	c.session.Close(ctx)
}

// read hands replies to those who wait for them. A reply that nobody waits for
// any more came too late.
func (c *Client) read(ctx context.Context) {
	defer close(c.stopped)
	for {
		m, err := c.replies.Receive(ctx, nil)
		if err == nil {
			err = c.replies.AcceptMessage(ctx, m)
		}
		if err != nil {
			c.err = err
			return
		}
		id := correlationOf(m)
		c.mu.Lock()
		waits := c.waiting[id]
		delete(c.waiting, id)
		c.mu.Unlock()
		if waits != nil {
			waits <- m // has room
		}
	}
}

// wait registers for a reply.
func (c *Client) wait() (id string, arrives chan *goamqp.Message) {
	arrives = make(chan *goamqp.Message, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	id = strconv.FormatUint(c.last, 10)
	c.waiting[id] = arrives
	return id, arrives
}

func (c *Client) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// sender returns the link to an address, which the first to ask for it makes.
func (c *Client) sender(ctx context.Context, address string) (*goamqp.Sender, error) {
	c.mu.Lock()
	s := c.senders[address]
	if s == nil {
		s = &sender{ready: make(chan struct{})}
		c.senders[address] = s
		c.mu.Unlock()
		s.link, s.err = c.session.NewSender(ctx, address, nil)
		if s.err != nil {
			c.drop(address, nil)
		}
		close(s.ready)
	} else {
		c.mu.Unlock()
	}
	select {
	case <-s.ready:
		return s.link, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// drop has the next request to an address attach again.
func (c *Client) drop(address string, link *goamqp.Sender) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.senders[address]; s != nil && s.link == link {
		delete(c.senders, address)
	}
}

// A NoAnswer error says that a router did not answer in time, or that a request
// could not be brought to it.
type NoAnswer struct {
	Name    string // of the node
	Timeout time.Duration
	Outcome string // of the request, if it came back
}

func (e *NoAnswer) Error() string {
	if e.Outcome != "" {
		return fmt.Sprintf("%s cannot be reached: the request was %s", e.Name, e.Outcome)
	}
	return fmt.Sprintf("%s did not answer within %v", e.Name, e.Timeout)
}

// call sends a request and waits for the reply.
func (c *Client) call(ctx context.Context, n *Node, r *Request) (*Reply, error) {
	limited, done := context.WithTimeout(ctx, c.timeout)
	defer done()
	m, err := c.exchange(limited, n, r)
	var none *NoAnswer
	switch {
	case err == nil:
		return reply(m)
	case errors.As(err, &none):
		return nil, none
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, &NoAnswer{Name: n.Name, Timeout: c.timeout}
	}
	return nil, err
}

func (c *Client) exchange(ctx context.Context, n *Node, r *Request) (*goamqp.Message, error) {
	to, err := c.sender(ctx, n.Address)
	if err != nil {
		return nil, client.ExplainAttach(err, n.Address)
	}
	id, arrives := c.wait()
	defer c.forget(id)
	var state goamqp.DeliveryState
	receipt, err := to.SendWithReceipt(ctx, r.message(c.replies.Address(), id), nil)
	if err == nil {
		state, err = receipt.Wait(ctx)
	}
	if err != nil {
		if ctx.Err() == nil { // a link that only waits for credit stays
			c.drop(n.Address, to)
		}
		return nil, client.Explain(err, n.Address)
	}
	switch state := state.(type) {
	case *goamqp.StateAccepted:
	case *goamqp.StateRejected:
		if state.Error != nil {
			return nil, client.Explain(state.Error, n.Address)
		}
		return nil, &NoAnswer{Name: n.Name, Outcome: "rejected"}
	case *goamqp.StateReleased:
		return nil, &NoAnswer{Name: n.Name, Outcome: "released"}
	case *goamqp.StateModified:
		return nil, &NoAnswer{Name: n.Name, Outcome: "returned"}
	}
	select {
	case m := <-arrives:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.stopped:
		return nil, client.Explain(c.err, n.Address)
	}
}
