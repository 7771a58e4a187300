package table

import (
	"bufio"
	"io"
	"slices"
	"strings"
)

// sample is how many rows are looked at for the widths of the columns. A later
// cell that is wider is cut, or in a table without a width moves its neighbours.
const sample = 1000

// A Column is one column of a table.
type Column struct {
	Title string
	Right bool // numbers
	// Cut is how narrow the column may become by cutting its text; 0: not at all.
	Cut int
	// Rank says which columns go first when there is no room: those with the
	// largest. Those with 0 stay.
	Rank int
}

// A Writer prints one table.
type Writer struct {
	w       *bufio.Writer
	columns []Column
	width   int  // of the terminal; 0: no end
	Plain   bool // no heading: the table goes on from another one

	rows   [][]string // the first ones, until the widths are known
	widths []int      // nil: not known yet; -1: the column is hidden
	hidden []string
	b      strings.Builder // the line that is made
}

// New returns a table on w for a terminal with a width in characters; 0 means
// that lines may be of any length.
func New(w io.Writer, width int, columns []Column) *Writer {
	return &Writer{w: bufio.NewWriter(w), columns: columns, width: width}
}

// Row adds a row. It has a cell for each column.
func (t *Writer) Row(cells []string) error {
	if t.widths != nil {
		t.line(cells)
		return nil
	}
	t.rows = append(t.rows, slices.Clone(cells))
	if len(t.rows) == sample {
		return t.Flush()
	}
	return nil
}

// Flush prints what there is; what is printed later has the same widths. It
// must be called at the end.
func (t *Writer) Flush() error {
	if t.widths == nil {
		t.measure()
		t.head()
		for _, r := range t.rows {
			t.line(r)
		}
		t.rows = nil
	}
	return t.w.Flush()
}

// Hidden are the titles of the columns that had no room.
func (t *Writer) Hidden() []string { return t.hidden }

// gap stands between two columns.
const gap = "  "

// measure finds the widths: first columns that may be cut give way, as far as
// they comfortably can, then columns are left out, then those that may be cut
// give all that they can.
func (t *Writer) measure() {
	t.widths = make([]int, len(t.columns))
	for i, c := range t.columns {
		t.widths[i] = Width(c.Title)
		for _, r := range t.rows {
			t.widths[i] = max(t.widths[i], Width(r[i]))
		}
	}
	if t.width <= 0 {
		return
	}
	t.shrink(2)
	for t.total() > t.width {
		last := -1
		for i, c := range t.columns {
			if t.widths[i] >= 0 && c.Rank > 0 && (last < 0 || c.Rank >= t.columns[last].Rank) {
				last = i
			}
		}
		if last < 0 {
			break
		}
		t.widths[last] = -1
	}
	for i, c := range t.columns {
		if t.widths[i] < 0 {
			t.hidden = append(t.hidden, c.Title)
		}
	}
	t.shrink(1)
	t.grow()
}

// shrink narrows the widest column that may be cut, again and again, until the
// table fits or none is wider than times its least width.
func (t *Writer) shrink(times int) {
	for t.total() > t.width {
		widest := -1
		for i, c := range t.columns {
			if c.Cut > 0 && t.widths[i] > max(c.Cut*times, Width(c.Title)) && (widest < 0 || t.widths[i] > t.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		t.widths[widest]--
	}
}

// grow gives room that leaving out a column has made to those that were cut.
func (t *Writer) grow() {
	for i, c := range t.columns {
		if c.Cut == 0 || t.widths[i] < 0 {
			continue
		}
		natural := Width(c.Title)
		for _, r := range t.rows {
			natural = max(natural, Width(r[i]))
		}
		if room := t.width - t.total(); room > 0 {
			t.widths[i] = min(natural, t.widths[i]+room)
		}
	}
}

func (t *Writer) total() int {
	n := -len(gap)
	for _, w := range t.widths {
		if w >= 0 {
			n += w + len(gap)
		}
	}
	return n
}

func (t *Writer) head() {
	if t.Plain {
		return
	}
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.Title
	}
	t.line(titles)
	rule := max(t.total(), 0)
	if t.width > 0 {
		rule = min(rule, t.width)
	}
	t.w.WriteString(strings.Repeat("=", rule))
	t.w.WriteByte('\n')
}

// line prints a row. Nothing follows the last character. Where even the columns
// that must stay have no room, the line is cut.
func (t *Writer) line(cells []string) {
	t.b.Reset()
	pending := 0
	for i, c := range t.columns {
		width := t.widths[i]
		if width < 0 {
			continue
		}
		text := cells[i]
		if t.width > 0 {
			text = Fit(text, width)
		}
		pad := max(width-Width(text), 0)
		if c.Right {
			pending += pad
			pad = 0
		}
		if text != "" {
			t.b.WriteString(strings.Repeat(" ", pending))
			t.b.WriteString(text)
			pending = 0
		}
		pending += pad + len(gap)
	}
	line := t.b.String()
	if t.width > 0 {
		line = Fit(line, t.width)
	}
	t.w.WriteString(line)
	t.w.WriteByte('\n')
}
