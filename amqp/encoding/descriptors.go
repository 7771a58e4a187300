package encoding

import (
	"errors"

	"sluice/amqp"
)

// Descriptors of the composite types of the standard: the numeric code without its domain, which is 0.
const (
	DescError = 0x1d

	DescOpen        = 0x10
	DescBegin       = 0x11
	DescAttach      = 0x12
	DescFlow        = 0x13
	DescTransfer    = 0x14
	DescDisposition = 0x15
	DescDetach      = 0x16
	DescEnd         = 0x17
	DescClose       = 0x18

	DescReceived                = 0x23
	DescAccepted                = 0x24
	DescRejected                = 0x25
	DescReleased                = 0x26
	DescModified                = 0x27
	DescSource                  = 0x28
	DescTarget                  = 0x29
	DescDeleteOnClose           = 0x2b
	DescDeleteOnNoLinks         = 0x2c
	DescDeleteOnNoMessages      = 0x2d
	DescDeleteOnNoLinksMessages = 0x2e

	DescCoordinator        = 0x30
	DescDeclare            = 0x31
	DescDischarge          = 0x32
	DescDeclared           = 0x33
	DescTransactionalState = 0x34

	DescSASLMechanisms = 0x40
	DescSASLInit       = 0x41
	DescSASLChallenge  = 0x42
	DescSASLResponse   = 0x43
	DescSASLOutcome    = 0x44

	DescHeader                = 0x70
	DescDeliveryAnnotations   = 0x71
	DescMessageAnnotations    = 0x72
	DescProperties            = 0x73
	DescApplicationProperties = 0x74
	DescData                  = 0x75
	DescAMQPSequence          = 0x76
	DescAMQPValue             = 0x77
	DescFooter                = 0x78
)

var symbolicDescriptors = map[string]uint64{
	"amqp:error:list":                          DescError,
	"amqp:open:list":                           DescOpen,
	"amqp:begin:list":                          DescBegin,
	"amqp:attach:list":                         DescAttach,
	"amqp:flow:list":                           DescFlow,
	"amqp:transfer:list":                       DescTransfer,
	"amqp:disposition:list":                    DescDisposition,
	"amqp:detach:list":                         DescDetach,
	"amqp:end:list":                            DescEnd,
	"amqp:close:list":                          DescClose,
	"amqp:received:list":                       DescReceived,
	"amqp:accepted:list":                       DescAccepted,
	"amqp:rejected:list":                       DescRejected,
	"amqp:released:list":                       DescReleased,
	"amqp:modified:list":                       DescModified,
	"amqp:source:list":                         DescSource,
	"amqp:target:list":                         DescTarget,
	"amqp:delete-on-close:list":                DescDeleteOnClose,
	"amqp:delete-on-no-links:list":             DescDeleteOnNoLinks,
	"amqp:delete-on-no-messages:list":          DescDeleteOnNoMessages,
	"amqp:delete-on-no-links-or-messages:list": DescDeleteOnNoLinksMessages,
	"amqp:coordinator:list":                    DescCoordinator,
	"amqp:declare:list":                        DescDeclare,
	"amqp:discharge:list":                      DescDischarge,
	"amqp:declared:list":                       DescDeclared,
	"amqp:transactional-state:list":            DescTransactionalState,
	"amqp:sasl-mechanisms:list":                DescSASLMechanisms,
	"amqp:sasl-init:list":                      DescSASLInit,
	"amqp:sasl-challenge:list":                 DescSASLChallenge,
	"amqp:sasl-response:list":                  DescSASLResponse,
	"amqp:sasl-outcome:list":                   DescSASLOutcome,
	"amqp:header:list":                         DescHeader,
	"amqp:delivery-annotations:map":            DescDeliveryAnnotations,
	"amqp:message-annotations:map":             DescMessageAnnotations,
	"amqp:properties:list":                     DescProperties,
	"amqp:application-properties:map":          DescApplicationProperties,
	"amqp:data:binary":                         DescData,
	"amqp:amqp-sequence:list":                  DescAMQPSequence,
	"amqp:amqp-value:*":                        DescAMQPValue,
	"amqp:footer:map":                          DescFooter,
}

// ErrUnknownDescriptor matches, with errors.Is, the error of Descriptor for a symbolic descriptor outside the standard.
var ErrUnknownDescriptor = errors.New("unknown symbolic descriptor")

// UnknownDescriptor is the error behind ErrUnknownDescriptor. The Decoder stands at the described value, so that a
// caller for which the value is optional can Skip it.
type UnknownDescriptor struct {
	Name string
	err  *amqp.Error
}

func (e *UnknownDescriptor) Error() string        { return e.err.Error() }
func (e *UnknownDescriptor) Unwrap() error        { return e.err }
func (e *UnknownDescriptor) Is(target error) bool { return target == ErrUnknownDescriptor }

// Descriptor reads the constructor of a described value and leaves the Decoder at the value. It accepts the numeric
// descriptor in any ulong encoding and the symbolic ones of the standard (§1.3: "two … descriptors … for each type").
func (d *Decoder) Descriptor() (code uint64, err error) {
	// The form that every known peer sends.
	if p := d.pos; d.elem == 0 && p+3 <= len(d.b) && d.b[p] == codeDescribed && d.b[p+1] == codeSmallUlong {
		d.pos = p + 3
		return uint64(d.b[p+2]), nil
	}
	return d.descriptorSlow()
}

func (d *Decoder) descriptorSlow() (uint64, error) {
	start := *d
	c, err := d.code()
	if err != nil {
		return 0, err
	}
	if c != codeDescribed {
		*d = start
		return 0, d.mismatch("described value", c)
	}
	switch c, _ := d.peek(); c {
	case codeSymbol8, codeSymbol32:
		at := d.Offset()
		s, err := d.Symbol()
		if err != nil {
			*d = start
			return 0, err
		}
		code, ok := symbolicDescriptors[string(s)]
		if !ok {
			name := truncate(s)
			return 0, &UnknownDescriptor{
				Name: string(s),
				err:  amqp.Errorf(amqp.CondDecodeError, "at offset %d: unknown descriptor %q", at, name),
			}
		}
		return code, nil
	}
	code, err := d.Ulong()
	if err != nil {
		*d = start
	}
	return code, err
}

func truncate(s []byte) []byte {
	const max = 64 // bytes of a peer's text worth repeating in an error
	if len(s) > max {
		return s[:max]
	}
	return s
}
