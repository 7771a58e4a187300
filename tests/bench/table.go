package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Table is printed as Markdown, with columns that a terminal shows aligned.
type Table struct {
	Head  []string
	Cells [][]string
}

// none is a cell that has no value, by its meaning; unknown is one whose value
// is too small to be measured.
const none, unknown = "–", "?"

// Print writes the table.
func (t *Table) Print(w io.Writer) {
	width := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Cells...) {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	line := func(row []string) {
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i == 0 {
				fmt.Fprint(w, "| ", c, pad)
			} else {
				fmt.Fprint(w, " | ", pad, c)
			}
		}
		fmt.Fprintln(w, " |")
	}
	line(t.Head)
	for i, n := range width {
		if i == 0 {
			fmt.Fprint(w, "| ", strings.Repeat("-", n))
		} else {
			fmt.Fprint(w, " | ", strings.Repeat("-", n-1), ":")
		}
	}
	fmt.Fprintln(w, " |")
	for _, row := range t.Cells {
		line(row)
	}
}

func rate(o *Outcome) float64 {
	return ratio(float64(o.Messages), o.Elapsed.Seconds())
}

func megabytes(o *Outcome) float64 { return ratio(float64(o.Bytes)/1e6, o.Elapsed.Seconds()) }

// cost is the processor time of the server for a message in µs.
func cost(o *Outcome) float64 { return ratio(o.CPU.Seconds()*1e6, float64(o.Messages)) }

// costGB is the processor time of the server for a gigabyte in seconds.
func costGB(o *Outcome) float64 { return ratio(o.CPU.Seconds(), float64(o.Bytes)/1e9) }

func peak(o *Outcome) float64 { return float64(o.Peak) / (1 << 20) }

func lost(o *Outcome) float64 { return float64(o.Lost) }

func wrong(o *Outcome) float64 { return float64(o.Wrong) }

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// number prints v with three digits that count; zero is unknown.
func number(v float64) string {
	switch {
	case v == 0:
		return unknown
	case v >= 1000:
		return thousands(int64(v + 0.5))
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// thousands puts commas into n.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func times(a, b float64) string {
	if a == 0 || b == 0 {
		return unknown
	}
	return fmt.Sprintf("%.2f ×", a/b)
}

func percent(a, b float64) string {
	if a == 0 || b == 0 {
		return unknown
	}
	return fmt.Sprintf("%.0f %%", 100*a/b)
}

// failures tells of what was lost, and of what came twice or out of order.
func failures(all []Outcome) string {
	s := thousands(int64(worst(all, lost)))
	if n := worst(all, wrong); n > 0 {
		s += fmt.Sprintf(" (%s out of order)", thousands(int64(n)))
	}
	return s
}

func latency(all []Outcome) string {
	p50 := median(all, func(o *Outcome) float64 { return float64(o.P50.Microseconds()) })
	p99 := median(all, func(o *Outcome) float64 { return float64(o.P99.Microseconds()) })
	if p50 == 0 {
		return unknown
	}
	return fmt.Sprintf("%.0f / %s", p50, thousands(int64(p99)))
}

// messageTable is the table of the rows, with ratios to floor and relay.
func messageTable(lines []Line) *Table {
	t := &Table{Head: []string{
		"work", "messages", "msg/s", "MB/s", "CPU µs/msg", "to floor", "to wide floor", "CPU/GB to relay",
		"rate to relay", "latency p50 / p99 µs", "peak RSS MiB", "lost",
	}}
	for _, l := range lines {
		s := l.Sluice
		cells := []string{
			l.Name, thousands(l.Work.expected()), number(median(s, rate)), number(median(s, megabytes)), number(median(s, cost)),
			none, none, none, none, none, number(worst(s, peak)), failures(s),
		}
		if l.Row.Floor {
			cells[5] = times(median(s, cost), median(l.Floor, cost))
			cells[6] = times(median(s, cost), median(l.Wide, cost))
		}
		if l.Row.Relay {
			cells[7] = times(median(s, costGB), median(l.Relay, func(r *relayed) float64 { return ratio(r.CPU.Seconds(), float64(r.Bytes)/1e9) }))
			cells[8] = percent(median(s, megabytes), median(l.Relay, relayRate))
		}
		if l.Work.Rate > 0 {
			cells[9] = latency(s)
		}
		t.Cells = append(t.Cells, cells)
	}
	return t
}

func relayRate(r *relayed) float64 { return ratio(float64(r.Bytes)/1e6, r.Elapsed.Seconds()) }

// baseTable is what floor and relay took.
func baseTable(lines []Line) *Table {
	t := &Table{Head: []string{"work", "floor: msg/s", "CPU µs/msg", "latency p50 / p99 µs", "wide floor: msg/s", "CPU µs/msg", "relay: MB/s", "CPU s/GB"}}
	for _, l := range lines {
		cells := []string{l.Name, none, none, none, none, none, none, none}
		if l.Row.Floor {
			cells[1], cells[2] = number(median(l.Floor, rate)), number(median(l.Floor, cost))
			cells[4], cells[5] = number(median(l.Wide, rate)), number(median(l.Wide, cost))
			if l.Work.Rate > 0 {
				cells[3] = latency(l.Floor)
			}
		}
		if l.Row.Relay {
			cells[6] = number(median(l.Relay, relayRate))
			cells[7] = number(median(l.Relay, func(r *relayed) float64 { return ratio(r.CPU.Seconds(), float64(r.Bytes)/1e9) }))
		}
		if l.Row.Floor || l.Row.Relay {
			t.Cells = append(t.Cells, cells)
		}
	}
	return t
}

// compareTable shows sluice beside another router. Ratios are other to sluice.
func compareTable(lines []Line) *Table {
	t := &Table{Head: []string{
		"work", "messages", "msg/s", "other", "ratio", "CPU µs/msg", "other", "ratio",
		"latency p50 / p99 µs", "other", "peak RSS MiB", "other", "lost", "other",
	}}
	for _, l := range lines {
		s, o := l.Sluice, l.Other
		cells := []string{
			l.Name, thousands(l.Work.expected()),
			number(median(s, rate)), number(median(o, rate)), times(median(o, rate), median(s, rate)),
			number(median(s, cost)), number(median(o, cost)), times(median(o, cost), median(s, cost)),
			none, none, number(worst(s, peak)), number(worst(o, peak)), failures(s), failures(o),
		}
		if l.Work.Rate > 0 {
			cells[8], cells[9] = latency(s), latency(o)
		}
		t.Cells = append(t.Cells, cells)
	}
	return t
}

// A Fact is one figure of scale.
type Fact struct{ Name, Value string }

func factTable(facts []Fact) *Table {
	t := &Table{Head: []string{"scale", "measured"}}
	for _, f := range facts {
		t.Cells = append(t.Cells, []string{f.Name, f.Value})
	}
	return t
}
