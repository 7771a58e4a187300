package frames

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
)

// SASLInit selects a mechanism (§5.3.3.2).
type SASLInit struct {
	Mechanism       amqp.Symbol // mandatory
	InitialResponse []byte      // nil when absent, which is not the same as empty
	Hostname        string      // empty when absent
}

// Append appends the frame body.
func (f *SASLInit) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescSASLInit)
	w.Value(func(b []byte) []byte { return encoding.AppendSymbol(b, string(f.Mechanism)) })
	w.Binary(f.InitialResponse)
	w.String(f.Hostname, f.Hostname != "")
	return w.End()
}

// Decode sets f from a frame body.
func (f *SASLInit) Decode(body []byte) (payload []byte, err error) {
	*f = SASLInit{}
	r, rest, err := openFields(body, PerformativeSASLInit, 3)
	if err != nil {
		return nil, err
	}
	f.Mechanism = r.Symbol("mechanism")
	r.Require("mechanism", f.Mechanism != "")
	f.InitialResponse = r.Binary("initial-response")
	f.Hostname, _ = r.String("hostname")
	return finish(&r, rest)
}
