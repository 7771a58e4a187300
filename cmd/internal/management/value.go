package management

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	goamqp "github.com/Azure/go-amqp"
)

// Plain turns a decoded value into one that encoding/json can write: maps get
// string keys, what JSON has no word for becomes text.
func Plain(v any) any {
	switch v := v.(type) {
	case nil, bool, string, int, int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return v
	case float32:
		return Plain(float64(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
		return v
	case goamqp.Symbol:
		return string(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []byte:
		return hex.EncodeToString(v)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = Plain(e)
		}
		return list
	case []string:
		return v
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, e := range v {
			m[key] = Plain(e)
		}
		return m
	case map[any]any:
		m := make(map[string]any, len(v))
		for key, e := range v {
			m[fmt.Sprint(Plain(key))] = Plain(e)
		}
		return m
	}
	return fmt.Sprint(v)
}

// Printable returns text on one line without what a terminal would act on. Names
// are what peers make them.
func Printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if hidden(c) {
			q := strconv.QuoteRuneToASCII(c)
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func hidden(c rune) bool { return !unicode.IsPrint(c) }
