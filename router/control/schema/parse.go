package schema

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseBoolean parses a boolean as configurations write it.
func ParseBoolean(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "yes", "true", "on":
		return true, true
	case "no", "false", "off":
		return false, true
	}
	return false, false
}

var byteSuffixes = []struct {
	text   string
	factor int64
}{
	{"ki", 1 << 10}, {"mi", 1 << 20}, {"gi", 1 << 30}, {"ti", 1 << 40},
	{"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"t", 1e12},
}

var (
	errNotBytes = errors.New("no number of bytes")
	errTooLarge = errors.New("too large")
)

// ParseBytes parses a number of bytes: a base-10 integer, with k, M, G or T for
// powers of 1000 and Ki, Mi, Gi or Ti for powers of 1024, in any case, and an
// optional B at the end.
func ParseBytes(text string) (int64, error) {
	digits := strings.ToLower(strings.TrimSpace(text))
	factor := int64(1)
	digits = strings.TrimSuffix(digits, "b")
	for _, s := range byteSuffixes {
		if rest, ok := strings.CutSuffix(digits, s.text); ok {
			digits, factor = strings.TrimSpace(rest), s.factor
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%q is %w", text, errTooLarge)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is %w", text, errNotBytes)
	}
	if n > math.MaxInt64/factor || n < math.MinInt64/factor {
		return 0, fmt.Errorf("%q is %w", text, errTooLarge)
	}
	return n * factor, nil
}

// FormatBytes writes a number of bytes with the largest suffix that keeps it
// exact.
func FormatBytes(n int64) string {
	for _, s := range []struct {
		text   string
		factor int64
	}{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if n != 0 && n%s.factor == 0 {
			return strconv.FormatInt(n/s.factor, 10) + s.text
		}
	}
	return strconv.FormatInt(n, 10)
}

// CamelCase turns the spellings ssl-profile, ssl_profile, ssl.profile and "ssl
// profile" into sslProfile. Other names stay as they are.
func CamelCase(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' || r == ' ' })
	if len(words) < 2 {
		return name
	}
	var b strings.Builder
	b.WriteString(words[0])
	for _, w := range words[1:] {
		if strings.ToUpper(w) == w {
			w = strings.ToLower(w)
		}
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}
