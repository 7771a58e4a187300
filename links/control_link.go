package links

import (
	"errors"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/transport"
)

// The ends of links that carry whole messages to and from the control plane:
// routing updates, lookups, requests to management. The thresholds of messages
// that are routed never hold them; they have hard limits instead, whose
// violation is an error and never a wait. Either end works on links that the
// peer attaches and on those that this router attaches.

// ErrQueueFull is returned for a message that a ControlSender has no room for.
var ErrQueueFull = errors.New("the queue of the link is full")

// ErrLinkGone is returned for a message that comes after the end of its link.
var ErrLinkGone = errors.New("the link is gone")

// ControlEvents are called under the lock of the link's connection, and must
// not block. Each may be nil.
type ControlEvents struct {
	// Answered tells that the peer has answered an attach of this router. The
	// answer is borrowed.
	Answered func(*frames.Attach)
	// Ended tells once that the link is gone, and why: the error that the
	// peer, the session, the connection or this end gave; nil for none.
	Ended func(*amqp.Error)
}

// controlEnd is what both ends have in common. It is guarded by the lock of the
// connection.
type controlEnd struct {
	ep     *transport.Endpoint
	events ControlEvents
	gone   bool
	err    *amqp.Error
}

// Endpoint is the session's part of the link, nil before the link is bound.
func (l *controlEnd) Endpoint() *transport.Endpoint { return l.ep }

// Refused implements transport.Initiated.
func (l *controlEnd) Refused(err *amqp.Error) { l.err = err }

// Detached implements transport.Detached.
func (l *controlEnd) Detached(err *amqp.Error) { l.err = err }

func (l *controlEnd) answered(a *frames.Attach) {
	if l.events.Answered != nil {
		l.events.Answered(a)
	}
}

func (l *controlEnd) ended() {
	if l.events.Ended != nil {
		l.events.Ended(l.err)
	}
}
