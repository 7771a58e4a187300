package transport

import (
	"sluice/amqp"
	"sluice/amqp/frames"
)

// Initiated is a link that this end attaches, and wants to know what becomes of
// that. Of both methods at most one is called, and once; neither is, if this end
// detaches the link before.
type Initiated interface {
	Link
	// Answered tells that the peer has attached its end: the link may be used.
	// The answer is borrowed.
	Answered(*frames.Attach)
	// Refused tells why there will be no answer: the peer refused the link, or
	// session or connection ended before. The error is never nil. Gone follows.
	Refused(*amqp.Error)
}

// Detached is a link that wants to know why it ends, if that is not its own
// doing: the peer detached it, with this error or with none, or the link was
// stolen, or its session or connection has ended. Gone follows.
type Detached interface{ Detached(*amqp.Error) }

// Attach attaches l to the session with a, of which the handle is filled in
// (§2.6.3). It may be called as soon as the session has been begun. Nothing is
// sent on the link before the peer has answered, which l is told if it is an
// Initiated; frames of the peer come after that, too.
//
// It fails, without harm to the session, when the session has ended, when a link
// of this name and direction is there, when no handle is left, and with
// amqp:frame-size-too-small when the peer does not take a frame that holds a.
func (s *Session) Attach(l Link, a *frames.Attach) (*Endpoint, error) {
	if s.Ended() {
		return nil, LinkErrorf(amqp.CondIllegalState, "link %q cannot be attached: the session has ended", a.Name)
	}
	k := linkName{a.Name, a.Role}
	if s.conn.names[k] != nil {
		return nil, LinkErrorf(amqp.CondNotAllowed, "a link %q is attached to this connection already", a.Name)
	}
	h, ok := s.allocate()
	if !ok {
		return nil, LinkErrorf(amqp.CondResourceLimitExceeded,
			"no handle is left for link %q: handle-max is %d here and %d at the peer", a.Name, s.handleMax, s.remoteHandleMax)
	}
	a.Handle = uint32(h)
	if !s.conn.put(s.localChannel, a) {
		s.release(h)
		return nil, LinkErrorf(amqp.CondFrameSizeTooSmall,
			"link %.100q cannot be attached: its attach does not fit into a frame of %d bytes, the max-frame-size of the peer", a.Name, s.conn.maxFrameSize)
	}
	e := &Endpoint{session: s, link: l, name: a.Name, role: a.Role, localHandle: h, unanswered: true}
	s.byHandle[h] = e
	s.conn.links++
	s.conn.names[k] = e
	s.await(e, k)
	l.Bind(e)
	return e, nil
}

// await enters e among those that the peer has to answer. A name may be used
// again after a detach that has overtaken the answer; answers come in order.
func (s *Session) await(e *Endpoint, k linkName) {
	first := s.pending[k]
	if first == nil {
		if s.pending == nil {
			s.pending = make(map[linkName]*Endpoint)
		}
		s.pending[k] = e
		return
	}
	for first.nextPending != nil {
		first = first.nextPending
	}
	first.nextPending = e
}

// answered returns the endpoint that an attach of the peer answers, and nil if
// there is none. Where both ends have attached the same link at the same time
// each takes the other's attach as its answer (§2.6.3).
func (s *Session) answered(name string, role amqp.Role) *Endpoint {
	k := linkName{name, role}
	e := s.pending[k]
	switch {
	case e == nil:
	case e.nextPending != nil:
		s.pending[k], e.nextPending = e.nextPending, nil
	default:
		delete(s.pending, k)
	}
	return e
}

// handleAnswer completes an attach of ours.
func (s *Session) handleAnswer(e *Endpoint, f *frames.Attach) {
	e.remoteHandle = amqp.RemoteHandle(f.Handle)
	s.byRemote.set(f.Handle, e)
	if e.link == nil {
		return // detached meanwhile; the peer's detach follows
	}
	// §2.6.3: a peer that does not make its terminus refuses the link, and says
	// why in the detach that follows.
	refused := f.Source == nil
	if e.role == amqp.RoleSender {
		refused = f.Target.IsNull()
	}
	if refused {
		return
	}
	e.unanswered = false
	if l, ok := e.link.(Initiated); ok {
		l.Answered(f)
	}
}

// Answered tells whether the peer has attached its end.
func (e *Endpoint) Answered() bool { return !e.unanswered }

// limitHandles ends the links whose handles are above the handle-max of the
// peer's begin, which has come after they were attached. The peer may close the
// connection because of them (§2.7.2); one that does not is told.
func (s *Session) limitHandles() {
	for h := uint64(s.remoteHandleMax) + 1; h < uint64(len(s.byHandle)); h++ {
		if e := s.byHandle[h]; e != nil && e.link != nil {
			e.revoke(amqp.Errorf(amqp.CondResourceLimitExceeded, "the peer's handle-max is %d, and the link has handle %d", s.remoteHandleMax, h))
		}
	}
}

// revoke detaches a link that has not asked for it.
func (e *Endpoint) revoke(err *amqp.Error) {
	e.tell(err)
	e.Detach(true, err)
}

// tell lets the link know why it ends.
func (e *Endpoint) tell(err *amqp.Error) {
	if !e.unanswered {
		if l, ok := e.link.(Detached); ok {
			l.Detached(err)
		}
		return
	}
	if l, ok := e.link.(Initiated); ok {
		if err == nil {
			err = amqp.Errorf(amqp.CondDetachForced, "the link was not attached, and no reason was given")
		}
		l.Refused(err)
	}
}
