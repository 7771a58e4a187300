package transport

import (
	"strings"
	"unicode/utf8"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
)

// What is sent must fit into the peer's max-frame-size (§2.7.1), and only the body
// of a message can be cut into several frames. Errors and outcomes may come from
// others whose frames are larger.

// put queues a control frame, and does nothing and returns false if the peer does
// not take one of its size.
func (c *Conn) put(channel uint16, f appender) bool {
	at := len(c.control)
	c.control = frames.AppendFrame(c.control, frames.TypeAMQP, channel, f)
	if len(c.control)-at > c.maxFrameSize && c.state >= stateOpened {
		c.control = c.control[:at]
		return false
	}
	c.FramesOut++
	if c.cfg.Trace != nil {
		c.cfg.Trace(true, channel, c.control[at+frames.HeaderSize:])
	}
	return true
}

// send queues a control frame. Control frames leave in the order in which they
// were queued, and before any transfer that is encoded later. One that is larger
// than the peer takes leaves without what explains it.
func (c *Conn) send(channel uint16, f appender) {
	if c.put(channel, f) {
		return
	}
	switch f := f.(type) {
	case *frames.Detach:
		short := *f
		short.Error = shortened(f.Error)
		c.put(channel, &short)
	case *frames.End:
		c.put(channel, &frames.End{Error: shortened(f.Error)})
	case *frames.Close:
		c.put(channel, &frames.Close{Error: shortened(f.Error)})
	case *frames.Disposition:
		short := *f
		short.State = brief(f.State)
		c.put(channel, &short)
	default: // all others are small
		c.control = frames.AppendFrame(c.control, frames.TypeAMQP, channel, f)
		c.FramesOut++
	}
}

const (
	maxShortCondition   = 128 // bytes
	maxShortDescription = 200
)

// shortened is what fits of an error into the smallest frame there may be, of 512
// bytes: its condition and the beginning of its description.
func shortened(e *amqp.Error) *amqp.Error {
	if e == nil {
		return nil
	}
	short := &amqp.Error{Condition: e.Condition, Description: e.Description}
	if len(short.Condition) > maxShortCondition {
		short.Condition = amqp.CondInternalError
	}
	if cut := maxShortDescription; len(short.Description) > cut {
		for cut > 0 && !utf8.RuneStart(short.Description[cut]) {
			cut--
		}
		short.Description = strings.ToValidUTF8(short.Description[:cut], "") + "…"
	}
	return short
}

// brief is a delivery state without what explains it. One that the specification
// does not define is none then.
func brief(s messaging.DeliveryState) messaging.DeliveryState {
	switch s.Kind {
	case messaging.StateRejected:
		e, _ := messaging.ParseRejected(s)
		return messaging.Rejected(shortened(e))
	case messaging.StateModified:
		m, _ := messaging.ParseModified(s)
		return messaging.Modified(m.DeliveryFailed, m.UndeliverableHere, nil)
	case messaging.StateAccepted, messaging.StateReleased:
		return messaging.DeliveryState{Kind: s.Kind}
	}
	return messaging.DeliveryState{}
}
