package encoding

import "sluice/amqp"

// Go types of AMQP values where Go has none of its own. Any returns, and AppendAny accepts, these besides nil, bool, the
// sized integers and floats, string, []byte, amqp.Symbol, []any (list) and []amqp.Symbol (array of symbols).
type (
	Char       rune
	Timestamp  int64 // milliseconds since the Unix epoch
	UUID       [16]byte
	Decimal32  [4]byte
	Decimal64  [8]byte
	Decimal128 [16]byte

	// Map is a map in the order of the wire.
	Map []MapEntry

	// MapEntry is one pair of a Map.
	MapEntry struct{ Key, Value any }

	// Described is a described value. Descriptor is a uint64 or an amqp.Symbol, if it is one of the usual kinds.
	Described struct{ Descriptor, Value any }

	// Array is an array of anything but symbols.
	Array struct {
		Constructor byte  // format code of the elements
		Descriptor  any   // of described elements, else nil
		Elements    []any // nil when the elements take no bytes
		Count       int   // number of elements
	}
)

var _ amqp.Symbol

// Any reads a value of any type.
func (d *Decoder) Any() (any, error) {
	return nil, amqp.Errorf(amqp.CondNotImplemented, "any")
}

// AppendAny appends a value of one of the types that Any returns.
func AppendAny(b []byte, v any) ([]byte, error) {
	return b, amqp.Errorf(amqp.CondNotImplemented, "any")
}
