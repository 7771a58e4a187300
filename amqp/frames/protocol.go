package frames

import (
	"strconv"

	"sluice/amqp"
)

// ProtoID is the protocol id of a protocol header: what the peer wants to speak next (§2.2, §5.2.1, §5.3.2).
type ProtoID uint8

const (
	ProtoAMQP ProtoID = 0
	ProtoTLS  ProtoID = 2
	ProtoSASL ProtoID = 3
)

func (p ProtoID) String() string {
	switch p {
	case ProtoAMQP:
		return "AMQP"
	case ProtoTLS:
		return "TLS"
	case ProtoSASL:
		return "SASL"
	}
	return strconv.Itoa(int(p))
}

// ProtocolHeaderSize is the size in bytes of a protocol header.
const ProtocolHeaderSize = 8

// ProtocolHeader returns the protocol header of version 1.0.0.
func ProtocolHeader(id ProtoID) [ProtocolHeaderSize]byte {
	return [...]byte{'A', 'M', 'Q', 'P', byte(id), 1, 0, 0}
}

// ParseProtocolHeader reads a protocol header of version 1.0.0. The right answer to an error is the protocol header that
// we speak, and a close of the socket (§2.2).
func ParseProtocolHeader(b []byte) (ProtoID, error) {
	if len(b) < ProtocolHeaderSize {
		return 0, amqp.Errorf(amqp.CondFramingError, "protocol header of %d bytes", len(b))
	}
	b = b[:ProtocolHeaderSize]
	if string(b[:4]) != "AMQP" {
		return 0, amqp.Errorf(amqp.CondFramingError, "not an AMQP peer: it begins with %q", b)
	}
	id := ProtoID(b[4])
	switch id {
	case ProtoAMQP, ProtoTLS, ProtoSASL:
	default:
		return 0, amqp.Errorf(amqp.CondFramingError, "unknown protocol id %d", b[4])
	}
	if b[5] != 1 || b[6] != 0 || b[7] != 0 {
		return 0, amqp.Errorf(amqp.CondFramingError, "protocol version %d.%d.%d is not supported", b[5], b[6], b[7])
	}
	return id, nil
}
