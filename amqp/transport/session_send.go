package transport

import (
	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/buffers"
)

// outgoing is the sending half of a session.
type outgoing struct {
	nextOutgoingID       amqp.TransferNumber
	remoteIncomingWindow uint32
	nextDelivery         amqp.DeliveryNumber
	sent                 Table       // outgoing deliveries that are not settled
	readyLinks           []*Endpoint // links with something to send, in turn
}

func (out *outgoing) begin(f *frames.Begin) { out.remoteIncomingWindow = f.IncomingWindow }

// RemoteWindow is the number of transfer frames that the peer will take now.
func (s *Session) RemoteWindow() uint32 { return s.remoteIncomingWindow }

// NextDelivery returns the delivery-id of the next delivery and, with u, enters
// it as unsettled.
func (s *Session) NextDelivery(u Unsettled) amqp.DeliveryNumber {
	id := s.nextDelivery
	s.nextDelivery++
	if u != nil {
		s.sent.Put(id, u)
	}
	return id
}

// Settled forgets an outgoing delivery.
func (s *Session) Settled(id amqp.DeliveryNumber) { s.sent.Remove(id) }

// Sent returns the unsettled outgoing delivery with this id, or nil.
func (s *Session) Sent(id amqp.DeliveryNumber) Unsettled { return s.sent.Get(id) }

// Room is the payload size of the largest transfer frame with the given fields.
func (s *Session) Room(t *frames.Transfer) int {
	return s.conn.maxFrameSize - frames.TransferOverhead(t)
}

// Send writes one transfer frame; the caller has seen to it that the window is
// open and that the frame is not larger than Room allows.
func (s *Session) Send(o *Output, e *Endpoint, t *frames.Transfer, prefix []byte, parts ...buffers.Slice) {
	s.nextOutgoingID++
	s.remoteIncomingWindow--
	s.conn.FramesOut++
	if s.conn.cfg.Trace != nil {
		b := t.Append(nil)
		for _, p := range parts {
			b = append(b, p.Bytes()...)
		}
		s.conn.cfg.Trace(true, s.localChannel, b)
	}
	o.Transfer(s.localChannel, t, prefix, parts...)
}

// Charge records that o carries bytes of a link; its Written is called with
// them when they have left for the socket.
func (o *Output) Charge(to Sending, bytes int64) { o.charge(to, bytes) }

// Ready notes that a link has something to send. It means nothing while the peer
// has not answered the link.
func (s *Session) Ready(e *Endpoint) {
	if e.listedReady || e.unanswered || s.state != sessionMapped {
		return
	}
	e.listedReady = true
	s.readyLinks = append(s.readyLinks, e)
	s.listReady()
}

func (s *Session) listReady() {
	if !s.listedReady && len(s.readyLinks) > 0 {
		s.listedReady = true
		s.conn.ready = append(s.conn.ready, s)
	}
}

// Encode collects what is to be sent, in this order: control frames, flows,
// dispositions, transfers. What does not fit waits for the next call.
func (c *Conn) Encode(o *Output) {
	c.encodeControl(o)
	for len(c.ready) > 0 && !o.Full() {
		s := c.ready[0]
		copy(c.ready, c.ready[1:])
		c.ready[len(c.ready)-1] = nil
		c.ready = c.ready[:len(c.ready)-1]
		s.listedReady = false
		s.encode(o)
	}
	// A link that has found nothing to send may have answered a drain.
	c.encodeControl(o)
}

// encodeControl collects everything but transfers.
func (c *Conn) encodeControl(o *Output) {
	// Flows and dispositions name numbers that earlier control frames have
	// introduced, so they come after them.
	for _, s := range c.flows {
		s.listedFlow = false
		s.sendFlows()
	}
	clear(c.flows)
	c.flows = c.flows[:0]
	for _, s := range c.settles {
		s.listedSettle = false
		s.flushSettled()
	}
	clear(c.settles)
	c.settles = c.settles[:0]
	if len(c.control) > 0 {
		o.Bytes(c.control)
		c.control = c.control[:0]
		if cap(c.control) > controlLimit {
			c.control = nil
		}
	}
}

// encode lets the links of a session write in turn, a quantum each, and lists
// the session again if the output was full before all was written. While the
// peer's window is closed the session is not listed; a flow lists it again.
func (s *Session) encode(o *Output) {
	for len(s.readyLinks) > 0 && s.remoteIncomingWindow > 0 && !o.Full() {
		e := s.readyLinks[0]
		copy(s.readyLinks, s.readyLinks[1:])
		s.readyLinks[len(s.readyLinks)-1] = nil
		s.readyLinks = s.readyLinks[:len(s.readyLinks)-1]
		e.listedReady = false
		if e.link == nil {
			continue
		}
		if e.link.(Sending).WriteTransfers(o, quantum) && !e.listedReady {
			e.listedReady = true
			s.readyLinks = append(s.readyLinks, e)
		}
	}
	if s.remoteIncomingWindow > 0 {
		s.listReady()
	}
}

// SentOn calls f for the unsettled outgoing deliveries of a link, and forgets
// those for which it returns true.
func (s *Session) SentOn(l Link, f func(Unsettled) bool) {
	s.sent.All(func(_ amqp.DeliveryNumber, u Unsettled) bool { return u.Link() == l && f(u) })
}
