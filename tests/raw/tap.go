package raw

import (
	"sluice/amqp/frames"
)

// A Tap reads the frames in one direction of a connection that others have.
type Tap struct {
	// Frame is called for each frame that has a body, with its channel. Body is
	// borrowed.
	Frame func(channel uint16, code frames.Performative, body []byte)
	buf   []byte
	err   error
}

// Feed takes the next bytes, in pieces of any size.
func (t *Tap) Feed(b []byte) {
	t.buf = append(t.buf, b...)
	for t.err == nil && len(t.buf) >= frames.HeaderSize {
		if string(t.buf[:4]) == "AMQP" { // a protocol header (§2.2)
			t.buf = t.buf[frames.HeaderSize:]
			continue
		}
		h, err := frames.ParseHeader(t.buf)
		if err != nil {
			t.err = err
			return
		}
		if len(t.buf) < int(h.Size) {
			return
		}
		body := t.buf[h.BodyOffset():h.Size]
		if h.Type == frames.TypeAMQP && len(body) > 0 {
			code, _, err := frames.PeekPerformative(body)
			if err != nil {
				t.err = err
				return
			}
			t.Frame(h.Channel, code, body)
		}
		t.buf = t.buf[h.Size:]
	}
}

// Err is why the tap has stopped reading, or nil.
func (t *Tap) Err() error { return t.err }
