package mesh

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
)

// MAU, mobile-address update, tells what mobile addresses have local consumers at a router. A delta tells what changed
// since the number before; an absolute one tells all there are.
type MAU struct {
	ID        string
	MobileSeq int64
	Absolute  bool
	Exist     []string // absolute: all keys
	Add, Del  []string // delta: keys that came and went
	Hints     []int    // treatments of Exist or Add, in the same order; nil if not given

	has uint8
}

func (u *MAU) Opcode() Opcode { return OpcodeMAU }
func (u *MAU) Origin() string { return u.ID }

// Treatment numbers, as in hints.
const (
	TreatmentFlood        = 0 // control messages
	TreatmentMulticast    = 1
	TreatmentClosest      = 2
	TreatmentBalanced     = 3
	TreatmentLinkBalanced = 4 // link routes
	TreatmentUnavailable  = 5
	TreatmentUnknown      = -1 // no hint was given
)

// Hint returns the treatment of the i-th key of Exist or Add.
func (u *MAU) Hint(i int) int {
	if i < len(u.Hints) {
		return u.Hints[i]
	}
	return TreatmentUnknown
}

func (u *MAU) appendValue(b []byte) []byte {
	w := beginBody(b, true)
	w.common(u.ID)
	w.integer("mobile_seq", u.MobileSeq)
	if u.Absolute {
		w.texts("exist", u.Exist)
		w.integers("hints", u.Hints)
	} else {
		w.integers("hints", u.Hints)
		w.texts("add", u.Add)
		w.texts("del", u.Del)
	}
	return w.end()
}

func (u *MAU) field(key string, d *encoding.Decoder) (known bool, err error) {
	switch key {
	case "id":
		u.ID, err = text(d)
	case "mobile_seq":
		u.has |= 1
		u.MobileSeq, err = integer(d)
	case "exist":
		u.has |= 2
		u.Exist, err = texts(d, maxKeys)
	case "add":
		u.has |= 4
		u.Add, err = texts(d, maxKeys)
	case "del":
		u.has |= 8
		u.Del, err = texts(d, maxKeys)
	case "hints":
		u.Hints, err = hints(d)
	default:
		return false, nil
	}
	return true, err
}

func hints(d *encoding.Decoder) ([]int, error) {
	count, body, err := d.List()
	if err != nil {
		return nil, err
	}
	if count > maxKeys {
		return nil, amqp.Errorf(amqp.CondDecodeError, "list of %d elements, at most %d are accepted", count, maxKeys)
	}
	list := make([]int, 0, count) // bounded by the input: an element takes at least a byte
	for range count {
		v, err := integer(&body)
		if err != nil {
			return nil, err
		}
		list = append(list, int(min(v, TreatmentUnavailable)))
	}
	return list, body.End()
}

func (u *MAU) check() error {
	has := u.has
	u.has = 0
	keys := u.Add
	switch has {
	case 1 | 2:
		u.Absolute, keys = true, u.Exist
	case 1 | 4 | 8:
	case 2, 4 | 8:
		return missing(OpcodeMAU, "mobile_seq")
	default:
		return amqp.Errorf(amqp.CondInvalidField, "mesh: MAU needs either exist or both of add and del")
	}
	if len(u.Hints) != len(keys) {
		u.Hints = nil
	}
	return nil
}
