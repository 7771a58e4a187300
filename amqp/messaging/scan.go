package messaging

import (
	"errors"

	"sluice/amqp"
)

// Section numbers the sections in the order in which they may appear (§3.2), by their descriptor.
type Section uint8

const (
	SectionHeader                Section = 0x70
	SectionDeliveryAnnotations   Section = 0x71
	SectionMessageAnnotations    Section = 0x72
	SectionProperties            Section = 0x73
	SectionApplicationProperties Section = 0x74
	SectionData                  Section = 0x75
	SectionAMQPSequence          Section = 0x76
	SectionAMQPValue             Section = 0x77
	SectionFooter                Section = 0x78
)

// Range is a part [Start, End) of the input. An absent section has an empty range.
type Range struct{ Start, End int }

// Len returns the number of bytes.
func (r Range) Len() int { return r.End - r.Start }

// Of returns the part of b.
func (r Range) Of(b []byte) []byte { return b[r.Start:r.End:r.End] }

// Envelope says where the sections are that a router looks at, descriptors included.
type Envelope struct {
	Header, DeliveryAnnotations, MessageAnnotations, Properties Range

	Rest     int  // start of what follows the sections found
	Complete bool // the section asked for was found, or one after it
}

// ErrIncomplete says that the input ends before the envelope does. It is no fault of the sender: more frames may follow.
// If none do and Envelope.Rest is the length of the input, the message ended between two sections.
var ErrIncomplete = errors.New("message prefix ends within the envelope")

// Scan is filled in below.
func Scan(b []byte, through Section) (Envelope, error) {
	return Envelope{}, amqp.Errorf(amqp.CondNotImplemented, "scan")
}

// PropertiesTo is filled in below.
func PropertiesTo(section []byte) (to []byte, ok bool, err error) { return nil, false, nil }
