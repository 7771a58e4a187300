package mesh

import "sluice/amqp/encoding"

// LSR, link-state request, asks a router for its link state.
type LSR struct {
	ID string // who asks
}

func (r *LSR) Opcode() Opcode { return OpcodeLSR }
func (r *LSR) Origin() string { return r.ID }

func (r *LSR) appendValue(b []byte) []byte {
	w := beginBody(b, false)
	w.common(r.ID)
	return w.end()
}

func (r *LSR) field(key string, d *encoding.Decoder) (known bool, err error) {
	if key != "id" {
		return false, nil
	}
	r.ID, err = text(d)
	return true, err
}

func (r *LSR) check() error { return nil }
