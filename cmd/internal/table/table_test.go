package table

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// links is a table with all that columns can be.
func links(width int) (string, *Writer) {
	var b strings.Builder
	t := New(&b, width, []Column{
		{Title: "id"}, {Title: "peer", Cut: 6, Rank: 3}, {Title: "addr", Cut: 8}, {Title: "deliv", Right: true}, {Title: "rej", Right: true, Rank: 2}, {Title: "acc", Right: true, Rank: 1},
	})
	t.Row([]string{"1", "a-client-with-a-long-name", "orders.europe.germany", "1,234,567", "0", "7"})
	t.Row([]string{"22", "b", "", "1", "12", "-"})
	t.Flush()
	return b.String(), t
}

// As the terminal becomes narrower, text is cut a little, then columns go, then
// text is cut as far as it can be.
func TestWidths(t *testing.T) {
	for _, test := range []struct {
		width  int
		hidden string
		want   string
	}{
		{0, "", `
id  peer                       addr                       deliv  rej  acc
=========================================================================
1   a-client-with-a-long-name  orders.europe.germany  1,234,567    0    7
22  b                                                         1   12    -
`},
		{60, "", `
id  peer              addr                   deliv  rej  acc
============================================================
1   a-client-with-a…  orders.europe.ge…  1,234,567    0    7
22  b                                            1   12    -
`},
		{44, "peer", `
id  addr                     deliv  rej  acc
============================================
1   orders.europe.germ…  1,234,567    0    7
22                               1   12    -
`},
		{30, "peer rej acc", `
id  addr                 deliv
==============================
1   orders.europe.…  1,234,567
22                           1
`},
		{20, "peer rej acc", `
id  addr          d…
====================
1   orders.…  1,234…
22                 …
`},
	} {
		got, table := links(test.width)
		if hidden := strings.Join(table.Hidden(), " "); got != test.want[1:] || hidden != test.hidden {
			t.Errorf("width %d, %q hidden:\n%s", test.width, hidden, got)
		}
	}
}

// Whatever the width, no line is longer.
func TestNoLineIsTooLong(t *testing.T) {
	for width := 1; width < 100; width++ {
		got, table := links(width)
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("width %d: %d in %q", width, n, line)
			}
			if strings.HasSuffix(line, " \n") {
				t.Errorf("width %d: a blank at the end of %q", width, line)
			}
		}
		if width > 80 && len(table.Hidden()) > 0 {
			t.Errorf("width %d: %v are hidden", width, table.Hidden())
		}
	}
}

// After the first rows the widths stay; nothing is held.
func TestLaterRowsComeAtOnce(t *testing.T) {
	var b strings.Builder
	table := New(&b, 20, []Column{{Title: "n", Right: true}, {Title: "text", Cut: 4}})
	for i := range sample {
		table.Row([]string{fmt.Sprint(i), "short"})
	}
	if b.Len() == 0 {
		t.Fatal("nothing is printed after the sample")
	}
	table.Row([]string{"7", "much longer than what came before"})
	table.Flush()
	if !strings.HasSuffix(b.String(), "  7  much…\n") {
		t.Errorf("the last line is %q", b.String()[b.Len()-40:])
	}
	b.Reset()
	plain := New(&b, 0, []Column{{Title: "a"}, {Title: "b"}})
	plain.Plain = true
	plain.Row([]string{"1", "2"})
	plain.Flush()
	if b.String() != "1  2\n" {
		t.Errorf("without a heading: %q", b.String())
	}
}

func TestFit(t *testing.T) {
	for _, test := range []struct {
		in    string
		width int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abcd", 1, "…"}, {"abcd", 0, ""}, {"über", 4, "über"},
		{"名前名前", 8, "名前名前"}, {"名前名前", 7, "名前名…"}, {"名前名前", 6, "名前…"}, {"e\u0301e\u0301", 2, "e\u0301e\u0301"},
	} {
		got := Fit(test.in, test.width)
		if got != test.want || Width(got) > test.width {
			t.Errorf("%q in %d: %q", test.in, test.width, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0": Count(0), "999": Count(999), "1,000": Count(1000), "-1,234,567": Count(-1234567),
		"-9,223,372,036,854,775,808": Count(math.MinInt64),
		"999 B":                      Bytes(999), "1.0 KiB": Bytes(1024), "1.5 MiB": Bytes(1.5 * 1024 * 1024), "2.0 TiB": Bytes(2 << 40), "341 GiB": Bytes(341.3 * (1 << 30)), "99.9 KiB": Bytes(99.9 * 1024), "100 KiB": Bytes(99.99 * 1024),
		"0.25": Rate(.25), "12.3": Rate(12.34), "4,567": Rate(4567),
		"7s": Age(7 * time.Second), "4m05s": Age(245 * time.Second), "3h04m": Age(3*time.Hour + 4*time.Minute), "12d06h": Age(294 * time.Hour),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// FuzzFit: what is cut fits, and is as it was if it did before.
func FuzzFit(f *testing.F) {
	f.Add("orders.europe", 5)
	f.Add("名前", 3)
	f.Add("\xff\u0301", 1)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = min(max(width, 0), 200)
		got := Fit(s, width)
		if Width(got) > width && Width(s) > width {
			t.Errorf("%q in %d: %q", s, width, got)
		}
		if Width(s) <= width && got != s {
			t.Errorf("%q in %d: %q", s, width, got)
		}
	})
}
