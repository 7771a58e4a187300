package table

import (
	"strings"
	"unicode"
)

// more stands where text was cut off.
const more = "…"

// Width returns how many cells of a terminal text takes.
func Width(s string) int {
	n := 0
	for _, c := range s {
		n += cells(c)
	}
	return n
}

// Fit returns text cut to a width, visibly.
func Fit(s string, width int) string {
	if len(s) <= width || Width(s) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	var b strings.Builder
	left := width - 1
	for _, c := range s {
		if left -= cells(c); left < 0 {
			break
		}
		b.WriteRune(c)
	}
	return b.String() + more
}

// wide are the letters that take two cells.
var wide = []*unicode.RangeTable{unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana}

func cells(c rune) int {
	switch {
	case c < 0x300:
		return 1
	case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.In(c, wide...), 0x1F300 <= c && c <= 0x1FAFF, 0xFF01 <= c && c <= 0xFF60, 0x3000 <= c && c <= 0x303F:
		return 2
	}
	return 1
}
