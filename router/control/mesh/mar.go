package mesh

import "sluice/amqp/encoding"

// MAR, mobile-address request, asks a router for all its mobile addresses if it has changed them since a number.
type MAR struct {
	ID      string // who asks
	HaveSeq int64  // mobile_seq up to which the asker knows

	has bool
}

func (r *MAR) Opcode() Opcode { return OpcodeMAR }
func (r *MAR) Origin() string { return r.ID }

func (r *MAR) appendValue(b []byte) []byte {
	w := beginBody(b, true)
	w.common(r.ID)
	w.integer("have_seq", r.HaveSeq)
	return w.end()
}

func (r *MAR) field(key string, d *encoding.Decoder) (known bool, err error) {
	switch key {
	case "id":
		r.ID, err = text(d)
	case "have_seq":
		r.HaveSeq, err = integer(d)
		r.has = true
	default:
		return false, nil
	}
	return true, err
}

func (r *MAR) check() error {
	if !r.has {
		return missing(OpcodeMAR, "have_seq")
	}
	r.has = false
	return nil
}
