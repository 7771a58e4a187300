package table

import (
	"fmt"
	"strconv"
	"time"
)

// Count returns a number with its digits in groups: 1,234,567.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Bytes returns a size: 512 B, 1.5 MiB, 341 GiB.
func Bytes(n float64) string {
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		switch {
		case n < 1000 && unit == "B":
			return fmt.Sprintf("%.0f B", n)
		case n < 99.95:
			return fmt.Sprintf("%.1f %s", n, unit)
		case n < 1000:
			return fmt.Sprintf("%.0f %s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%.1f TiB", n)
}

// Rate returns a number per second: 0, 0.25, 12.3, 4,567.
func Rate(perSecond float64) string {
	switch {
	case perSecond == 0:
		return "0"
	case perSecond < 10 && perSecond > -10:
		return strconv.FormatFloat(perSecond, 'f', 2, 64)
	case perSecond < 100 && perSecond > -100:
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return Count(int64(perSecond + 0.5))
}

// Age returns a time in its two largest units: 7s, 4m05s, 3h04m, 12d06h.
func Age(d time.Duration) string {
	s := int64(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 24*3600:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
}
