package transport

import (
	"errors"

	"sluice/amqp"
	"sluice/amqp/frames"
)

type sessionState uint8

const (
	sessionBeginSent  sessionState = iota // §2.5.5 BEGIN SENT
	sessionMapped                         // MAPPED
	sessionDiscarding                     // DISCARDING: we sent end with an error
	sessionUnmapped
)

// A Session is one session of a Conn, and is guarded like it.
type Session struct {
	conn          *Conn
	localChannel  uint16
	remoteChannel uint16
	state         sessionState

	incoming // session_window.go
	outgoing // session_send.go

	byRemote dense[Endpoint]
	byHandle []*Endpoint // by local handle, nil where free
	free     []amqp.LocalHandle
	handleMax,
	remoteHandleMax uint32

	flowDue      bool // the session's own flow
	listedFlow   bool // in conn.flows
	linkFlows    []*Endpoint
	listedSettle bool // in conn.settles
	settled      []pendingDisposition
	listedReady  bool // in conn.ready

	backlogged map[*Endpoint]struct{} // links with frames in stage one

	// What a disposition says, for the methods that apply it to each delivery;
	// they are bound once so that a disposition allocates nothing.
	disposed               Disposition
	disposeOne, resolveOne func(amqp.DeliveryNumber, Unsettled) bool

	// Tag is the layer above's name for this session.
	Tag any
}

// Conn is the connection of the session.
func (s *Session) Conn() *Conn { return s.conn }

// Channel is the number that this end gave the session.
func (s *Session) Channel() uint16 { return s.localChannel }

// Links calls f for every link endpoint of the session.
func (s *Session) Links(f func(Link)) {
	for _, e := range s.byHandle {
		if e != nil && e.link != nil {
			f(e.link)
		}
	}
}

func (c *Conn) newSession() (*Session, error) {
	ch := 0
	for ch < len(c.byLocal) && c.byLocal[ch] != nil {
		ch++
	}
	if ch > int(min(c.cfg.ChannelMax, c.remote.ChannelMax)) {
		return nil, connErrorf(amqp.CondResourceLimitExceeded, "no channel is left for another session")
	}
	s := &Session{
		conn:            c,
		localChannel:    uint16(ch),
		handleMax:       c.cfg.HandleMax,
		remoteHandleMax: 1<<32 - 1,
	}
	s.disposeOne, s.resolveOne = s.disposedBy, s.resolvedBy
	s.incoming.init(c)
	if ch == len(c.byLocal) {
		c.byLocal = append(c.byLocal, s)
	} else {
		c.byLocal[ch] = s
	}
	return s, nil
}

// handleBegin answers a begin of the peer, or completes one of ours (§2.5.1).
func (c *Conn) handleBegin(channel uint16, f *frames.Begin) error {
	if channel > c.cfg.ChannelMax {
		return connErrorf(amqp.CondFramingError, "channel %d is above the channel-max of %d", channel, c.cfg.ChannelMax)
	}
	if c.byRemote.get(uint32(channel)) != nil {
		return connErrorf(amqp.CondNotAllowed, "begin on channel %d, on which a session is active", channel)
	}
	var s *Session
	if f.HasRemoteChannel {
		if int(f.RemoteChannel) >= len(c.byLocal) || c.byLocal[f.RemoteChannel] == nil || c.byLocal[f.RemoteChannel].state != sessionBeginSent {
			return connErrorf(amqp.CondNotAllowed, "begin answers channel %d, on which none was sent", f.RemoteChannel)
		}
		s = c.byLocal[f.RemoteChannel]
	} else {
		var err error
		if s, err = c.newSession(); err != nil {
			return err
		}
	}
	answered := s.state == sessionBeginSent && f.HasRemoteChannel
	s.remoteChannel = channel
	c.byRemote.set(uint32(channel), s)
	s.remoteHandleMax = f.HandleMax
	s.incoming.begin(f)
	s.outgoing.begin(f)
	s.state = sessionMapped
	if !answered {
		s.sendBegin(true)
	}
	return nil
}

// Begin starts a session from this end.
func (c *Conn) Begin() (*Session, error) {
	s, err := c.newSession()
	if err != nil {
		return nil, err
	}
	s.sendBegin(false)
	return s, nil
}

func (s *Session) sendBegin(answer bool) {
	s.conn.send(s.localChannel, &frames.Begin{
		RemoteChannel:    s.remoteChannel,
		HasRemoteChannel: answer,
		NextOutgoingID:   s.nextOutgoingID,
		IncomingWindow:   s.incoming.window,
		OutgoingWindow:   outgoingWindow,
		HandleMax:        s.handleMax,
	})
}

func (s *Session) handleEnd(f *frames.End) {
	if s.state != sessionDiscarding {
		s.flushSettled()
		s.conn.send(s.localChannel, &frames.End{})
	}
	s.conn.byRemote.remove(uint32(s.remoteChannel))
	s.conn.byLocal[s.localChannel] = nil
	s.drop()
}

// End ends the session from this end.
func (s *Session) End(err *amqp.Error) {
	if s.state == sessionDiscarding || s.state == sessionUnmapped {
		return
	}
	s.flushSettled()
	s.conn.send(s.localChannel, &frames.End{Error: err})
	s.drop()
	s.state = sessionDiscarding
}

// drop tells every link and every unsettled delivery that the session is gone.
func (s *Session) drop() {
	if s.state == sessionUnmapped || s.state == sessionDiscarding {
		s.state = sessionUnmapped
		return
	}
	s.state = sessionUnmapped
	for _, e := range s.byHandle {
		if e != nil && e.link != nil {
			s.dropLink(e)
		}
	}
	s.received.All(lostAll)
	s.sent.All(lostAll)
	s.byHandle, s.linkFlows, s.settled, s.readyLinks = nil, nil, nil, nil
	s.byRemote.clear()
}

func lostAll(_ amqp.DeliveryNumber, u Unsettled) bool {
	u.Lost()
	return true
}

// contain turns an error of a handler into the smallest end that the spec
// allows: a link error was answered where it arose, a session error ends the
// session, all else is the connection's.
func (s *Session) contain(err error) error {
	if err == nil {
		return nil
	}
	var se *SessionError
	if errors.As(err, &se) {
		s.End(se.Wire)
		return nil
	}
	return err
}
