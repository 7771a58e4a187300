package transport

import (
	"time"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/buffers"
)

// A Link is one end of a link, implemented by the layer above. All methods are
// called under the connection's lock.
type Link interface {
	// Bind gives the link its endpoint, before anything else.
	Bind(*Endpoint)
	// Flow handles the link part of a flow.
	Flow(*frames.Flow) error
	// FlowState fills in delivery-count, link-credit, available, drain.
	FlowState(*frames.Flow)
	// Gone is called once, when the link is no longer there for any reason.
	// Closed is false when the peer detached without closing: deliveries that
	// are unsettled then may still be settled for a while (§2.6.4).
	Gone(closed bool)
}

// Receiving is a link on which the peer sends.
type Receiving interface {
	Link
	// Transfer takes payload and handles one transfer frame, whose delivery-id
	// is always set. The frame is borrowed. The link calls Session.Pulled
	// when it has taken the frame out of stage one.
	Transfer(t *frames.Transfer, payload buffers.Slice) error
}

// Waiting is a Receiving link on which transfers wait in stage one.
type Waiting interface {
	// SettledWaiting tells that the peer has settled deliveries that may be
	// among those, in the range of ids: a disposition does not wait.
	SettledWaiting(first, last amqp.DeliveryNumber)
}

// Sending is a link on which the router sends.
type Sending interface {
	Link
	// WriteTransfers writes about room bytes of payload, as far as the
	// session's window and the output allow, and tells whether more is there.
	WriteTransfers(o *Output, room int) (again bool)
	// Written tells that bytes charged to the link have left for the socket.
	Written(bytes int64)
}

// Outgoing is who is told that bytes were written.
type Outgoing interface{ Written(bytes int64) }

// An Endpoint is the session's part of a link.
type Endpoint struct {
	session      *Session
	link         Link // nil when detached by us and the peer's detach is awaited
	name         string
	role         amqp.Role // ours
	localHandle  amqp.LocalHandle
	remoteHandle amqp.RemoteHandle

	unanswered  bool      // we attached, and the peer has not accepted
	nextPending *Endpoint // attached later under the same name, likewise

	first       bool // the transfer being handled begins a delivery
	inDelivery  bool // between the first and the last transfer of a delivery
	deliveryID  amqp.DeliveryNumber
	tag         []byte // of the delivery, if it has several transfers
	format      uint32 // likewise
	flowDue     bool
	listedReady bool
}

// Session is the session that the link is attached to.
func (e *Endpoint) Session() *Session { return e.session }

// Conn is the connection that the link is on.
func (e *Endpoint) Conn() *Conn { return e.session.conn }

// Name is the name of the link.
func (e *Endpoint) Name() string { return e.name }

// Role is the role of this end.
func (e *Endpoint) Role() amqp.Role { return e.role }

// Handle is the number that this end gave the link.
func (e *Endpoint) Handle() amqp.LocalHandle { return e.localHandle }

// FirstTransfer tells whether the transfer being handled begins a delivery.
func (e *Endpoint) FirstTransfer() bool { return e.first }

// SetBacklog notes whether the link has frames in stage one.
func (e *Endpoint) SetBacklog(has bool) {
	s := e.session
	if !has {
		delete(s.backlogged, e)
		return
	}
	if s.backlogged == nil {
		s.backlogged = make(map[*Endpoint]struct{})
	}
	s.backlogged[e] = struct{}{}
}

// Attached tells whether the link is still there.
func (e *Endpoint) Attached() bool { return e.link != nil }

// handleAttach answers an attach of the peer, or completes one of ours (§2.6.3).
func (s *Session) handleAttach(f *frames.Attach) error {
	if s.state != sessionMapped {
		return nil
	}
	if f.Handle > s.handleMax {
		return connErrorf(amqp.CondFramingError, "handle %d is above the handle-max of %d", f.Handle, s.handleMax)
	}
	if s.byRemote.get(f.Handle) != nil {
		return sessionErrorf(amqp.CondHandleInUse, "attach of %q to handle %d, which is in use", f.Name, f.Handle)
	}
	role := !f.Role
	if s.pending != nil {
		if e := s.answered(f.Name, role); e != nil {
			s.handleAnswer(e, f)
			return nil
		}
	}
	s.steal(f.Name, role)
	h, ok := s.allocate()
	if !ok {
		return sessionErrorf(amqp.CondResourceLimitExceeded, "no handle is left for another link")
	}
	link, reply, refusal := s.conn.handler.Attach(s, f)
	if refusal != nil {
		// §2.6.3: the refusal is an attach without terminus, then a detach.
		reply = &frames.Attach{SenderSettleMode: f.SenderSettleMode}
		if role == amqp.RoleReceiver {
			reply.Source = f.Source
		} else {
			reply.Target = f.Target
			reply.HasInitialDeliveryCount = true
		}
		link = nil
	}
	e := &Endpoint{
		session:      s,
		link:         link,
		name:         f.Name,
		role:         role,
		localHandle:  h,
		remoteHandle: amqp.RemoteHandle(f.Handle),
	}
	s.byHandle[h] = e
	s.byRemote.set(f.Handle, e)
	reply.Name, reply.Handle, reply.Role = f.Name, uint32(h), role
	if link != nil {
		link.Bind(e)
		s.conn.links++
		s.conn.names[linkName{f.Name, role}] = e
	}
	if !s.conn.put(s.localChannel, reply) {
		return s.tooLong(e, refusal == nil)
	}
	if refusal != nil {
		s.conn.send(s.localChannel, &frames.Detach{Handle: uint32(h), Closed: true, Error: refusal})
		return nil
	}
	s.conn.handler.Attached(link)
	return nil
}

// tooLong refuses a link whose answer does not fit into the peer's frames, which
// it may have asked for in a larger one.
func (s *Session) tooLong(e *Endpoint, made bool) error {
	if made {
		s.unlink(e, true)
	}
	reply := &frames.Attach{Name: e.name, Handle: uint32(e.localHandle), Role: e.role, HasInitialDeliveryCount: e.role == amqp.RoleSender}
	if !s.conn.put(s.localChannel, reply) {
		return sessionErrorf(amqp.CondFrameSizeTooSmall, "a link whose name has %d bytes cannot be answered in frames of %d bytes, the max-frame-size of the peer",
			len(e.name), s.conn.maxFrameSize)
	}
	s.conn.send(s.localChannel, &frames.Detach{Handle: uint32(e.localHandle), Closed: true, Error: amqp.Errorf(amqp.CondFrameSizeTooSmall,
		"the answer does not fit into a frame of %d bytes, the max-frame-size of the peer", s.conn.maxFrameSize)})
	return nil
}

// linkName identifies a link between two containers: the same name may be used
// once in each direction (§2.6.1).
type linkName struct {
	name string
	role amqp.Role
}

// steal detaches a link of the same name and direction on this connection: the
// new attach wins (§2.6.1, §2.8.18). Other connections are left alone, although
// they may give the same container-id: clients that run in many copies do.
func (s *Session) steal(name string, role amqp.Role) {
	if e := s.conn.names[linkName{name, role}]; e != nil && e.link != nil {
		e.revoke(amqp.Errorf(amqp.CondStolen, "the link was attached again on this connection"))
	}
}

// allocate returns a handle for another link, if one is left.
func (s *Session) allocate() (h amqp.LocalHandle, ok bool) {
	if n := len(s.free); n > 0 {
		h := s.free[n-1]
		s.free = s.free[:n-1]
		return h, true
	}
	n := len(s.byHandle)
	if uint64(n) > uint64(min(s.handleMax, s.remoteHandleMax)) {
		return 0, false
	}
	s.byHandle = append(s.byHandle, nil)
	return amqp.LocalHandle(n), true
}

// release makes a handle free for another link.
func (s *Session) release(h amqp.LocalHandle) {
	s.byHandle[h] = nil
	if uint32(h) <= s.remoteHandleMax { // else it was taken before that was known
		s.free = append(s.free, h)
	}
}

// handleDetach answers a detach of the peer (§2.6.5, §2.6.6): closed is
// mirrored. After a detach of our own it only frees the handles.
func (s *Session) handleDetach(f *frames.Detach) error {
	if s.state != sessionMapped {
		return nil
	}
	e := s.byRemote.get(f.Handle)
	if e == nil {
		return sessionErrorf(amqp.CondUnattachedHandle, "detach of handle %d, to which no link is attached", f.Handle)
	}
	if e.link != nil {
		s.flushSettled()
		s.conn.send(s.localChannel, &frames.Detach{Handle: uint32(e.localHandle), Closed: f.Closed})
		e.tell(f.Error)
		if e.link != nil { // telling may have ended the session
			s.unlink(e, f.Closed)
		}
	}
	if s.state == sessionMapped {
		s.byRemote.remove(f.Handle)
		s.release(e.localHandle)
	}
	return nil
}

// Detach ends the link from this end. Frames that the peer still sends on it
// are discarded until it answers.
func (e *Endpoint) Detach(closed bool, err *amqp.Error) {
	if e.link == nil {
		return
	}
	s := e.session
	if !s.Ended() {
		s.flushSettled()
		s.conn.send(s.localChannel, &frames.Detach{Handle: uint32(e.localHandle), Closed: closed, Error: err})
	}
	s.unlink(e, closed)
}

func (s *Session) unlink(e *Endpoint, closed bool) {
	link := e.link
	e.link = nil
	s.forget(e)
	link.Gone(closed)
	if closed || e.unanswered {
		s.lose(link)
		return
	}
	s.conn.lingers = append(s.conn.lingers, &linger{session: s, link: link})
}

func (s *Session) dropLink(e *Endpoint, err *amqp.Error) {
	e.tell(err)
	link := e.link
	if link == nil {
		return
	}
	e.link = nil
	s.forget(e)
	link.Gone(true)
}

func (s *Session) forget(e *Endpoint) {
	s.conn.links--
	k := linkName{e.name, e.role}
	if s.conn.names[k] == e {
		delete(s.conn.names, k)
	}
}

// lose resolves the unsettled deliveries of a link that is gone.
func (s *Session) lose(link Link) {
	f := func(_ amqp.DeliveryNumber, u Unsettled) bool {
		if u.Link() != link {
			return false
		}
		u.Lost()
		return true
	}
	s.received.All(f)
	s.sent.All(f)
}

// Contain answers a link error, which arose outside of the handling of a frame,
// with a detach, and any other by ending the session.
func (e *Endpoint) Contain(err error) {
	if err = e.contain(err); err != nil {
		e.session.End(toConnError(err, amqp.CondInternalError).Wire)
	}
}

// contain answers a link error with a detach.
func (e *Endpoint) contain(err error) error {
	if le, ok := err.(*LinkError); ok {
		e.Detach(true, le.Wire)
		return nil
	}
	return err
}

// lingerTime is how long deliveries of a link that was detached without being
// closed may still be settled (§2.6.4). The router does not keep termini, so
// waiting longer would only keep their senders waiting.
const lingerTime = 5 * time.Second

type linger struct {
	session *Session
	link    Link
	until   time.Time
}

func (l *linger) expire() { l.session.lose(l.link) }

// Tick ends what has lasted too long. The driver calls it about once a second.
func (c *Conn) Tick(now time.Time) {
	kept := c.lingers[:0]
	for _, l := range c.lingers {
		switch {
		case l.until.IsZero():
			l.until = now.Add(lingerTime)
			kept = append(kept, l)
		case now.Before(l.until):
			kept = append(kept, l)
		default:
			l.expire()
		}
	}
	clear(c.lingers[len(kept):])
	c.lingers = kept
}

// Idle tells whether Tick has nothing to wait for.
func (c *Conn) Idle() bool { return len(c.lingers) == 0 }

// Expiry is what the router says of every terminus: it ends with the link.
const Expiry amqp.Symbol = "link-detach"
