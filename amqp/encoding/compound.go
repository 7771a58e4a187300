package encoding

import (
	"encoding/binary"
	"math"
)

// Mark remembers where a compound value was opened. It is an offset, so it survives growth of the slice.
type Mark int

// A compound is opened with the narrow header, since nearly all are short; End moves the body when it has to be wide:
//
//	narrow   code  size  count  body…            size counts the count byte and the body
//	wide     code  size×4  count×4  body…
const (
	narrowHeader = 3
	wideHeader   = 9
)

// BeginList opens a list (§1.6.22). Append the elements, then call EndList with their number.
func BeginList(b []byte) ([]byte, Mark) {
	return append(b, codeList8, 0, 0), Mark(len(b))
}

// EndList closes the list opened at m in the smallest encoding that holds it: list0, list8 or list32.
func EndList(b []byte, m Mark, count int) []byte {
	if count == 0 {
		return append(b[:m], codeList0)
	}
	return end(b, m, count)
}

// BeginMap opens a map (§1.6.23). Append keys and values in turn, then call EndMap.
func BeginMap(b []byte) ([]byte, Mark) {
	return append(b, codeMap8, 0, 0), Mark(len(b))
}

// EndMap closes the map opened at m. As on the wire, count is the number of keys and values together.
func EndMap(b []byte, m Mark, count int) []byte {
	return end(b, m, count)
}

// EndMapBefore is EndMap for a map of which more bytes follow that are not appended here; count counts all of it.
func EndMapBefore(b []byte, m Mark, count, more int) []byte {
	body := len(b) - int(m) - narrowHeader + more
	if body+1 <= math.MaxUint8 && count <= math.MaxUint8 {
		b[m+1], b[m+2] = byte(body+1), byte(count)
		return b
	}
	b = append(b, 0, 0, 0, 0, 0, 0)
	copy(b[int(m)+wideHeader:], b[int(m)+narrowHeader:len(b)-wideHeader+narrowHeader])
	b[m] = codeMap32
	binary.BigEndian.PutUint32(b[m+1:], uint32(body+4))
	binary.BigEndian.PutUint32(b[m+5:], uint32(count))
	return b
}

// BeginArray opens an array whose elements all have the given constructor (§1.6.24). Append the elements without
// constructor, then call EndArray.
func BeginArray(b []byte, constructor byte) ([]byte, Mark) {
	return append(b, codeArray8, 0, 0, constructor), Mark(len(b))
}

// EndArray closes the array opened at m.
func EndArray(b []byte, m Mark, count int) []byte {
	return end(b, m, count)
}

func end(b []byte, m Mark, count int) []byte {
	body := len(b) - int(m) - narrowHeader
	if body+1 <= math.MaxUint8 && count <= math.MaxUint8 {
		b[m+1] = byte(body + 1)
		b[m+2] = byte(count)
		return b
	}
	b = append(b, 0, 0, 0, 0, 0, 0)
	copy(b[int(m)+wideHeader:], b[int(m)+narrowHeader:int(m)+narrowHeader+body])
	b[m] += 0x10 // list8 → list32, map8 → map32, array8 → array32
	binary.BigEndian.PutUint32(b[m+1:], uint32(body+4))
	binary.BigEndian.PutUint32(b[m+5:], uint32(count))
	return b
}
