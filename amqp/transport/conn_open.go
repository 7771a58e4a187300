package transport

import (
	"time"

	"sluice/amqp"
	"sluice/amqp/frames"
)

func (c *Conn) sendOpen() {
	f := frames.Open{
		ContainerID:         c.cfg.ContainerID,
		MaxFrameSize:        c.cfg.MaxFrameSize,
		ChannelMax:          c.cfg.ChannelMax,
		OfferedCapabilities: c.cfg.OfferedCapabilities,
		DesiredCapabilities: c.cfg.DesiredCapabilities,
		Properties:          c.cfg.Properties,
	}
	if c.cfg.Client {
		f.Hostname = c.cfg.Hostname
	}
	if c.cfg.IdleTimeout > 0 {
		// §2.4.5: announce half of what is enforced.
		f.IdleTimeout = amqp.Milliseconds(c.cfg.IdleTimeout / 2 / time.Millisecond)
		f.HasIdleTimeout = true
	}
	c.openSent = true
	c.send(0, &f)
}

func (c *Conn) handleOpen(b []byte) error {
	if _, err := c.remote.Decode(b); err != nil {
		return toConnError(err, amqp.CondDecodeError)
	}
	if c.remote.MaxFrameSize < MinMaxFrameSize {
		return connErrorf(amqp.CondInvalidField, "max-frame-size %d is below %d", c.remote.MaxFrameSize, MinMaxFrameSize)
	}
	// Frames that are sent never need to be larger than those that are
	// received: what arrives is passed on in frames of about the same size.
	c.maxFrameSize = int(min(c.remote.MaxFrameSize, max(c.cfg.MaxFrameSize, 64<<10)))
	if !c.openSent {
		c.sendOpen()
	}
	c.state = stateOpened
	if err := c.handler.Opened(c, &c.remote); err != nil {
		return &ConnError{err}
	}
	return nil
}

func (c *Conn) handleClose(f *frames.Close) {
	c.peerClosed = true
	c.sendClose(nil)
	c.finish(&CloseCause{Err: f.Error, Remote: true})
}

func (c *Conn) sendClose(err *amqp.Error) {
	if !c.openSent {
		if !c.headerSent {
			return
		}
		c.sendOpen() // §2.4.1: a close is preceded by an open
	}
	c.send(0, &frames.Close{Error: err})
}

// Close begins an orderly end: close is sent, with err if not nil, and the
// peer's answer is awaited. Before open the connection ends at once.
func (c *Conn) Close(err *amqp.Error) {
	switch c.state {
	case stateEnd, stateCloseSent:
		return
	case stateHeader, stateSASL:
		c.finish(&CloseCause{Err: err})
		return
	}
	c.sendClose(err)
	c.state = stateCloseSent
	c.teardown(&CloseCause{Err: err})
}

// fail ends the connection because of an error of the peer.
func (c *Conn) fail(err error) {
	ce := toConnError(err, amqp.CondInternalError)
	if c.state == stateCloseSent {
		c.finish(nil) // not worth waiting for a peer that goes on misbehaving
		return
	}
	c.Close(ce.Wire)
}

// Lost ends everything because the socket is gone or the peer is silent.
func (c *Conn) Lost(err *amqp.Error) { c.finish(&CloseCause{Err: err}) }

// finish enters the last state.
func (c *Conn) finish(cause *CloseCause) {
	c.state = stateEnd
	c.teardown(cause)
}

func (c *Conn) teardown(cause *CloseCause) {
	if c.gone {
		return
	}
	c.gone = true
	c.EndBatch()
	var err *amqp.Error
	if cause != nil {
		err = cause.Err
	}
	for _, s := range c.byLocal {
		if s != nil {
			s.drop(err)
		}
	}
	for _, l := range c.lingers {
		l.expire()
	}
	c.lingers = nil
	c.byRemote.clear()
	c.byLocal, c.ready, c.flows, c.settles = nil, nil, nil, nil
	c.handler.Closed(c, cause)
}
