package transport

import (
	"bytes"
	"encoding/binary"
	"errors"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/buffers"
)

// Consume handles the complete protocol headers and frames in bytes [from, to)
// of chunk and returns where it stopped: at the start of an incomplete one, or
// at to. The payload of transfers is kept by reference, so the bytes handled
// must not be written again.
//
// Errors of the peer are answered on the wire and not returned; after one that
// ends the connection, Closing or Ended is true.
func (c *Conn) Consume(chunk *buffers.Chunk, from, to int) int {
	defer c.endConsume(chunk)
	b := chunk.Bytes()
	for from < to && c.state != stateEnd {
		if c.state == stateHeader {
			if to-from < 8 {
				if !plausibleHeader(b[from:to]) {
					c.refuseHeader()
				}
				break
			}
			c.handleHeader(b[from : from+8])
			from += 8
			continue
		}
		if to-from < frames.HeaderSize {
			break
		}
		size := binary.BigEndian.Uint32(b[from:])
		if size > c.frameLimit() {
			c.fail(connErrorf(amqp.CondFramingError, "frame of %d bytes exceeds the max-frame-size of %d", size, c.frameLimit()))
			return to
		}
		h, err := frames.ParseHeader(b[from:to])
		if err != nil {
			c.fail(toConnError(err, amqp.CondFramingError))
			return to
		}
		if to-from < int(size) {
			break
		}
		body := from + int(h.DataOffset)*4
		end := from + int(size)
		c.FramesIn++
		if c.cfg.Trace != nil && body < end {
			c.cfg.Trace(false, h.Channel, b[body:end])
		}
		if err := c.handleFrame(h, chunk, body, end); err != nil {
			c.fail(err)
		}
		from = end
	}
	if c.state == stateEnd {
		return to
	}
	return from
}

// retainStep is the number of references to a Chunk that are taken at once.
const retainStep = 64

// retain takes a reference to the Chunk that is being consumed.
func (c *Conn) retain(chunk *buffers.Chunk) {
	if c.spareRefs == 0 {
		chunk.Retain(retainStep)
		c.spareRefs = retainStep
	}
	c.spareRefs--
}

func (c *Conn) endConsume(chunk *buffers.Chunk) {
	if c.spareRefs > 0 {
		chunk.Release(c.spareRefs)
		c.spareRefs = 0
	}
	c.EndBatch()
}

// Need is the size of the frame that starts with b, as far as b tells: how much
// memory the rest of it will take.
func (c *Conn) Need(b []byte) int {
	if len(b) < 4 || c.state == stateHeader {
		return frames.HeaderSize
	}
	return int(min(binary.BigEndian.Uint32(b), c.frameLimit()))
}

func (c *Conn) frameLimit() uint32 {
	if c.state == stateSASL {
		return maxEarlyFrame
	}
	return c.cfg.MaxFrameSize
}

func (c *Conn) handleFrame(h frames.Header, chunk *buffers.Chunk, body, end int) error {
	b := chunk.Bytes()[body:end:end]
	if c.state == stateSASL {
		return c.handleSASLFrame(h, b)
	}
	if h.Type != frames.TypeAMQP {
		return connErrorf(amqp.CondFramingError, "frame type %d where an AMQP frame was expected", h.Type)
	}
	if len(b) == 0 {
		return nil // a heartbeat
	}
	code, _, err := frames.PeekPerformative(b)
	if err != nil {
		return toConnError(err, amqp.CondDecodeError)
	}
	switch c.state {
	case stateOpenWait:
		if code != frames.PerformativeOpen {
			return connErrorf(amqp.CondNotAllowed, "%v before open", code)
		}
		return c.handleOpen(b)
	case stateCloseSent:
		// §2.4.6 DISCARDING: only the close matters.
		if code == frames.PerformativeClose {
			c.peerClosed = true
			c.finish(nil)
		}
		return nil
	}
	switch code {
	case frames.PerformativeTransfer:
		payload, err := c.transfer.Decode(b)
		if err != nil {
			return toConnError(err, amqp.CondDecodeError)
		}
		s := c.session(h.Channel)
		if s == nil {
			return c.noSession(h.Channel, code)
		}
		return s.contain(s.handleTransfer(&c.transfer, chunk, end-len(payload), end))
	case frames.PerformativeDisposition:
		if _, err := c.dispo.Decode(b); err != nil {
			return toConnError(err, amqp.CondDecodeError)
		}
		s := c.session(h.Channel)
		if s == nil {
			return c.noSession(h.Channel, code)
		}
		return s.contain(s.handleDisposition(&c.dispo))
	case frames.PerformativeFlow:
		if _, err := c.flow.Decode(b); err != nil {
			return toConnError(err, amqp.CondDecodeError)
		}
		s := c.session(h.Channel)
		if s == nil {
			return c.noSession(h.Channel, code)
		}
		return s.contain(s.handleFlow(&c.flow))
	case frames.PerformativeOpen:
		return connErrorf(amqp.CondIllegalState, "a second open")
	case frames.PerformativeClose:
		var f frames.Close
		if _, err := f.Decode(b); err != nil {
			return toConnError(err, amqp.CondDecodeError)
		}
		c.handleClose(&f)
		return nil
	case frames.PerformativeBegin:
		var f frames.Begin
		if _, err := f.Decode(b); err != nil {
			return toConnError(err, amqp.CondDecodeError)
		}
		return c.handleBegin(h.Channel, &f)
	}
	s := c.session(h.Channel)
	if s == nil {
		return c.noSession(h.Channel, code)
	}
	switch code {
	case frames.PerformativeAttach:
		var f frames.Attach
		if _, err := f.Decode(b); err != nil {
			return toConnError(err, amqp.CondDecodeError)
		}
		return s.contain(s.handleAttach(&f))
	case frames.PerformativeDetach:
		var f frames.Detach
		if _, err := f.Decode(b); err != nil {
			return toConnError(err, amqp.CondDecodeError)
		}
		return s.contain(s.handleDetach(&f))
	case frames.PerformativeEnd:
		var f frames.End
		if _, err := f.Decode(b); err != nil {
			return toConnError(err, amqp.CondDecodeError)
		}
		s.handleEnd(&f)
		return nil
	}
	return connErrorf(amqp.CondNotAllowed, "%v is not an AMQP performative", code)
}

func (c *Conn) session(channel uint16) *Session { return c.byRemote.get(uint32(channel)) }

func (c *Conn) noSession(channel uint16, code frames.Performative) error {
	return connErrorf(amqp.CondNotAllowed, "%v on channel %d, on which no session has begun", code, channel)
}

// toConnError makes any error one that ends the connection: a frame that could
// not be decoded says nothing reliable about what it belonged to.
func toConnError(err error, otherwise amqp.Condition) *ConnError {
	var ce *ConnError
	if errors.As(err, &ce) {
		return ce
	}
	var ae *amqp.Error
	if errors.As(err, &ae) {
		return &ConnError{ae}
	}
	return &ConnError{amqp.Errorf(otherwise, "%v", err)}
}

func plausibleHeader(b []byte) bool {
	return bytes.HasPrefix([]byte("AMQP"), b[:min(len(b), 4)])
}
