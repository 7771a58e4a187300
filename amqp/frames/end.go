package frames

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
)

// End ends a session (§2.7.8).
type End struct {
	Error *amqp.Error // nil when absent
}

// Append appends the performative.
func (f *End) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescEnd)
	w.Error(f.Error)
	return w.End()
}

// Decode sets f from a frame body.
func (f *End) Decode(body []byte) (payload []byte, err error) {
	*f = End{}
	r, rest, err := openFields(body, PerformativeEnd, 1)
	if err != nil {
		return nil, err
	}
	f.Error = r.Error("error")
	return finish(&r, rest)
}
