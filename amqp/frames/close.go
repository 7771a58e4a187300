package frames

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
)

// Close ends a connection (§2.7.9).
type Close struct {
	Error *amqp.Error // nil when absent
}

// Append appends the performative.
func (f *Close) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescClose)
	w.Error(f.Error)
	return w.End()
}

// Decode sets f from a frame body.
func (f *Close) Decode(body []byte) (payload []byte, err error) {
	*f = Close{}
	r, rest, err := openFields(body, PerformativeClose, 1)
	if err != nil {
		return nil, err
	}
	f.Error = r.Error("error")
	return finish(&r, rest)
}
