package encoding

import "math"

// Integer returns the value of an integer of any AMQP type, decoded as Decoder.Any does it or as another codec does: peers
// differ in which one they write. What does not fit is the most that does.
func Integer(v any) (n int64, ok bool) {
	switch v := v.(type) {
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case int:
		return int64(v), true
	case uint8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint32:
		return int64(v), true
	case uint64:
		return int64(min(v, math.MaxInt64)), true
	}
	return 0, false
}
