package config

import (
	"fmt"
	"sort"
)

// section is one entity as written, before the schema is consulted.
type section struct {
	name  string
	pos   Position
	attrs []attr
	none  bool // an empty list of such entities: there is only the name
}

// attr is one name with its value, as written.
type attr struct {
	name  string
	pos   Position
	value value
}

type valueKind uint8

const (
	nullValue valueKind = iota
	textValue
	numberValue
	booleanValue
	listValue
	mapValue
)

func (k valueKind) String() string {
	return [...]string{"null", "text", "a number", "a boolean", "a list", "a map"}[k]
}

// value is a value as written. The .conf syntax knows only text, except for
// maps; the schema says what the text must be.
type value struct {
	kind  valueKind
	pos   Position
	text  string  // of text, numbers and booleans
	items []value // of lists
	attrs []attr  // of maps, in order
}

// plain returns v as Go values without positions.
func (v value) plain() any {
	switch v.kind {
	case nullValue:
		return nil
	case numberValue:
		if n, ok := parseInteger(v.text); ok {
			return n
		}
		var f float64
		if _, err := fmt.Sscan(v.text, &f); err == nil {
			return f
		}
		return v.text
	case booleanValue:
		return v.text == "true"
	case listValue:
		list := make([]any, len(v.items))
		for i := range v.items {
			list[i] = v.items[i].plain()
		}
		return list
	case mapValue:
		m := make(map[string]any, len(v.attrs))
		for _, a := range v.attrs {
			m[a.name] = a.value.plain()
		}
		return m
	}
	return v.text
}

// source is the text of one file.
type source struct {
	file  string
	text  string
	lines []int // offset of each line's first byte
}

func newSource(file, text string) *source {
	s := &source{file: file, text: text, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// at returns the position of a byte offset.
func (s *source) at(offset int) Position {
	line := sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > offset })
	return Position{File: s.file, Line: line, Column: offset - s.lines[line-1] + 1}
}

// reporter collects problems in the order in which they are found.
type reporter struct {
	mistakes Problems
	warnings Problems
}

func (r *reporter) add(p Problem) {
	if p.Warning {
		r.warnings = append(r.warnings, p)
	} else {
		r.mistakes = append(r.mistakes, p)
	}
}

// mistake reports a mistake; expected and suggestion may be empty.
func (r *reporter) mistake(pos Position, expected, suggestion, format string, args ...any) {
	r.add(Problem{Pos: pos, Text: fmt.Sprintf(format, args...), Expected: expected, Suggestion: suggestion})
}

func (r *reporter) warn(pos Position, format string, args ...any) {
	r.add(Problem{Pos: pos, Warning: true, Text: fmt.Sprintf(format, args...)})
}

// quoteLimit is how much of a wrong text is repeated in a message, in bytes.
const quoteLimit = 60

// quoted returns text for a message.
func quoted(text string) string {
	if len(text) > quoteLimit {
		cut := quoteLimit
		for cut > 0 && text[cut]&0xc0 == 0x80 { // not inside a character
			cut--
		}
		text = text[:cut] + "…"
	}
	return fmt.Sprintf("%q", text)
}
