package frames

import (
	"encoding/binary"

	"sluice/amqp"
)

// HeaderSize is the size in bytes of a frame header, and so the size of the smallest frame (§2.3.1).
const HeaderSize = 8

// MinMaxFrameSize is the least max-frame-size that a peer may set, and the largest frame before open (§2.7.1).
const MinMaxFrameSize = 512

// Frame types (§2.3.1, §5.3.1).
const (
	TypeAMQP = 0
	TypeSASL = 1
)

// Header is a frame header (§2.3.1).
type Header struct {
	Size       uint32 // of the frame in bytes, header included
	DataOffset uint8  // start of the body in 4-byte words
	Type       uint8
	Channel    uint16 // ignored in SASL frames
}

// BodyOffset returns the start of the body in bytes. What lies between it and HeaderSize is the extended header, which
// §2.3.1 says to ignore.
func (h Header) BodyOffset() int { return int(h.DataOffset) * 4 }

// ParseHeader reads the header at the start of b, which must hold at least HeaderSize bytes. It does not judge the type, nor
// the size against any negotiated maximum.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, amqp.Errorf(amqp.CondFramingError, "frame header of %d bytes", len(b))
	}
	h := Header{
		Size:       binary.BigEndian.Uint32(b),
		DataOffset: b[4],
		Type:       b[5],
		Channel:    binary.BigEndian.Uint16(b[6:]),
	}
	// §2.3.1: "The frame is malformed if the size is less than the size of the frame header"; the same for a data offset
	// below 2.
	switch {
	case h.Size < HeaderSize:
		return h, amqp.Errorf(amqp.CondFramingError, "frame size %d is below the size of the header", h.Size)
	case h.DataOffset < 2:
		return h, amqp.Errorf(amqp.CondFramingError, "data offset %d lies within the frame header", h.DataOffset)
	case uint32(h.DataOffset)*4 > h.Size:
		return h, amqp.Errorf(amqp.CondFramingError, "data offset %d lies beyond the frame of %d bytes", h.DataOffset, h.Size)
	}
	return h, nil
}

// appendHeader appends a header without extension, for a frame of the given size.
func appendHeader(b []byte, size int, typ uint8, channel uint16) []byte {
	return append(b, byte(size>>24), byte(size>>16), byte(size>>8), byte(size), 2, typ, byte(channel>>8), byte(channel))
}

// AppendFrame appends a frame without payload.
func AppendFrame(b []byte, typ uint8, channel uint16, f interface{ Append([]byte) []byte }) []byte {
	start := len(b)
	b = f.Append(appendHeader(b, 0, typ, channel))
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start))
	return b
}

// AppendHeartbeat appends an empty frame (§2.4.5).
func AppendHeartbeat(b []byte) []byte {
	return appendHeader(b, HeaderSize, TypeAMQP, 0)
}
