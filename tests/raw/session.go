package raw

import (
	"fmt"

	"sluice/amqp"
	"sluice/amqp/frames"
)

// A Session is a session of a Conn; its lock guards it.
type Session struct {
	c       *Conn
	channel uint16
	remote  *frames.Begin
	ended   bool
	leaving bool // we have sent our end
	end     *amqp.Error

	nextOutgoingID amqp.TransferNumber
	remoteLimit    amqp.TransferNumber // first transfer that the peer's window does not hold
	nextDelivery   amqp.DeliveryNumber
	nextIncomingID amqp.TransferNumber
	window         uint32 // frames that may still come
	// Closed keeps the incoming-window shut: it is not reopened.
	shut bool

	links  []*link          // by our handle
	byPeer map[uint32]*link // by the peer's
	owners []owner          // senders of runs of deliveries

	// Accepts that have not been sent.
	first, last amqp.DeliveryNumber
	pending     bool
	listed      bool
}

// owner says that deliveries from first on are a Sender's.
type owner struct {
	first amqp.DeliveryNumber
	s     *Sender
}

type link struct {
	sender   *Sender
	receiver *Receiver
	handle   uint32
	attached *frames.Attach
	detached *frames.Detach
	leaving  bool // we have sent our detach
}

// Session begins a session.
func (c *Conn) Session() (*Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &Session{c: c, channel: uint16(len(c.ours)), window: c.opts.Window, byPeer: map[uint32]*link{}}
	c.ours = append(c.ours, s)
	c.append(s.channel, &frames.Begin{IncomingWindow: s.window, OutgoingWindow: 1<<31 - 1, HandleMax: frames.DefaultHandleMax})
	return s, c.wait(func() bool { return s.remote != nil })
}

// MustSession is a Session of a connection that is known to work.
func (c *Conn) MustSession() *Session {
	s, err := c.Session()
	if err != nil {
		panic(err)
	}
	return s
}

func (s *Session) begun(f *frames.Begin) {
	s.remote = f
	s.nextIncomingID = f.NextOutgoingID
	s.remoteLimit = s.nextOutgoingID + amqp.TransferNumber(f.IncomingWindow)
}

// RemoteWindow is the incoming-window that the peer began with, in frames.
func (s *Session) RemoteWindow() uint32 { return s.remote.IncomingWindow }

// Shut keeps the incoming-window from being reopened, or reopens it.
func (s *Session) Shut(shut bool) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.shut = shut
	if !shut {
		s.reopen(true)
	}
}

// Err is the error that the peer ended the session with.
func (s *Session) Err() *amqp.Error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.end
}

// WaitEnd waits until the peer has ended the session.
func (s *Session) WaitEnd() (*amqp.Error, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	err := s.c.wait(func() bool { return s.ended })
	return s.end, err
}

func (s *Session) flow() *frames.Flow {
	return &frames.Flow{
		NextIncomingID: s.nextIncomingID, HasNextIncomingID: true, IncomingWindow: s.window,
		NextOutgoingID: s.nextOutgoingID, OutgoingWindow: 1<<31 - 1,
	}
}

func (s *Session) reopen(force bool) {
	if !s.shut && (force || s.window <= s.c.opts.Window/2) {
		s.window = s.c.opts.Window
		s.c.append(s.channel, s.flow())
	}
}

func (s *Session) handle(code frames.Performative, body []byte) error {
	switch code {
	case frames.PerformativeTransfer:
		return s.transfer(body)
	case frames.PerformativeFlow:
		var f frames.Flow
		if _, err := f.Decode(body); err != nil {
			return err
		}
		s.peerFlow(&f)
	case frames.PerformativeDisposition:
		var f frames.Disposition
		if _, err := f.Decode(body); err != nil {
			return err
		}
		s.disposition(&f)
	case frames.PerformativeAttach:
		f := new(frames.Attach)
		if _, err := f.Decode(body); err != nil {
			return err
		}
		return s.attached(f)
	case frames.PerformativeDetach:
		f := new(frames.Detach)
		if _, err := f.Decode(body); err != nil {
			return err
		}
		if l := s.byPeer[f.Handle]; l != nil {
			l.detached = f
			delete(s.byPeer, f.Handle)
			if !l.leaving { // else it is the answer
				s.c.append(s.channel, &frames.Detach{Handle: l.handle, Closed: f.Closed})
			}
		}
		s.c.cond.Broadcast()
	case frames.PerformativeEnd:
		var f frames.End
		if _, err := f.Decode(body); err != nil {
			return err
		}
		s.ended, s.end = true, f.Error
		if !s.leaving { // else it is the answer
			s.c.append(s.channel, &frames.End{})
		}
		s.c.cond.Broadcast()
	default:
		return fmt.Errorf("raw: unexpected %v", code)
	}
	return nil
}

func (s *Session) peerFlow(f *frames.Flow) {
	// A flow that was sent before our begin was seen counts from the start.
	s.remoteLimit = f.NextIncomingID + amqp.TransferNumber(f.IncomingWindow)
	if f.HasHandle {
		if l := s.byPeer[f.Handle]; l != nil {
			switch {
			case l.sender != nil:
				l.sender.flow(f)
			case f.Drain || f.HasDeliveryCount:
				l.receiver.flow(f)
			}
		}
	}
	if f.Echo {
		s.c.append(s.channel, s.flow())
	}
	s.c.cond.Broadcast()
}

func (s *Session) attached(f *frames.Attach) error {
	for _, l := range s.links {
		if l.attached == nil && l.is(f) {
			l.attached = f
			s.byPeer[f.Handle] = l
			s.c.cond.Broadcast()
			return nil
		}
	}
	return fmt.Errorf("raw: attach of %q, which was not asked for", f.Name)
}

func (l *link) is(f *frames.Attach) bool {
	if l.sender != nil {
		return f.Role == amqp.RoleReceiver && l.sender.name == f.Name
	}
	return f.Role == amqp.RoleSender && l.receiver.name == f.Name
}

// attach sends an attach and waits for the answer, and with it whether it was a
// refusal: then a detach follows.
func (s *Session) attach(l *link, a *frames.Attach, wait bool) error {
	a.Handle = uint32(len(s.links))
	l.handle = a.Handle
	s.links = append(s.links, l)
	s.c.append(s.channel, a)
	if !wait {
		return nil
	}
	return s.await(l)
}

func (s *Session) await(l *link) error {
	err := s.c.wait(func() bool { return s.ended || l.attached != nil && (!l.refused() || l.detached != nil) })
	if err == nil && l.detached != nil {
		err = &DetachError{l.detached.Error}
	}
	if err == nil && s.ended {
		err = fmt.Errorf("raw: the session has ended: %v", s.end)
	}
	return err
}

// refused tells whether an attach announces a detach (§2.6.3): the terminus is
// missing.
func (l *link) refused() bool {
	if l.sender != nil {
		return l.attached.Target.IsNull()
	}
	return l.attached.Source == nil
}

// DetachError is the end of a link by the peer.
type DetachError struct{ Err *amqp.Error }

func (e *DetachError) Error() string {
	if e.Err == nil {
		return "raw: the peer detached the link"
	}
	return "raw: the peer detached the link: " + e.Err.Error()
}

// settleDirty sends the accepts that were collected; mu is held.
func (c *Conn) settleDirty() {
	for i, s := range c.dirty {
		s.flushAccepts()
		s.listed = false
		c.dirty[i] = nil
	}
	c.dirty = c.dirty[:0]
}
