package frames

import "sluice/amqp/encoding"

// Codes of sasl-outcome (§5.3.3.6).
const (
	SASLCodeOK      uint8 = 0
	SASLCodeAuth    uint8 = 1 // authentication failed
	SASLCodeSys     uint8 = 2 // system error
	SASLCodeSysPerm uint8 = 3 // system error that will last
	SASLCodeSysTemp uint8 = 4 // system error that may pass
)

// SASLOutcome ends the exchange (§5.3.3.5).
type SASLOutcome struct {
	Code           uint8  // mandatory
	AdditionalData []byte // nil when absent
}

// Append appends the frame body.
func (f *SASLOutcome) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescSASLOutcome)
	w.Ubyte(f.Code, true)
	w.Binary(f.AdditionalData)
	return w.End()
}

// Decode sets f from a frame body.
func (f *SASLOutcome) Decode(body []byte) (payload []byte, err error) {
	*f = SASLOutcome{}
	r, rest, err := openFields(body, PerformativeSASLOutcome, 2)
	if err != nil {
		return nil, err
	}
	var ok bool
	f.Code, ok = r.Ubyte("code")
	r.Require("code", ok)
	f.AdditionalData = r.Binary("additional-data")
	return finish(&r, rest)
}
