package trunk

import (
	"crypto/rand"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
)

var accepted = messaging.Accepted

// attachOf returns the attach of a link between routers.
func attachOf(role amqp.Role, capability amqp.Symbol) *frames.Attach {
	return &frames.Attach{
		Name:                    "qdlink." + rand.Text()[:15],
		Role:                    role,
		SenderSettleMode:        amqp.SenderSettleMixed,
		Source:                  &messaging.Source{ExpiryPolicy: "link-detach", Capabilities: []amqp.Symbol{capability}},
		Target:                  messaging.TargetField{Target: &messaging.Target{ExpiryPolicy: "link-detach", Capabilities: []amqp.Symbol{capability}}},
		HasInitialDeliveryCount: true,
	}
}

// Capability returns what kind of link between routers a peer's attach asks for,
// empty if none. The terminus that counts is the one at this end of the flow.
func Capability(a *frames.Attach) amqp.Symbol {
	var caps []amqp.Symbol
	switch {
	case a.Role == amqp.RoleSender && a.Target.Target != nil:
		caps = a.Target.Target.Capabilities
	case a.Role == amqp.RoleReceiver && a.Source != nil:
		caps = a.Source.Capabilities
	}
	for _, c := range caps {
		if c == CapControl || c == CapData {
			return c
		}
	}
	return ""
}

// Attach answers the peer's attach of a link of one of the kinds of Capability.
func (t *Trunk) Attach(a *frames.Attach, kind amqp.Symbol) (transport.Link, *frames.Attach, *amqp.Error) {
	reply := &frames.Attach{
		SenderSettleMode:        amqp.SenderSettleMixed,
		Source:                  a.Source,
		Target:                  a.Target,
		HasInitialDeliveryCount: a.Role == amqp.RoleReceiver,
	}
	switch {
	case kind == CapControl && a.Role == amqp.RoleSender && t.in == nil:
		t.in = t.controlIn(a)
		return t.in, reply, nil
	case kind == CapControl && a.Role == amqp.RoleReceiver && t.out == nil:
		t.out = t.controlOut(a)
		return t.out, reply, nil
	case kind == CapControl:
		return nil, nil, amqp.Errorf(amqp.CondNotAllowed, "there is a control link already")
	case a.Role == amqp.RoleSender:
		reply.MaxMessageSize = t.Limits.MaxMessageSize
		return t.dataIn(a), reply, nil
	case t.outs == dataLinks:
		return nil, nil, amqp.Errorf(amqp.CondNotAllowed, "there are %d data links to this router already; a link for a stream is attached by the sender", dataLinks)
	}
	s := t.way.NewWhole(t.outs)
	t.outs++
	return s, reply, nil
}

// Attached is called when a link that Attach has made has been answered.
func (t *Trunk) Attached(l transport.Link) {
	switch l := l.(type) {
	case *links.ControlReceiver:
		l.Begin()
		t.has(&t.haveIn)
	case *links.ControlSender:
		t.has(&t.haveOut)
	case *links.Receiver:
		l.Begin()
	case *links.Sender:
		l.Answered(nil)
	}
}

// streamBytes is the budget of a session for one stream, in bytes: what a message
// that is not taken occupies here.
const streamBytes = 1 << 20

// peerSession returns the budget of the nth session that a router of this family
// begins: those for control and whole messages come first, if it has made the
// connection.
func (t *Trunk) peerSession(n int) int {
	if !t.Connects && n <= 1+dataLinks {
		return 0
	}
	return streamBytes
}
