package frames

import (
	"errors"
	"strconv"

	"sluice/amqp"
	"sluice/amqp/encoding"
)

// Performative is the descriptor of a frame body.
type Performative uint8

const (
	PerformativeOpen        Performative = encoding.DescOpen
	PerformativeBegin       Performative = encoding.DescBegin
	PerformativeAttach      Performative = encoding.DescAttach
	PerformativeFlow        Performative = encoding.DescFlow
	PerformativeTransfer    Performative = encoding.DescTransfer
	PerformativeDisposition Performative = encoding.DescDisposition
	PerformativeDetach      Performative = encoding.DescDetach
	PerformativeEnd         Performative = encoding.DescEnd
	PerformativeClose       Performative = encoding.DescClose

	PerformativeSASLMechanisms Performative = encoding.DescSASLMechanisms
	PerformativeSASLInit       Performative = encoding.DescSASLInit
	PerformativeSASLChallenge  Performative = encoding.DescSASLChallenge
	PerformativeSASLResponse   Performative = encoding.DescSASLResponse
	PerformativeSASLOutcome    Performative = encoding.DescSASLOutcome
)

func (p Performative) String() string {
	switch p {
	case PerformativeOpen:
		return "open"
	case PerformativeBegin:
		return "begin"
	case PerformativeAttach:
		return "attach"
	case PerformativeFlow:
		return "flow"
	case PerformativeTransfer:
		return "transfer"
	case PerformativeDisposition:
		return "disposition"
	case PerformativeDetach:
		return "detach"
	case PerformativeEnd:
		return "end"
	case PerformativeClose:
		return "close"
	case PerformativeSASLMechanisms:
		return "sasl-mechanisms"
	case PerformativeSASLInit:
		return "sasl-init"
	case PerformativeSASLChallenge:
		return "sasl-challenge"
	case PerformativeSASLResponse:
		return "sasl-response"
	case PerformativeSASLOutcome:
		return "sasl-outcome"
	}
	return "performative 0x" + strconv.FormatUint(uint64(p), 16)
}

// valid reports whether p is one of the constants.
func (p Performative) valid() bool {
	return p >= PerformativeOpen && p <= PerformativeClose || p >= PerformativeSASLMechanisms && p <= PerformativeSASLOutcome
}

// PeekPerformative returns which performative a frame body begins with, and the offset of its list. It looks at nothing
// behind the descriptor. A descriptor that is none of the standard's performatives is an error.
func PeekPerformative(body []byte) (code Performative, fields int, err error) {
	if len(body) >= 3 && body[0] == 0x00 && body[1] == 0x53 && Performative(body[2]).valid() {
		return Performative(body[2]), 3, nil
	}
	d := encoding.NewDecoder(body)
	c, err := d.Descriptor()
	if err != nil {
		var e *amqp.Error
		errors.As(err, &e)
		return 0, 0, amqp.Errorf(amqp.CondDecodeError, "performative: %s", e.Description)
	}
	if c > 0xff || !Performative(c).valid() {
		return 0, 0, amqp.Errorf(amqp.CondDecodeError, "performative: unknown descriptor 0x%x", c)
	}
	return Performative(c), d.Offset(), nil
}

// open checks that body begins with the performative want, opens its list of at most most fields, and returns what
// follows the list.
func openFields(body []byte, want Performative, most int) (f encoding.Fields, rest []byte, err error) {
	code, at, err := PeekPerformative(body)
	if err != nil {
		return encoding.Fields{}, nil, err
	}
	if code != want {
		return encoding.Fields{}, nil, amqp.Errorf(amqp.CondDecodeError, "%v expected, found %v", want, code)
	}
	d := encoding.NewDecoder(body)
	if err := d.Advance(at); err != nil {
		return encoding.Fields{}, nil, err
	}
	f = d.Fields(want.String(), most)
	return f, d.Rest(), nil
}

// finish ends the decoding of a performative that has no payload.
func finish(f *encoding.Fields, rest []byte) ([]byte, error) {
	if err := f.Finish(); err != nil {
		return nil, err
	}
	if len(rest) != 0 {
		f.Reject("", amqp.CondDecodeError, "%d bytes after the performative", len(rest))
		return nil, f.Finish()
	}
	return nil, nil
}
