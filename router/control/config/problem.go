package config

import (
	"fmt"
	"strings"
)

// Problem is one mistake, or one warning, in a configuration.
type Problem struct {
	Pos        Position `json:"position"`
	Warning    bool     `json:"warning"`
	Text       string   `json:"text"`                 // what was found, in one sentence
	Expected   string   `json:"expected,omitempty"`   // what would be right
	Suggestion string   `json:"suggestion,omitempty"` // the nearest valid name
	NoEffect   string   `json:"no_effect,omitempty"`  // what does nothing although it was meant to
}

// Problems is a list of problems. As an error it is not nil when there are
// any; see [Problems.Err].
type Problems []Problem

// Mistakes returns how many of the problems are mistakes, not warnings.
func (ps Problems) Mistakes() int {
	n := 0
	for _, p := range ps {
		if !p.Warning {
			n++
		}
	}
	return n
}

// String returns file:line:column.
func (p Position) String() string {
	switch {
	case p.File == "":
		return "configuration"
	case p.Line == 0, p.Embedded(): // nobody can look there
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// longList is how long a list of names may be, in bytes, to be shown beside the
// nearest of them.
const longList = 90

// String returns the problem in one line.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Pos.String())
	if p.Warning {
		b.WriteString(": warning: ")
	} else {
		b.WriteString(": error: ")
	}
	b.WriteString(p.Text)
	// The nearest name says more than a long list of all.
	if p.Expected != "" && (p.Suggestion == "" || len(p.Expected) <= longList) {
		b.WriteString("; expected " + p.Expected)
	}
	if p.Suggestion != "" {
		b.WriteString("; did you mean " + p.Suggestion + "?")
	}
	return b.String()
}

// Error returns all problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns ps as an error if it is not empty.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}
