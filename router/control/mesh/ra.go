package mesh

import "sluice/amqp/encoding"

// RA, router advertisement, says to all routers that one is alive and which numbers its link state and its mobile
// addresses have by now. Who knows older ones asks.
type RA struct {
	ID        string
	Instance  int64 // as in Hello
	LSSeq     int64
	MobileSeq int64

	has uint8 // mandatory fields found
}

func (r *RA) Opcode() Opcode { return OpcodeRA }
func (r *RA) Origin() string { return r.ID }

func (r *RA) appendValue(b []byte) []byte {
	w := beginBody(b, false)
	w.common(r.ID)
	w.integer("instance", r.Instance)
	w.integer("ls_seq", r.LSSeq)
	w.integer("mobile_seq", r.MobileSeq)
	return w.end()
}

func (r *RA) field(key string, d *encoding.Decoder) (known bool, err error) {
	switch key {
	case "id":
		r.ID, err = text(d)
	case "instance":
		r.Instance, err = integer(d)
	case "ls_seq":
		r.LSSeq, err = integer(d)
		r.has |= 1
	case "mobile_seq":
		r.MobileSeq, err = integer(d)
		r.has |= 2
	default:
		return false, nil
	}
	return true, err
}

func (r *RA) check() error {
	switch has := r.has; {
	case has&1 == 0:
		return missing(OpcodeRA, "ls_seq")
	case has&2 == 0:
		return missing(OpcodeRA, "mobile_seq")
	}
	r.has = 0
	return nil
}
