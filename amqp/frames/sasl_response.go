package frames

import "sluice/amqp/encoding"

// SASLResponse carries security data of the client as the mechanism defines it (§5.3.3.4).
type SASLResponse struct {
	Response []byte // mandatory, may be empty
}

// Append appends the frame body.
func (f *SASLResponse) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescSASLResponse)
	w.Value(func(b []byte) []byte { return encoding.AppendBinary(b, f.Response) })
	return w.End()
}

// Decode sets f from a frame body.
func (f *SASLResponse) Decode(body []byte) (payload []byte, err error) {
	*f = SASLResponse{}
	r, rest, err := openFields(body, PerformativeSASLResponse, 1)
	if err != nil {
		return nil, err
	}
	f.Response = r.Binary("response")
	r.Require("response", f.Response != nil)
	return finish(&r, rest)
}
