package encoding

import "strconv"

// Format codes of the primitive types (§1.6). The high nibble is the subcategory, which fixes the width (§1.2.2).
const (
	codeDescribed = 0x00

	codeNull   = 0x40
	codeTrue   = 0x41
	codeFalse  = 0x42
	codeUint0  = 0x43
	codeUlong0 = 0x44
	codeList0  = 0x45

	codeUbyte      = 0x50
	codeByte       = 0x51
	codeSmallUint  = 0x52
	codeSmallUlong = 0x53
	codeSmallInt   = 0x54
	codeSmallLong  = 0x55
	codeBool       = 0x56

	codeUshort = 0x60
	codeShort  = 0x61

	codeUint      = 0x70
	codeInt       = 0x71
	codeFloat     = 0x72
	codeChar      = 0x73
	codeDecimal32 = 0x74

	codeUlong     = 0x80
	codeLong      = 0x81
	codeDouble    = 0x82
	codeTimestamp = 0x83
	codeDecimal64 = 0x84

	codeDecimal128 = 0x94
	codeUUID       = 0x98

	codeBinary8 = 0xa0
	codeString8 = 0xa1
	codeSymbol8 = 0xa3

	codeBinary32 = 0xb0
	codeString32 = 0xb1
	codeSymbol32 = 0xb3

	codeList8  = 0xc0
	codeMap8   = 0xc1
	codeList32 = 0xd0
	codeMap32  = 0xd1

	codeArray8  = 0xe0
	codeArray32 = 0xf0
)

var codeNames = [256]string{
	codeDescribed: "described value",
	codeNull:      "null",
	codeTrue:      "boolean", codeFalse: "boolean", codeBool: "boolean",
	codeUint0: "uint", codeSmallUint: "uint", codeUint: "uint",
	codeUlong0: "ulong", codeSmallUlong: "ulong", codeUlong: "ulong",
	codeList0: "list", codeList8: "list", codeList32: "list",
	codeUbyte: "ubyte", codeByte: "byte", codeUshort: "ushort", codeShort: "short",
	codeSmallInt: "int", codeInt: "int", codeSmallLong: "long", codeLong: "long",
	codeFloat: "float", codeDouble: "double", codeChar: "char", codeTimestamp: "timestamp", codeUUID: "uuid",
	codeDecimal32: "decimal32", codeDecimal64: "decimal64", codeDecimal128: "decimal128",
	codeBinary8: "binary", codeBinary32: "binary",
	codeString8: "string", codeString32: "string",
	codeSymbol8: "symbol", codeSymbol32: "symbol",
	codeMap8: "map", codeMap32: "map",
	codeArray8: "array", codeArray32: "array",
}

// codeName is for error texts and traces.
func codeName(c byte) string {
	if s := codeNames[c]; s != "" {
		return s
	}
	return "code 0x" + strconv.FormatUint(uint64(c), 16)
}

func knownCode(c byte) bool { return codeNames[c] != "" }
