package transport

import "sluice/amqp"

// SessionOptions are what a session that this end begins has of its own.
type SessionOptions struct {
	// Bytes is the budget of stage one, instead of Config.SessionBytes where
	// it is smaller; 0 means that one. The window never falls below a few
	// frames, however small this is.
	Bytes int
}

// peerSession is the budget of the next session that the peer begins, 0 for
// Config.SessionBytes.
func (c *Conn) peerSession() int {
	c.peerBegun++
	if c.PeerSession == nil {
		return 0
	}
	return c.PeerSession(c.peerBegun)
}

// Begin starts a session from this end. Links may be attached to it at once
// (Session.Attach), before the peer has answered.
//
// It fails, without harm to the connection, when that is not open and when the
// channel-max of either side leaves no channel (§2.7.1).
func (c *Conn) Begin() (*Session, error) { return c.BeginWith(SessionOptions{}) }

// BeginWith is Begin for a session with options.
func (c *Conn) BeginWith(o SessionOptions) (*Session, error) {
	if c.state != stateOpened {
		return nil, sessionErrorf(amqp.CondIllegalState, "no session can begin: the connection is not open")
	}
	s := c.newSession(o.Bytes)
	if s == nil {
		return nil, sessionErrorf(amqp.CondResourceLimitExceeded,
			"no channel is left for another session: channel-max is %d here and %d at the peer", c.cfg.ChannelMax, c.remote.ChannelMax)
	}
	s.sendBegin(false)
	return s, nil
}
