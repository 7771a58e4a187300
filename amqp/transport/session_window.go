package transport

import (
	"bytes"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/buffers"
)

// incoming is the receiving half of a session: stage one of the pipeline.
//
// The incoming-window counts transfer frames (§2.5.6), whatever deliveries they
// belong to and whether those are settled. A frame leaves the window when its
// link pulls it. Frames that a held link has not pulled stay in its backlog and
// are all that stage one holds.
//
// The window is the byte budget of the session divided by max-frame-size. While
// the peer's frames are smaller than that, more of them fit into the budget, and
// the window grows up to elasticWindow; when they become larger it shrinks as
// fast as the frames that were granted arrive. So stage one holds at most the
// budget, and for once elasticWindow × max-frame-size bytes of a peer that
// sends small frames for long and then the largest possible.
type incoming struct {
	window         uint32              // frames that may wait here
	budget         int                 // bytes that may wait here
	most           uint32              // maxSessionFrames, if configured
	frame          int                 // recent size of frames in bytes
	largest        int                 // the largest frame since the last flow
	nextIncomingID amqp.TransferNumber // of the next transfer
	limit          amqp.TransferNumber // first transfer-id that has not been granted
	waiting        uint32              // frames received and not pulled
	floor          uint32              // of window: what the largest frames leave
	nextDeliveryID amqp.DeliveryNumber
	anyDelivery    bool  // nextDeliveryID is known
	received       Table // incoming deliveries that are not settled
	peerOutgoing   uint32
}

func (in *incoming) init(c *Conn, bytes int) {
	in.budget, in.most, in.frame = c.cfg.SessionBytes, c.cfg.MaxSessionFrames, int(c.cfg.MaxFrameSize)
	if bytes > 0 {
		in.budget = min(in.budget, bytes)
	}
	w := uint32(max(minWindow, in.budget/in.frame))
	if in.most != 0 {
		w = min(w, in.most)
	}
	in.window = min(w, maxWindow)
	in.floor = in.window
}

// adapt sets the window to what the budget holds of frames like the recent ones.
// Growth of the frames counts at once, shrinking by halves.
func (in *incoming) adapt() {
	if in.largest == 0 {
		return
	}
	in.frame = max(in.largest, (in.frame+in.largest)/2)
	in.largest = 0
	in.window = in.floor
	if w := uint32(min(in.budget/in.frame, elasticWindow)); w >= 2*in.floor {
		if in.most != 0 {
			w = min(w, in.most)
		}
		in.window = w
	}
}

func (in *incoming) begin(f *frames.Begin) {
	in.nextIncomingID = f.NextOutgoingID
	in.limit = in.nextIncomingID + amqp.TransferNumber(in.window)
	in.peerOutgoing = f.OutgoingWindow
}

// Waiting is the number of frames in stage one.
func (s *Session) Waiting() uint32 { return s.waiting }

// Window is the incoming-window in frames when nothing waits.
func (s *Session) Window() uint32 { return s.incoming.window }

// Pulled takes n frames out of stage one and reopens the window when half of it
// has been used: early enough that the peer need not stop, late enough that one
// flow serves many frames.
func (s *Session) Pulled(n uint32) {
	s.waiting -= n
	if buffers.Tight() {
		return
	}
	if left := s.limit.Sub(s.nextIncomingID); int64(s.incoming.window)-int64(s.waiting) >= int64(left)+int64(s.incoming.window+1)/2 {
		s.wantFlow()
	}
}

// Relieve looks at the window again after memory was short.
func (s *Session) Relieve() { s.Pulled(0) }

// wantFlow has a flow of the session's own state sent with the next output.
func (s *Session) wantFlow() {
	if !s.flowDue {
		s.flowDue = true
		s.listFlow()
	}
}

func (s *Session) listFlow() {
	if !s.listedFlow && s.state == sessionMapped {
		s.listedFlow = true
		s.conn.flows = append(s.conn.flows, s)
	}
}

func (s *Session) handleTransfer(t *frames.Transfer, chunk *buffers.Chunk, from, to int) error {
	if s.state != sessionMapped {
		return nil
	}
	if s.nextIncomingID == s.limit {
		return sessionErrorf(amqp.CondWindowViolation, "transfer %d is beyond the incoming-window", s.nextIncomingID)
	}
	s.nextIncomingID++
	s.waiting++
	s.largest = max(s.largest, to-from+frameOverhead)
	e := s.byRemote.get(t.Handle)
	if e == nil {
		return sessionErrorf(amqp.CondUnattachedHandle, "transfer on handle %d, to which no link is attached", t.Handle)
	}
	if e.role != amqp.RoleReceiver {
		return sessionErrorf(amqp.CondNotAllowed, "transfer on handle %d, on which the peer is the receiver", t.Handle)
	}
	if err := s.number(e, t); err != nil {
		return err
	}
	if e.link == nil || e.unanswered { // detached by us: §2.6.5, the rest is discarded; or refused
		s.Pulled(1)
		return nil
	}
	s.conn.retain(chunk)
	err := e.link.(Receiving).Transfer(t, chunk.Slice(from, to))
	return e.contain(err)
}

// number checks and completes the delivery-id of a transfer (§2.7.5): ids follow
// one another across the links of a session, and are optional on continuations.
func (s *Session) number(e *Endpoint, t *frames.Transfer) error {
	e.first = !e.inDelivery
	if e.inDelivery {
		if t.HasDeliveryID && t.DeliveryID != e.deliveryID {
			return sessionErrorf(amqp.CondInvalidField, "delivery-id %d in the middle of delivery %d", t.DeliveryID, e.deliveryID)
		}
		if t.HasDeliveryTag && !bytes.Equal(t.DeliveryTag, e.tag) {
			return sessionErrorf(amqp.CondInvalidField, "another delivery-tag in the middle of delivery %d", e.deliveryID)
		}
		if t.HasMessageFormat && t.MessageFormat != e.format {
			return sessionErrorf(amqp.CondInvalidField, "message-format %d in the middle of delivery %d, which has %d", t.MessageFormat, e.deliveryID, e.format)
		}
		t.DeliveryID = e.deliveryID
	} else {
		switch {
		case !t.HasDeliveryID:
			return sessionErrorf(amqp.CondInvalidField, "the first transfer of a delivery has no delivery-id")
		case !t.HasDeliveryTag:
			return sessionErrorf(amqp.CondInvalidField, "the first transfer of delivery %d has no delivery-tag", t.DeliveryID)
		case s.anyDelivery && t.DeliveryID != s.nextDeliveryID:
			return sessionErrorf(amqp.CondInvalidField, "delivery-id %d where %d was expected", t.DeliveryID, s.nextDeliveryID)
		}
		e.deliveryID = t.DeliveryID
		s.nextDeliveryID, s.anyDelivery = t.DeliveryID+1, true
		if t.More {
			e.tag, e.format = append(e.tag[:0], t.DeliveryTag...), t.MessageFormat
		}
	}
	e.inDelivery = t.More && !t.Aborted
	return nil
}

// Received enters an incoming delivery that will need to be settled.
func (s *Session) Received(id amqp.DeliveryNumber, u Unsettled) { s.received.Put(id, u) }

// Unsettle forgets an incoming delivery.
func (s *Session) Unsettle(id amqp.DeliveryNumber) { s.received.Remove(id) }
