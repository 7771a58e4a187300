package transport

import (
	"errors"

	"sluice/amqp"
	"sluice/amqp/frames"
)

type sessionState uint8

const (
	sessionBeginSent  sessionState = iota // §2.5.5 BEGIN SENT
	sessionEndDue                         // BEGIN SENT, and end is sent when the peer's begin is there
	sessionMapped                         // MAPPED
	sessionDiscarding                     // DISCARDING: we sent end
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
	pending  map[linkName]*Endpoint // attached by us, unanswered: the earliest of each name
	endError *amqp.Error            // of an end that is due
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

// Ended tells whether either side has ended the session: no link can be attached
// to it any more.
func (s *Session) Ended() bool { return s.state != sessionBeginSent && s.state != sessionMapped }

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

// newSession returns a session on the first free channel, nil if none is left.
// Of bytes and the configured budget the smaller counts; 0 means the latter.
func (c *Conn) newSession(bytes int) *Session {
	ch := 0
	for ch < len(c.byLocal) && c.byLocal[ch] != nil {
		ch++
	}
	if ch > int(min(c.cfg.ChannelMax, c.remote.ChannelMax)) {
		return nil
	}
	s := &Session{
		conn:            c,
		localChannel:    uint16(ch),
		handleMax:       c.cfg.HandleMax,
		remoteHandleMax: 1<<32 - 1,
	}
	s.disposeOne, s.resolveOne = s.disposedBy, s.resolvedBy
	s.incoming.init(c, bytes)
	if ch == len(c.byLocal) {
		c.byLocal = append(c.byLocal, s)
	} else {
		c.byLocal[ch] = s
	}
	return s
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
		if int(f.RemoteChannel) >= len(c.byLocal) || c.byLocal[f.RemoteChannel] == nil || c.byLocal[f.RemoteChannel].state > sessionEndDue {
			return connErrorf(amqp.CondNotAllowed, "begin answers channel %d, on which none was sent", f.RemoteChannel)
		}
		s = c.byLocal[f.RemoteChannel]
	} else if s = c.newSession(c.peerSession()); s == nil {
		return connErrorf(amqp.CondResourceLimitExceeded, "no channel is left for another session")
	}
	s.remoteChannel = channel
	c.byRemote.set(uint32(channel), s)
	if s.state == sessionEndDue {
		s.sendEnd(s.endError)
		s.state = sessionDiscarding
		return nil
	}
	s.remoteHandleMax = f.HandleMax
	s.incoming.begin(f)
	s.outgoing.begin(f)
	s.state = sessionMapped
	if f.HasRemoteChannel {
		s.limitHandles()
	} else {
		s.sendBegin(true)
	}
	return nil
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
		s.sendEnd(nil)
	}
	s.conn.byRemote.remove(uint32(s.remoteChannel))
	s.conn.byLocal[s.localChannel] = nil
	s.drop(f.Error)
}

func (s *Session) sendEnd(err *amqp.Error) {
	s.conn.send(s.localChannel, &frames.End{Error: err})
}

// End ends the session from this end. Its links are gone when it returns; a
// session that the peer has not answered yet sends its end when that is done,
// since there is no way from BEGIN SENT to an end (§2.5.5).
func (s *Session) End(err *amqp.Error) {
	switch s.state {
	case sessionBeginSent:
		s.drop(err)
		s.state, s.endError = sessionEndDue, err
	case sessionMapped:
		s.flushSettled()
		s.sendEnd(err)
		s.drop(err)
		s.state = sessionDiscarding
	}
}

// drop tells every link and every unsettled delivery that the session is gone,
// with an error if there is one.
func (s *Session) drop(err *amqp.Error) {
	if s.Ended() {
		s.state = sessionUnmapped
		return
	}
	s.state = sessionUnmapped
	for _, e := range s.byHandle {
		if e != nil && e.link != nil {
			s.dropLink(e, err)
		}
	}
	s.received.All(lostAll)
	s.sent.All(lostAll)
	s.byHandle, s.linkFlows, s.settled, s.readyLinks = nil, nil, nil, nil
	s.byRemote.clear()
	s.pending = nil
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
