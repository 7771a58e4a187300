package mesh

import "sluice/amqp/encoding"

// Hello says to the neighbours that a router is there and whom it hears.
type Hello struct {
	ID       string
	Instance int64    // start of the router: another number is another life of it; 0 is none given
	Seen     []string // routers heard on any link within the last helloMaxAge
}

func (h *Hello) Opcode() Opcode { return OpcodeHello }
func (h *Hello) Origin() string { return h.ID }

func (h *Hello) appendValue(b []byte) []byte {
	w := beginBody(b, false)
	w.common(h.ID)
	w.integer("instance", h.Instance)
	w.texts("seen", h.Seen)
	return w.end()
}

func (h *Hello) field(key string, d *encoding.Decoder) (known bool, err error) {
	switch key {
	case "id":
		h.ID, err = text(d)
	case "instance":
		h.Instance, err = integer(d)
	case "seen":
		h.Seen, err = texts(d, maxSeen)
	default:
		return false, nil
	}
	return true, err
}

func (h *Hello) check() error {
	if h.Seen == nil {
		return missing(OpcodeHello, "seen")
	}
	return nil
}
