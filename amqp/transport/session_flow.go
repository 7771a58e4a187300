package transport

import (
	"sluice/amqp"
	"sluice/amqp/frames"
)

// handleFlow updates the session's and, where a handle is given, the link's
// flow state (§2.5.6, §2.6.7). It is handled at once, whatever waits.
func (s *Session) handleFlow(f *frames.Flow) error {
	if s.state != sessionMapped {
		return nil
	}
	// remote-incoming-window = next-incoming-id + incoming-window - next-outgoing-id,
	// where a peer that has not seen our begin leaves out next-incoming-id and
	// means our initial-outgoing-id, which is zero.
	next := amqp.TransferNumber(0)
	if f.HasNextIncomingID {
		next = f.NextIncomingID
	}
	inFlight := s.nextOutgoingID.Sub(next)
	if inFlight < 0 {
		return sessionErrorf(amqp.CondInvalidField, "next-incoming-id %d has not been sent yet; the next transfer is %d", next, s.nextOutgoingID)
	}
	w := int64(f.IncomingWindow) - int64(inFlight)
	s.remoteIncomingWindow = uint32(max(w, 0))
	if s.remoteIncomingWindow > 0 {
		s.listReady()
	}
	s.peerOutgoing = f.OutgoingWindow
	if !f.HasHandle {
		if f.Echo {
			s.wantFlow()
		}
		return nil
	}
	e := s.byRemote.get(f.Handle)
	if e == nil {
		return sessionErrorf(amqp.CondUnattachedHandle, "flow on handle %d, to which no link is attached", f.Handle)
	}
	if e.link == nil || e.unanswered {
		return nil
	}
	if f.Echo {
		e.WantFlow()
	}
	return e.contain(e.link.Flow(f))
}

// WantFlow has a flow with the link's state sent with the next output. It means
// nothing while the peer has not answered the link.
func (e *Endpoint) WantFlow() {
	if e.flowDue || e.link == nil || e.unanswered {
		return
	}
	e.flowDue = true
	e.session.linkFlows = append(e.session.linkFlows, e)
	e.session.listFlow()
}

func (s *Session) sendFlows() {
	if s.state != sessionMapped {
		return
	}
	for i, e := range s.linkFlows {
		s.linkFlows[i] = nil
		e.flowDue = false
		if e.link == nil {
			continue
		}
		f := &s.conn.outFlow
		*f = s.flowFrame()
		f.HasHandle, f.Handle = true, uint32(e.localHandle)
		e.link.FlowState(f)
		s.conn.send(s.localChannel, f)
	}
	if s.flowDue && len(s.linkFlows) == 0 {
		f := &s.conn.outFlow
		*f = s.flowFrame()
		s.conn.send(s.localChannel, f)
	}
	s.linkFlows = s.linkFlows[:0]
	s.flowDue = false
}

func (s *Session) flowFrame() frames.Flow {
	s.adapt()
	if w := int64(s.incoming.window) - int64(s.waiting); w > int64(s.limit.Sub(s.nextIncomingID)) {
		s.limit = s.nextIncomingID + amqp.TransferNumber(w)
	} // what has been granted stands
	return frames.Flow{
		NextIncomingID:    s.nextIncomingID,
		HasNextIncomingID: true,
		IncomingWindow:    uint32(s.limit.Sub(s.nextIncomingID)),
		NextOutgoingID:    s.nextOutgoingID,
		OutgoingWindow:    outgoingWindow,
	}
}
