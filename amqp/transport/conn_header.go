package transport

import (
	"sluice/amqp"
	"sluice/amqp/frames"
)

// Start begins the conversation: the client role sends its header.
func (c *Conn) Start() {
	if !c.cfg.Client {
		return
	}
	if c.cfg.SASLClient != nil {
		c.sendHeader(frames.ProtoSASL)
		return
	}
	c.sendHeader(frames.ProtoAMQP)
	c.sendOpen()
}

func (c *Conn) sendHeader(id frames.ProtoID) {
	h := frames.ProtocolHeader(id)
	c.control = append(c.control, h[:]...)
	c.headerSent = true
}

// handleHeader answers the peer's protocol header (§2.2, §5.3.2).
func (c *Conn) handleHeader(b []byte) {
	id, err := frames.ParseProtocolHeader(b)
	if err != nil {
		c.refuseHeader()
		return
	}
	if c.cfg.Client {
		c.handleServerHeader(id)
		return
	}
	switch {
	case id == frames.ProtoSASL && c.cfg.SASLServer != nil && !c.saslDone:
		c.sendHeader(frames.ProtoSASL)
		c.startSASLServer()
	case id == frames.ProtoAMQP && (c.saslDone || !c.cfg.RequireSASL):
		if !c.saslDone {
			c.handler.Authenticated(c, "", "")
		}
		c.sendHeader(frames.ProtoAMQP)
		c.state = stateOpenWait
	default:
		c.refuseHeader()
	}
}

func (c *Conn) handleServerHeader(id frames.ProtoID) {
	want := frames.ProtoAMQP
	if c.cfg.SASLClient != nil && !c.saslDone {
		want = frames.ProtoSASL
	}
	if id != want {
		c.finish(&CloseCause{Err: amqp.Errorf(amqp.CondNotImplemented, "the peer speaks %v where %v was expected", id, want), Remote: true})
		return
	}
	if want == frames.ProtoSASL {
		c.state = stateSASL
		return
	}
	if !c.saslDone {
		c.handler.Authenticated(c, "", "")
	}
	c.state = stateOpenWait
}

// refuseHeader answers anything that is not spoken here with the header that is
// (§2.2), and ends the connection.
func (c *Conn) refuseHeader() {
	if !c.cfg.Client && !c.headerSent {
		id := frames.ProtoAMQP
		if c.cfg.SASLServer != nil && c.cfg.RequireSASL {
			id = frames.ProtoSASL
		}
		c.sendHeader(id)
	}
	c.finish(&CloseCause{Err: amqp.Errorf(amqp.CondFramingError, "the peer's protocol header is not one that is spoken here")})
}
