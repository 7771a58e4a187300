package encoding

import (
	"encoding/hex"
	"math"
	"strings"

	"sluice/amqp"
)

// hx turns spaced hexadecimal into bytes.
func hx(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

// rep repeats a byte in hexadecimal.
func rep(b string, n int) string { return strings.Repeat(b, n) }

// vectors are values with their smallest encoding, which AppendAny must produce.
var vectors = []struct {
	name  string
	value any
	wire  string
}{
	{"null", nil, "40"},
	{"true", true, "41"},
	{"false", false, "42"},
	{"ubyte", uint8(200), "50 c8"},
	{"ushort", uint16(0xabcd), "60 ab cd"},
	{"uint0", uint32(0), "43"},
	{"smalluint", uint32(255), "52 ff"},
	{"uint", uint32(256), "70 00 00 01 00"},
	{"uint max", uint32(math.MaxUint32), "70 ff ff ff ff"},
	{"ulong0", uint64(0), "44"},
	{"smallulong", uint64(255), "53 ff"},
	{"ulong", uint64(256), "80 00 00 00 00 00 00 01 00"},
	{"byte", int8(-2), "51 fe"},
	{"short", int16(-2), "61 ff fe"},
	{"smallint", int32(-128), "54 80"},
	{"int", int32(128), "71 00 00 00 80"},
	{"int negative", int32(-129), "71 ff ff ff 7f"},
	{"smalllong", int64(127), "55 7f"},
	{"long", int64(-129), "81 ff ff ff ff ff ff ff 7f"},
	{"float", float32(1.5), "72 3f c0 00 00"},
	{"double", float64(-2), "82 c0 00 00 00 00 00 00 00"},
	{"decimal32", Decimal32{1, 2, 3, 4}, "74 01 02 03 04"},
	{"decimal64", Decimal64{1, 2, 3, 4, 5, 6, 7, 8}, "84 01 02 03 04 05 06 07 08"},
	{"decimal128", Decimal128{15: 9}, "94" + rep("00", 15) + "09"},
	{"char", Char('ü'), "73 00 00 00 fc"},
	{"timestamp", Timestamp(-1), "83 ff ff ff ff ff ff ff ff"},
	{"uuid", UUID{0: 0xaa, 15: 0xbb}, "98 aa" + rep("00", 14) + "bb"},
	{"binary empty", []byte{}, "a0 00"},
	{"binary", []byte{1, 2}, "a0 02 01 02"},
	{"binary 255", make([]byte, 255), "a0 ff" + rep("00", 255)},
	{"binary 256", make([]byte, 256), "b0 00 00 01 00" + rep("00", 256)},
	{"string", "hé", "a1 03 68 c3 a9"},
	{"string 256", strings.Repeat("x", 256), "b1 00 00 01 00" + rep("78", 256)},
	{"symbol", amqp.Symbol("ab"), "a3 02 61 62"},
	{"symbol 256", amqp.Symbol(strings.Repeat("x", 256)), "b3 00 00 01 00" + rep("78", 256)},
	{"list0", []any{}, "45"},
	{"list8", []any{nil, true, uint32(5)}, "c0 05 03 40 41 52 05"},
	{"list8 largest", []any{make([]byte, 252)}, "c0 ff 01 a0 fc" + rep("00", 252)},
	{"list32 by size", []any{make([]byte, 253)}, "d0 00 00 01 03 00 00 00 01 a0 fd" + rep("00", 253)},
	{"list nested", []any{[]any{[]any{}}}, "c0 05 01 c0 02 01 45"},
	{"map empty", Map{}, "c1 01 00"},
	{"map", Map{{amqp.Symbol("k"), int32(1)}, {"s", nil}}, "c1 0a 04 a3 01 6b 54 01 a1 01 73 40"},
	{"described", Described{uint64(0x24), []any{}}, "00 53 24 45"},
	{"described by symbol", Described{amqp.Symbol("x:y"), "v"}, "00 a3 03 78 3a 79 a1 01 76"},
	{"described descriptor", Described{Described{nil, nil}, nil}, "00 00 40 40 40"},
	{"symbols none", []amqp.Symbol{}, "e0 02 00 a3"},
	{"symbols", []amqp.Symbol{"a", "bc"}, "e0 07 02 a3 01 61 02 62 63"},
	{"symbols 256", []amqp.Symbol{amqp.Symbol(strings.Repeat("x", 256))},
		"f0 00 00 01 09 00 00 00 01 b3 00 00 01 00" + rep("78", 256)},
	{"array of 3 nulls", Array{Constructor: 0x40, Count: 3}, "e0 02 03 40"},
	{"array of 1000 list0", Array{Constructor: 0x45, Count: 1000}, "f0 00 00 00 05 00 00 03 e8 45"},
	{"array of boolean", Array{Constructor: 0x56, Elements: []any{true, false}, Count: 2}, "e0 04 02 56 01 00"},
	{"array of smalluint", Array{Constructor: 0x52, Elements: []any{uint32(0), uint32(9)}, Count: 2}, "e0 04 02 52 00 09"},
	{"array of uint", Array{Constructor: 0x70, Elements: []any{uint32(0), uint32(9), uint32(256)}, Count: 3},
		"e0 0e 03 70 00 00 00 00 00 00 00 09 00 00 01 00"},
	{"array of int", Array{Constructor: 0x71, Elements: []any{int32(-1)}, Count: 1}, "e0 06 01 71 ff ff ff ff"},
	{"array of ulong", Array{Constructor: 0x80, Elements: []any{uint64(9)}, Count: 1}, "e0 0a 01 80 00 00 00 00 00 00 00 09"},
	{"array of long", Array{Constructor: 0x81, Elements: []any{int64(-1)}, Count: 1}, "e0 0a 01 81 ff ff ff ff ff ff ff ff"},
	{"array of str32", Array{Constructor: 0xb1, Elements: []any{"a"}, Count: 1}, "e0 07 01 b1 00 00 00 01 61"},
	{"array of list8", Array{Constructor: 0xc0, Elements: []any{[]any{}, []any{nil}}, Count: 2}, "e0 07 02 c0 01 00 02 01 40"},
	{"array of list32", Array{Constructor: 0xd0, Elements: []any{[]any{}, []any{nil}}, Count: 2},
		"e0 13 02 d0 00 00 00 04 00 00 00 00 00 00 00 05 00 00 00 01 40"},
	{"array of map32", Array{Constructor: 0xd1, Elements: []any{Map{{nil, nil}}}, Count: 1},
		"e0 0c 01 d1 00 00 00 06 00 00 00 02 40 40"},
	{"array of arrays", Array{Constructor: 0xe0, Elements: []any{[]amqp.Symbol{"a"}}, Count: 1}, "e0 07 01 e0 04 01 a3 01 61"},
	{"array of described", Array{Constructor: 0x50, Descriptor: uint64(5), Elements: []any{uint8(7)}, Count: 1},
		"e0 06 01 00 53 05 50 07"},
}

// alternatives are legal encodings of values that have a smaller one.
var alternatives = []struct {
	name  string
	value any
	wire  string
}{
	{"boolean true", true, "56 01"},
	{"boolean false", false, "56 00"},
	{"uint of 0", uint32(0), "70 00 00 00 00"},
	{"smalluint of 0", uint32(0), "52 00"},
	{"ulong of 7", uint64(7), "80 00 00 00 00 00 00 00 07"},
	{"smallulong of 0", uint64(0), "53 00"},
	{"int of -1", int32(-1), "71 ff ff ff ff"},
	{"long of -1", int64(-1), "81 ff ff ff ff ff ff ff ff"},
	{"vbin32", []byte{1}, "b0 00 00 00 01 01"},
	{"str32-utf8", "a", "b1 00 00 00 01 61"},
	{"sym32", amqp.Symbol("a"), "b3 00 00 00 01 61"},
	{"list8 empty", []any{}, "c0 01 00"},
	{"list32 empty", []any{}, "d0 00 00 00 04 00 00 00 00"},
	{"list32", []any{nil}, "d0 00 00 00 05 00 00 00 01 40"},
	{"map32", Map{{nil, nil}}, "d1 00 00 00 06 00 00 00 02 40 40"},
	{"array32 of sym32", []amqp.Symbol{"a"}, "f0 00 00 00 0a 00 00 00 01 b3 00 00 00 01 61"},
	{"array without constructor", Array{Constructor: 0x40}, "e0 01 00"},
}

// malformed are encodings that must be refused whole, with a part of the error text.
var malformed = []struct{ name, wire, want string }{
	{"nothing", "", "found the end"},
	{"unknown code 4f", "4f", "unknown code 0x4f"},
	{"unknown code 57", "57 00", "unknown code 0x57"},
	{"unknown code 6f", "6f 00 00", "unknown code"},
	{"unknown code a2", "a2 00", "unknown code"},
	{"unknown code c2", "c2 01 00", "unknown code"},
	{"unknown code e1", "e1 02 00 40", "unknown code"},
	{"reserved code 10", "10", "unknown code"},
	{"boolean 2", "56 02", "boolean of value 0 or 1"},
	{"string beyond end", "a1 05 61", "beyond the end"},
	{"str32 of 4 GiB", "b1 ff ff ff ff 61", "beyond the end"},
	{"list size 0", "c0 00", "no room for its count"},
	{"list32 size 3", "d0 00 00 00 03 00 00 00", "no room for its count"},
	{"list beyond end", "c0 10 01 40", "beyond the end"},
	{"list with a count above its bytes", "c0 02 05 40", "5 elements in 1 bytes"},
	{"list32 with 2^31 elements", "d0 00 00 00 05 80 00 00 00 40", "elements in 1 bytes"},
	{"list with bytes left", "c0 03 01 40 40", "1 bytes after the last value"},
	{"list0 with elements missing", "c0 02 02 40", "2 elements in 1 bytes"},
	{"map with odd count", "c1 04 03 40 40 40", "odd number"},
	{"map beyond end", "c1 05 02 40", "beyond the end"},
	{"array without constructor", "e0 01 03", "found the end"},
	{"array of unknown code", "e0 03 01 4f 00", "array of elements with code 0x4f"},
	{"array too short", "e0 04 03 50 01 02", "3 elements of 1 bytes has 2 bytes"},
	{"array too long", "e0 04 01 50 01 02", "1 elements of 1 bytes has 2 bytes"},
	{"array of nulls with content", "e0 03 02 40 00", "has 1 bytes of content"},
	{"array of 2^31 nulls", "f0 00 00 00 05 80 00 00 00 40", "at most 65536"},
	{"array of 2^32-1 booleans", "f0 00 00 00 05 ff ff ff ff 41", "at most 65536"},
	{"array of 65537 list0", "f0 00 00 00 05 00 01 00 01 45", "at most 65536"},
	{"array of strings beyond end", "e0 04 01 a1 05 61", "beyond the end"},
	{"array with a count above its bytes", "e0 03 09 a1 00", "9 elements in 1 bytes"},
	{"array of boolean 2", "e0 03 01 56 02", "boolean of value 0 or 1"},
	{"descriptor alone", "00 53 24", "found the end"},
	{"described by nothing", "00", "found the end"},
	{"nested too deep", rep("c0 7f 01", 100) + "40", "beyond the end"},
	{"described too deep", rep("00", 100) + rep("40", 101), "too deep"},
}
