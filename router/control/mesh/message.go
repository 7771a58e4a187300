package mesh

import (
	"errors"
	"fmt"
	"strings"

	"sluice/amqp/encoding"
)

// Opcode names a kind of control message, as in the application-property of the same name.
type Opcode string

const (
	OpcodeHello Opcode = "HELLO" // to neighbours: I am here, and these I hear
	OpcodeRA    Opcode = "RA"    // to all: I am alive, and these are the numbers of what I last said
	OpcodeLSR   Opcode = "LSR"   // to one: tell your link state
	OpcodeLSU   Opcode = "LSU"   // to one: my link state
	OpcodeMAR   Opcode = "MAR"   // to one: tell your mobile addresses
	OpcodeMAU   Opcode = "MAU"   // to all: changes of my mobile addresses; or to one: all of them
)

// ProtocolVersion is the version (pv) of the messages of this package.
const ProtocolVersion = 1

// Area is the only area there is. It prefixes ids in ingress and trace.
const Area = "0"

// Body is the content of a control message: *Hello, *RA, *LSR, *LSU, *MAR or *MAU.
type Body interface {
	// Opcode returns the kind.
	Opcode() Opcode

	// Origin returns the id of the router that made the message.
	Origin() string

	// appendValue appends the map of the amqp-value section.
	appendValue(b []byte) []byte

	// field reads the value of one key of the map. A key that means nothing here is not known, and not consumed.
	field(key string, d *encoding.Decoder) (known bool, err error)

	// check says what is missing once all fields are read.
	check() error
}

// Message is a whole control message. It must not change once it was handed to or came from an Engine: several links may
// share it.
type Message struct {
	To      string   // address, as in the properties
	Ingress string   // first router, as "0/ID"; may be absent from what comes in
	Trace   []string // routers passed, as "0/ID"; the last is the sender of this transfer

	// Body is nil if the content was not understood; Problem then says why. Such a message can still be passed on to
	// the router that it is for.
	Body    Body
	Problem error

	// Of a message that came in: what is before and behind the message-annotations, which is passed on as it came.
	head, tail []byte
}

// NodeView returns the form in which a router id stands in ingress and trace.
func NodeView(id string) string { return Area + "/" + id }

// passed reports whether the message has passed the router with the given id.
func (m *Message) passed(id string) bool {
	for _, view := range m.Trace {
		if rest, ok := strings.CutPrefix(view, Area+"/"); ok && rest == id {
			return true
		}
	}
	return false
}

// NewMessage returns a message that the router with the given id originates.
func NewMessage(from, to string, body Body) *Message {
	return &Message{To: to, Ingress: NodeView(from), Trace: []string{NodeView(from)}, Body: body}
}

// Passed returns the message as the router with the given id passes it on: with the id at the end of the trace.
func (m *Message) Passed(id string) *Message {
	n := *m
	n.Trace = append(m.Trace[:len(m.Trace):len(m.Trace)], NodeView(id))
	if n.Ingress == "" {
		n.Ingress = n.Trace[0]
	}
	return &n
}

// ErrAnnotationsVersion2 is the error of Decode for a message that begins with the router annotations of the fork, a
// section of its own in front of the header, which this package does not speak.
var ErrAnnotationsVersion2 = errors.New("mesh: message with router annotations of version 2")

// VersionError is the Problem of a message of another protocol version. A caller should tell of it once for each router.
type VersionError struct {
	ID      string // router that made the message; empty if it does not say
	Opcode  Opcode
	Version int64
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("mesh: %s of router %q has protocol version %d, %d is understood", e.Opcode, e.ID, e.Version, ProtocolVersion)
}

// OpcodeError is the Problem of a message with an unknown opcode.
type OpcodeError struct{ Opcode Opcode }

func (e *OpcodeError) Error() string { return fmt.Sprintf("mesh: unknown opcode %q", string(e.Opcode)) }

// newBody returns an empty body, or nil for an unknown opcode.
func newBody(o Opcode) Body {
	switch o {
	case OpcodeHello:
		return new(Hello)
	case OpcodeRA:
		return new(RA)
	case OpcodeLSR:
		return new(LSR)
	case OpcodeLSU:
		return new(LSU)
	case OpcodeMAR:
		return new(MAR)
	case OpcodeMAU:
		return new(MAU)
	}
	return nil
}
