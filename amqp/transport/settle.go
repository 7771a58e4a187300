package transport

import (
	"bytes"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
)

// A Disposition is what a peer says about a delivery, as passed to Unsettled.
// State borrows from the frame.
type Disposition struct {
	ID      amqp.DeliveryNumber
	Settled bool
	State   messaging.DeliveryState
}

type pendingDisposition struct {
	role        amqp.Role
	first, last amqp.DeliveryNumber
	settled     bool
	state       messaging.DeliveryState
}

// Dispose tells the peer about one delivery. Runs of consecutive deliveries
// with the same outcome leave as one frame. The state is taken.
func (s *Session) Dispose(role amqp.Role, id amqp.DeliveryNumber, settled bool, state messaging.DeliveryState) {
	if s.state != sessionMapped {
		return
	}
	if n := len(s.settled); n > 0 {
		p := &s.settled[n-1]
		if p.last+1 == id && p.role == role && p.settled == settled && same(p.state, state) {
			p.last = id
			return
		}
	}
	s.settled = append(s.settled, pendingDisposition{role, id, id, settled, state})
	if !s.listedSettle {
		s.listedSettle = true
		s.conn.settles = append(s.conn.settles, s)
	}
}

// same tells whether two states may be told in one frame.
func same(a, b messaging.DeliveryState) bool { return a.Kind == b.Kind && bytes.Equal(a.Raw, b.Raw) }

func (s *Session) flushSettled() {
	for i := range s.settled {
		p := &s.settled[i]
		f := &s.conn.outDispo
		*f = frames.Disposition{
			Role:    p.role,
			First:   p.first,
			Last:    p.last,
			HasLast: p.first != p.last,
			Settled: p.settled,
			State:   p.state,
		}
		s.conn.send(s.localChannel, f)
	}
	clear(s.settled)
	s.settled = s.settled[:0]
}

// handleDisposition applies what the peer says to the deliveries that are
// unsettled and named; ids that are not unsettled mean nothing (§2.7.6).
func (s *Session) handleDisposition(f *frames.Disposition) error {
	if s.state != sessionMapped {
		return nil
	}
	t := &s.received
	if f.Role == amqp.RoleReceiver {
		t = &s.sent
	}
	if f.Role == amqp.RoleSender && f.Settled && s.waiting > 0 {
		for e := range s.backlogged {
			if w, ok := e.link.(Waiting); ok {
				w.SettledWaiting(f.First, f.Last)
			}
		}
	}
	s.disposed = Disposition{Settled: f.Settled, State: f.State}
	t.Range(f.First, f.Last, s.disposeOne)
	return nil
}

// HandlePost applies outcomes that came from other connections to incoming
// deliveries.
func (s *Session) HandlePost(p *Post) {
	s.disposed = Disposition{Settled: p.Settled, State: p.State}
	s.received.Range(p.First, p.Last, s.resolveOne)
}

func (s *Session) disposedBy(id amqp.DeliveryNumber, u Unsettled) bool {
	s.disposed.ID = id
	return u.Disposed(&s.disposed)
}

func (s *Session) resolvedBy(id amqp.DeliveryNumber, u Unsettled) bool {
	s.disposed.ID = id
	return u.Resolved(&s.disposed)
}
