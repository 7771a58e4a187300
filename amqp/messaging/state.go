package messaging

import (
	"errors"

	"sluice/amqp"
	"sluice/amqp/encoding"
)

// StateKind says which delivery state a DeliveryState is.
type StateKind uint8

const (
	StateNone          StateKind = iota // no state (null or absent)
	StateReceived                       // §3.4.1
	StateAccepted                       // §3.4.2
	StateRejected                       // §3.4.3
	StateReleased                       // §3.4.4
	StateModified                       // §3.4.5
	StateDeclared                       // §4.5.5
	StateTransactional                  // §4.5.6
	StateOther                          // a described value that the standard does not define
)

var stateNames = [...]string{"none", "received", "accepted", "rejected", "released", "modified", "declared",
	"transactional-state", "other"}

func (k StateKind) String() string {
	if int(k) < len(stateNames) {
		return stateNames[k]
	}
	return "invalid"
}

// DeliveryState is the state of a delivery at one end of its link. The router mostly hands it on, so the fields stay
// encoded; the Parse functions look into them.
type DeliveryState struct {
	Kind StateKind
	// Raw is the described value as it was on the wire, borrowed from the frame. It is nil for accepted and released without
	// content, which are nearly all.
	Raw []byte
}

// The outcomes without content.
var (
	Accepted = DeliveryState{Kind: StateAccepted}
	Released = DeliveryState{Kind: StateReleased}
)

// IsTerminal reports whether s is an outcome, that is, whether the receiver is done with the delivery (§3.4).
func (s DeliveryState) IsTerminal() bool {
	switch s.Kind {
	case StateAccepted, StateRejected, StateReleased, StateModified, StateDeclared:
		return true
	}
	return false
}

// Clone returns s with its own copy of Raw.
func (s DeliveryState) Clone() DeliveryState {
	if s.Raw != nil {
		s.Raw = append([]byte(nil), s.Raw...)
	}
	return s
}

// ModifiedFields are the fields of modified (§3.4.5).
type ModifiedFields struct {
	DeliveryFailed     bool
	UndeliverableHere  bool
	MessageAnnotations []byte // encoded map, nil when absent
}

// AppendDeliveryState appends s, or null for StateNone.
func AppendDeliveryState(b []byte, s DeliveryState) []byte {
	switch {
	case s.Raw != nil:
		return append(b, s.Raw...)
	case s.Kind == StateAccepted:
		return append(b, 0x00, 0x53, encoding.DescAccepted, 0x45)
	case s.Kind == StateReleased:
		return append(b, 0x00, 0x53, encoding.DescReleased, 0x45)
	case s.Kind == StateNone:
		return append(b, 0x40)
	}
	// A zero Raw with another kind can only come from a struct literal of ours.
	panic("BUG: delivery state " + s.Kind.String() + " without content")
}

// Rejected returns the outcome rejected; e may be nil.
func Rejected(e *amqp.Error) DeliveryState {
	w := encoding.BeginComposite(nil, encoding.DescRejected)
	w.Error(e)
	return DeliveryState{Kind: StateRejected, Raw: w.End()}
}

// Modified returns the outcome modified; annotations is an encoded map or nil.
func Modified(deliveryFailed, undeliverableHere bool, annotations []byte) DeliveryState {
	w := encoding.BeginComposite(nil, encoding.DescModified)
	w.Flag(deliveryFailed)
	w.Flag(undeliverableHere)
	w.Raw(annotations)
	return DeliveryState{Kind: StateModified, Raw: w.End()}
}

// Received returns the state received, which tells how much of a partial delivery has arrived.
func Received(section uint32, offset uint64) DeliveryState {
	b := encoding.AppendDescriptor(nil, encoding.DescReceived)
	b, m := encoding.BeginList(b)
	b = encoding.AppendUint(b, section)
	b = encoding.AppendUlong(b, offset)
	return DeliveryState{Kind: StateReceived, Raw: encoding.EndList(b, m, 2)}
}

// DecodeDeliveryState reads a delivery state. Null is StateNone. Raw is borrowed from the input.
func DecodeDeliveryState(d *encoding.Decoder) (DeliveryState, error) {
	// §3.4: what receivers send, in the two encodings of an empty list that are in use.
	if b := d.Rest(); len(b) >= 4 && b[0] == 0x00 && b[1] == 0x53 && b[3] == 0x45 {
		switch b[2] {
		case encoding.DescAccepted:
			return Accepted, d.Advance(4)
		case encoding.DescReleased:
			return Released, d.Advance(4)
		}
	}
	return decodeDeliveryState(d)
}

func decodeDeliveryState(d *encoding.Decoder) (DeliveryState, error) {
	if d.IsNull() {
		return DeliveryState{}, nil
	}
	start := *d
	look := *d
	code, err := look.Descriptor()
	if err != nil && !errors.Is(err, encoding.ErrUnknownDescriptor) {
		return DeliveryState{}, err
	}
	s := DeliveryState{Kind: StateOther}
	if err == nil {
		s.Kind = kindOf(code)
	}
	if s.Raw, err = d.Raw(); err != nil {
		return DeliveryState{}, err
	}
	if s.Kind == StateOther {
		return s, nil
	}
	count, _, err := look.List()
	if err != nil {
		*d = start
		return DeliveryState{}, err
	}
	if count == 0 && (s.Kind == StateAccepted || s.Kind == StateReleased) {
		s.Raw = nil
	}
	return s, nil
}

func kindOf(code uint64) StateKind {
	switch code {
	case encoding.DescReceived:
		return StateReceived
	case encoding.DescAccepted:
		return StateAccepted
	case encoding.DescRejected:
		return StateRejected
	case encoding.DescReleased:
		return StateReleased
	case encoding.DescModified:
		return StateModified
	case encoding.DescDeclared:
		return StateDeclared
	case encoding.DescTransactionalState:
		return StateTransactional
	}
	return StateOther
}

// fields opens the list of the state s, which must be of the given kind.
func (s DeliveryState) fields(kind StateKind, most int) (encoding.Fields, error) {
	if s.Kind != kind || s.Raw == nil {
		return encoding.Fields{}, amqp.Errorf(amqp.CondInternalError, "delivery state %v is not %v", s.Kind, kind)
	}
	d := encoding.NewDecoder(s.Raw)
	if _, err := d.Descriptor(); err != nil {
		return encoding.Fields{}, err
	}
	return d.Fields(kind.String(), most), nil
}

// ParseRejected returns the error that a rejected outcome carries, or nil when it carries none.
func ParseRejected(s DeliveryState) (*amqp.Error, error) {
	f, err := s.fields(StateRejected, 1)
	if err != nil {
		return nil, err
	}
	e := f.Error("error")
	if err := f.Finish(); err != nil {
		return nil, err
	}
	return e, nil
}

// ParseModified returns the fields of a modified outcome.
func ParseModified(s DeliveryState) (ModifiedFields, error) {
	f, err := s.fields(StateModified, 3)
	if err != nil {
		return ModifiedFields{}, err
	}
	m := ModifiedFields{
		DeliveryFailed:     f.Flag("delivery-failed"),
		UndeliverableHere:  f.Flag("undeliverable-here"),
		MessageAnnotations: f.Map("message-annotations"),
	}
	if err := f.Finish(); err != nil {
		return ModifiedFields{}, err
	}
	return m, nil
}

// ParseReceived returns the fields of the state received.
func ParseReceived(s DeliveryState) (section uint32, offset uint64, err error) {
	f, err := s.fields(StateReceived, 2)
	if err != nil {
		return 0, 0, err
	}
	section, ok := f.Uint("section-number")
	f.Require("section-number", ok)
	offset, ok = f.Ulong("section-offset")
	f.Require("section-offset", ok)
	return section, offset, f.Finish()
}
