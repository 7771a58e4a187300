package frames

import "sluice/amqp/encoding"

// SASLChallenge carries security data of the server as the mechanism defines it (§5.3.3.3).
type SASLChallenge struct {
	Challenge []byte // mandatory, may be empty
}

// Append appends the frame body.
func (f *SASLChallenge) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescSASLChallenge)
	w.Value(func(b []byte) []byte { return encoding.AppendBinary(b, f.Challenge) })
	return w.End()
}

// Decode sets f from a frame body.
func (f *SASLChallenge) Decode(body []byte) (payload []byte, err error) {
	*f = SASLChallenge{}
	r, rest, err := openFields(body, PerformativeSASLChallenge, 1)
	if err != nil {
		return nil, err
	}
	f.Challenge = r.Binary("challenge")
	r.Require("challenge", f.Challenge != nil)
	return finish(&r, rest)
}
