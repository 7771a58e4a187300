package service

import (
	"context"
	"fmt"
	"net"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
)

// A Message is a message that a Receiver got. Done must be called for each, in
// time: it gives the credit back.
type Message = links.ControlMessage

// link is what a Receiver and a Sender have in common.
type link struct {
	c        *Client
	apart    bool // it has a session of its own, which ends with it
	address  string
	ep       *transport.Endpoint // guarded by the lock of the connection
	answered chan struct{}
	done     chan struct{} // closed when the link is gone
	err      error         // why; set before done is closed
}

func newLink(c *Client, address string) *link {
	return &link{c: c, address: address, answered: make(chan struct{}), done: make(chan struct{})}
}

// events are what the link's end reports, under the lock of the connection.
func (l *link) events() links.ControlEvents {
	return links.ControlEvents{
		Answered: func(a *frames.Attach) {
			if a.Role == amqp.RoleSender && a.Source != nil {
				l.address = a.Source.Address
			}
			close(l.answered)
		},
		Ended: func(err *amqp.Error) {
			l.err = net.ErrClosed
			if err != nil {
				l.err = err
			}
			close(l.done)
		},
	}
}

// Done is closed when the link is gone, whoever ended it.
func (l *link) Done() <-chan struct{} { return l.done }

// Err is why the link is gone, nil before Done is closed. A link that was
// detached without an error is gone with net.ErrClosed.
func (l *link) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}

// Close detaches the link.
func (l *link) Close() {
	l.c.d.Do(func(*transport.Conn) {
		l.ep.Detach(true, nil)
		if s := l.ep.Session(); l.apart && !s.Ended() {
			s.End(nil)
		}
	})
}

// A Receiver is a link on which the client receives.
type Receiver struct{ *link }

// Receive attaches a link that receives from address; from one that the router
// makes up, if it is empty. It returns when the router has answered.
//
// f gets each message, under the lock of the connection, and possibly before
// Receive returns. It must not block, and may call Send and Done. At most credit
// messages are with f that are not done; none is larger than limit bytes.
func (c *Client) Receive(ctx context.Context, address string, credit uint32, limit int64, f func(Message)) (*Receiver, error) {
	l := newLink(c, address)
	end := links.NewControlReceiver(nil, links.ControlReceiverOptions{Credit: credit, MaxMessageSize: limit, Deliver: f, ControlEvents: l.events()})
	err := c.attach(ctx, l, end, &frames.Attach{
		Role:           amqp.RoleReceiver,
		Source:         &messaging.Source{Address: address, Dynamic: address == ""},
		Target:         messaging.TargetField{Target: &messaging.Target{}},
		MaxMessageSize: uint64(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("cannot receive from %q: %w", address, err)
	}
	return &Receiver{l}, nil
}

// Address is where the link receives from, as the router has answered: what
// others send to.
func (r *Receiver) Address() string { return r.address }

// A Sender is a link on which the client sends.
type Sender struct {
	*link
	end *links.ControlSender
}

// Sender attaches a link that sends to address; to where each message says, if
// it is empty. It returns when the router has answered. The link holds at most
// queue bytes, as links.ControlSenderOptions says.
func (c *Client) Sender(ctx context.Context, address string, queue int64) (*Sender, error) {
	return c.sender(ctx, newLink(c, address), queue)
}

// SenderApart is Sender with a session of its own, so that a message which the
// router does not take holds up those of no other link. The session ends with
// Close, which must be called also when the link has ended.
func (c *Client) SenderApart(ctx context.Context, address string, queue int64) (*Sender, error) {
	l := newLink(c, address)
	l.apart = true
	s, err := c.sender(ctx, l, queue)
	if err != nil && l.ep != nil {
		l.Close()
	}
	return s, err
}

func (c *Client) sender(ctx context.Context, l *link, queue int64) (*Sender, error) {
	end := links.NewControlSender(nil, links.ControlSenderOptions{QueueBytes: queue, ControlEvents: l.events()})
	err := c.attach(ctx, l, end, &frames.Attach{
		Role:                    amqp.RoleSender,
		Source:                  &messaging.Source{},
		Target:                  messaging.TargetField{Target: &messaging.Target{Address: l.address}},
		HasInitialDeliveryCount: true,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot send to %q: %w", l.address, err)
	}
	return &Sender{l, end}, nil
}

// Send is links.ControlSender.Send: it never waits, and outcome is called under
// the lock of the connection.
func (s *Sender) Send(message []byte, settled bool, outcome func(messaging.DeliveryState)) error {
	return s.end.Send(message, settled, outcome)
}
