package encoding

import (
	"encoding/binary"
	"math"

	"sluice/amqp"
)

// AppendNull appends null (§1.6.1).
func AppendNull(b []byte) []byte { return append(b, codeNull) }

// AppendBool appends a boolean (§1.6.2).
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, codeTrue)
	}
	return append(b, codeFalse)
}

// AppendUbyte appends a ubyte (§1.6.3).
func AppendUbyte(b []byte, v uint8) []byte { return append(b, codeUbyte, v) }

// AppendUshort appends a ushort (§1.6.4).
func AppendUshort(b []byte, v uint16) []byte { return append(b, codeUshort, byte(v>>8), byte(v)) }

// AppendUint appends a uint (§1.6.5).
func AppendUint(b []byte, v uint32) []byte {
	switch {
	case v == 0:
		return append(b, codeUint0)
	case v <= math.MaxUint8:
		return append(b, codeSmallUint, byte(v))
	}
	return append(b, codeUint, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// AppendUlong appends a ulong (§1.6.6).
func AppendUlong(b []byte, v uint64) []byte {
	switch {
	case v == 0:
		return append(b, codeUlong0)
	case v <= math.MaxUint8:
		return append(b, codeSmallUlong, byte(v))
	}
	return binary.BigEndian.AppendUint64(append(b, codeUlong), v)
}

// AppendByte appends a byte (§1.6.7).
func AppendByte(b []byte, v int8) []byte { return append(b, codeByte, byte(v)) }

// AppendShort appends a short (§1.6.8).
func AppendShort(b []byte, v int16) []byte { return append(b, codeShort, byte(uint16(v)>>8), byte(v)) }

// AppendInt appends an int (§1.6.9).
func AppendInt(b []byte, v int32) []byte {
	if v >= math.MinInt8 && v <= math.MaxInt8 {
		return append(b, codeSmallInt, byte(v))
	}
	return binary.BigEndian.AppendUint32(append(b, codeInt), uint32(v))
}

// AppendLong appends a long (§1.6.10).
func AppendLong(b []byte, v int64) []byte {
	if v >= math.MinInt8 && v <= math.MaxInt8 {
		return append(b, codeSmallLong, byte(v))
	}
	return binary.BigEndian.AppendUint64(append(b, codeLong), uint64(v))
}

// AppendFloat appends a float (§1.6.11).
func AppendFloat(b []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(append(b, codeFloat), math.Float32bits(v))
}

// AppendDouble appends a double (§1.6.12).
func AppendDouble(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, codeDouble), math.Float64bits(v))
}

// AppendDecimal32 appends a decimal32, given as its IEEE 754-2008 bytes (§1.6.13).
func AppendDecimal32(b []byte, v [4]byte) []byte { return append(append(b, codeDecimal32), v[:]...) }

// AppendDecimal64 appends a decimal64, given as its IEEE 754-2008 bytes (§1.6.14).
func AppendDecimal64(b []byte, v [8]byte) []byte { return append(append(b, codeDecimal64), v[:]...) }

// AppendDecimal128 appends a decimal128, given as its IEEE 754-2008 bytes (§1.6.15).
func AppendDecimal128(b []byte, v [16]byte) []byte {
	return append(append(b, codeDecimal128), v[:]...)
}

// AppendChar appends a char (§1.6.16).
func AppendChar(b []byte, v rune) []byte {
	return binary.BigEndian.AppendUint32(append(b, codeChar), uint32(v))
}

// AppendTimestamp appends a timestamp in milliseconds since the Unix epoch (§1.6.17).
func AppendTimestamp(b []byte, ms int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, codeTimestamp), uint64(ms))
}

// AppendUUID appends a uuid (§1.6.18).
func AppendUUID(b []byte, v [16]byte) []byte { return append(append(b, codeUUID), v[:]...) }

// AppendBinary appends a binary (§1.6.19). A nil slice is an empty binary, not null.
func AppendBinary(b []byte, v []byte) []byte {
	return append(appendVariable(b, codeBinary8, len(v)), v...)
}

// AppendString appends a string (§1.6.20).
func AppendString(b []byte, v string) []byte {
	return append(appendVariable(b, codeString8, len(v)), v...)
}

// AppendSymbol appends a symbol (§1.6.21).
func AppendSymbol(b []byte, v string) []byte {
	return append(appendVariable(b, codeSymbol8, len(v)), v...)
}

// appendVariable appends the constructor and size of a variable-width value. The 32-bit constructors are the 8-bit ones
// plus 0x10 (§1.2.2).
func appendVariable(b []byte, code8 byte, n int) []byte {
	if n <= math.MaxUint8 {
		return append(b, code8, byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, code8+0x10), uint32(n))
}

// AppendSymbols appends an array of symbols, or null when v is nil.
func AppendSymbols(b []byte, v []amqp.Symbol) []byte {
	if v == nil {
		return append(b, codeNull)
	}
	code := byte(codeSymbol8)
	for _, s := range v {
		if len(s) > math.MaxUint8 {
			code = codeSymbol32
		}
	}
	b, m := BeginArray(b, code)
	for _, s := range v {
		if code == codeSymbol8 {
			b = append(b, byte(len(s)))
		} else {
			b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		}
		b = append(b, s...)
	}
	return EndArray(b, m, len(v))
}

// AppendDescriptor appends the constructor of a described value with a numeric descriptor; the value itself comes next.
func AppendDescriptor(b []byte, code uint64) []byte {
	// No ulong0: descriptor 0 is not assigned, and some peers look for 0x53 or 0x80 only.
	if code <= math.MaxUint8 {
		return append(b, codeDescribed, codeSmallUlong, byte(code))
	}
	return binary.BigEndian.AppendUint64(append(b, codeDescribed, codeUlong), code)
}
