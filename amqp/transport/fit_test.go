package transport_test

import (
	"errors"
	"strings"
	"testing"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/encoding"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
)

// small is a conversation with a peer whose max-frame-size is the smallest that
// there may be. Nothing larger may reach it (§2.7.1), whatever others have said.
func small(t *testing.T, f func(h *end, p *Peer, s *transport.Session)) {
	open := Open("peer")
	open.MaxFrameSize = 512
	conversation(t, transport.Config{MaxFrameSize: 65536}, open, func(h *end, p *Peer) {
		var s *transport.Session
		h.attach = func(session *transport.Session, a *frames.Attach) (transport.Link, *frames.Attach, *amqp.Error) {
			s = session
			return new(recorder), &frames.Attach{Source: a.Source, Target: a.Target}, nil
		}
		p.BeginSession(0, Begin())
		p.Attach(Sending("first", 0, "a"))
		f(h, p, s)
	})
}

var long = strings.Repeat("ä", 5000)

func TestFit_Outcomes(t *testing.T) {
	annotations, err := encoding.AppendAny(nil, encoding.Map{{Key: amqp.Symbol("x"), Value: long}})
	if err != nil {
		t.Fatal(err)
	}
	small(t, func(h *end, p *Peer, s *transport.Session) {
		tell := func(state messaging.DeliveryState) frames.Disposition {
			h.do(func(*transport.Conn) { s.Dispose(amqp.RoleReceiver, 0, true, state) })
			var d frames.Disposition
			p.Want("", "disposition first=0 settled").Decode(&d)
			return d
		}
		d := tell(messaging.Rejected(&amqp.Error{Condition: "com.example:no", Description: long, Info: annotations}))
		if e, err := messaging.ParseRejected(d.State); err != nil || e.Condition != "com.example:no" || !strings.HasPrefix(e.Description, "ää") || !strings.HasSuffix(e.Description, "ä…") {
			t.Errorf("rejected: %v, %v", e, err)
		}
		d = tell(messaging.Rejected(&amqp.Error{Condition: amqp.Condition(long)}))
		if e, err := messaging.ParseRejected(d.State); err != nil || e.Condition != amqp.CondInternalError {
			t.Errorf("rejected: %v, %v", e, err)
		}
		d = tell(messaging.Modified(true, true, annotations))
		if m, err := messaging.ParseModified(d.State); err != nil || !m.DeliveryFailed || !m.UndeliverableHere || m.MessageAnnotations != nil {
			t.Errorf("modified: %+v, %v", m, err)
		}
		other, err := encoding.AppendAny(encoding.AppendDescriptor(nil, 0x77), long)
		if err != nil {
			t.Fatal(err)
		}
		if d = tell(messaging.DeliveryState{Kind: messaging.StateOther, Raw: other}); d.State.Kind != messaging.StateNone {
			t.Errorf("a state that is not defined: %+v", d.State)
		}
		short := messaging.Rejected(&amqp.Error{Condition: "com.example:no", Description: "short"})
		if d = tell(short); string(d.State.Raw) != string(short.Raw) {
			t.Errorf("what fits: %x", d.State.Raw)
		}
	})
}

func TestFit_Errors(t *testing.T) {
	tooLong := amqp.Errorf(amqp.CondNotAllowed, "%s", long)
	small(t, func(h *end, p *Peer, s *transport.Session) {
		h.do(func(*transport.Conn) { s.Links(func(l transport.Link) { l.(*recorder).ep.Detach(true, tooLong) }) })
		p.Want("", "detach handle=0 closed ~condition=amqp:not-allowed")
		h.do(func(*transport.Conn) { s.End(tooLong) })
		p.Want("", "end ~condition=amqp:not-allowed")
		h.do(func(c *transport.Conn) { c.Close(tooLong) })
		p.Want("", "close ~condition=amqp:not-allowed")
	})
}

func TestFit_Attach(t *testing.T) {
	small(t, func(h *end, p *Peer, s *transport.Session) {
		// One that this end makes.
		var le *transport.LinkError
		h.do(func(*transport.Conn) {
			a := &frames.Attach{Name: "mine", Role: amqp.RoleReceiver, Source: &messaging.Source{Address: long}}
			if _, err := s.Attach(new(recorder), a); !errors.As(err, &le) || le.Wire.Condition != amqp.CondFrameSizeTooSmall {
				t.Errorf("got %v", err)
			}
		})
		p.WantIdle("nothing was sent")
		// One whose answer is longer than what the peer has sent.
		p.Write(Sending("theirs", 1, long))
		p.Want("", "attach name=\"theirs\" role=receiver")
		p.Want("", "detach closed ~amqp:frame-size-too-small")
		p.Write(Detach(1, true))
		p.Attach(Sending("another", 2, "b"))
		// One whose name alone is longer costs its session.
		p.Write(Sending(long, 3, "b"))
		p.Want("", "end ~amqp:frame-size-too-small")
	})
}
