package frames

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
)

// Detach detaches a link from its session (§2.7.7).
type Detach struct {
	Handle uint32 // mandatory
	Closed bool
	Error  *amqp.Error // nil when absent
}

// Append appends the performative.
func (f *Detach) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescDetach)
	w.Uint(f.Handle, true)
	w.Flag(f.Closed)
	w.Error(f.Error)
	return w.End()
}

// Decode sets f from a frame body.
func (f *Detach) Decode(body []byte) (payload []byte, err error) {
	*f = Detach{}
	r, rest, err := openFields(body, PerformativeDetach, 3)
	if err != nil {
		return nil, err
	}
	var ok bool
	f.Handle, ok = r.Uint("handle")
	r.Require("handle", ok)
	f.Closed = r.Flag("closed")
	f.Error = r.Error("error")
	return finish(&r, rest)
}
