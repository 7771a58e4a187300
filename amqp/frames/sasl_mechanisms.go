package frames

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
)

// SASLMechanisms advertises the mechanisms of a server (§5.3.3.1).
type SASLMechanisms struct {
	Mechanisms []amqp.Symbol // mandatory, at least one
}

// Append appends the frame body.
func (f *SASLMechanisms) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescSASLMechanisms)
	if f.Mechanisms == nil {
		w.Symbols([]amqp.Symbol{})
	} else {
		w.Symbols(f.Mechanisms)
	}
	return w.End()
}

// Decode sets f from a frame body.
func (f *SASLMechanisms) Decode(body []byte) (payload []byte, err error) {
	*f = SASLMechanisms{}
	r, rest, err := openFields(body, PerformativeSASLMechanisms, 1)
	if err != nil {
		return nil, err
	}
	f.Mechanisms = r.Symbols("sasl-server-mechanisms")
	r.Require("sasl-server-mechanisms", f.Mechanisms != nil)
	return finish(&r, rest)
}
