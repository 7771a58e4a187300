package transport

import (
	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/sasl"
)

func (c *Conn) startSASLServer() {
	c.state = stateSASL
	c.sasl = c.cfg.SASLServer()
	c.sendSASL(&frames.SASLMechanisms{Mechanisms: c.sasl.Mechanisms()})
}

func (c *Conn) handleSASLFrame(h frames.Header, b []byte) error {
	if h.Type != frames.TypeSASL {
		return c.saslFail("frame type %d where a SASL frame was expected", h.Type)
	}
	code, _, err := frames.PeekPerformative(b)
	if err != nil {
		return c.saslFail("%v", err)
	}
	if c.cfg.Client {
		return c.handleSASLClient(code, b)
	}
	switch code {
	case frames.PerformativeSASLInit:
		var f frames.SASLInit
		if _, err := f.Decode(b); err != nil {
			return c.saslFail("%v", err)
		}
		c.saslMechanism = string(f.Mechanism)
		return c.saslReply(c.sasl.HandleInit(&f))
	case frames.PerformativeSASLResponse:
		var f frames.SASLResponse
		if _, err := f.Decode(b); err != nil {
			return c.saslFail("%v", err)
		}
		return c.saslReply(c.sasl.HandleResponse(&f))
	}
	return c.saslFail("%v is not expected from a client", code)
}

// saslFail ends the connection without a close frame: there is no AMQP layer
// yet that could carry one.
func (c *Conn) saslFail(format string, args ...any) error {
	c.finish(&CloseCause{Err: amqp.Errorf(amqp.CondFramingError, format, args...)})
	return nil
}

// saslReply sends what the exchange has to say, and after its outcome goes on
// with AMQP or gives the peer up.
func (c *Conn) saslReply(r sasl.Reply) error {
	switch {
	case r.Challenge != nil:
		c.sendSASL(r.Challenge)
	case r.Outcome != nil:
		c.sendSASL(r.Outcome)
		if !r.Result.OK {
			why := "authentication failed"
			if r.Err != nil {
				why = r.Err.Error()
			}
			c.finish(&CloseCause{Err: amqp.Errorf(amqp.CondUnauthorizedAccess, "%s", why)})
			return nil
		}
		c.saslDone = true
		c.state = stateHeader
		c.headerSent = false
		c.handler.Authenticated(c, r.Result.User, c.saslMechanism)
	}
	return nil
}

func (c *Conn) handleSASLClient(code frames.Performative, b []byte) error {
	client := c.cfg.SASLClient
	switch code {
	case frames.PerformativeSASLMechanisms:
		var f frames.SASLMechanisms
		if _, err := f.Decode(b); err != nil {
			return c.saslFail("%v", err)
		}
		init, err := client.HandleMechanisms(&f)
		if err != nil {
			return c.saslFail("%v", err)
		}
		c.sendSASL(init)
	case frames.PerformativeSASLChallenge:
		var f frames.SASLChallenge
		if _, err := f.Decode(b); err != nil {
			return c.saslFail("%v", err)
		}
		response, err := client.HandleChallenge(&f)
		if err != nil {
			return c.saslFail("%v", err)
		}
		c.sendSASL(response)
	case frames.PerformativeSASLOutcome:
		var f frames.SASLOutcome
		if _, err := f.Decode(b); err != nil {
			return c.saslFail("%v", err)
		}
		if err := client.HandleOutcome(&f); err != nil {
			c.finish(&CloseCause{Err: amqp.Errorf(amqp.CondUnauthorizedAccess, "%v", err), Remote: true})
			return nil
		}
		c.saslDone = true
		c.handler.Authenticated(c, "", client.Mechanism())
		c.sendHeader(frames.ProtoAMQP)
		c.sendOpen()
		c.state = stateHeader
	default:
		return c.saslFail("%v is not expected from a server", code)
	}
	return nil
}
