package logging

import (
	"fmt"
	"strings"

	"github.com/rs/zerolog"
)

// Level is the severity of a message.
type Level uint8

const (
	Trace Level = iota
	Debug
	Info
	NoticeLevel
	Warning
	Error
	CriticalLevel
	numLevels
)

var levelNames = [numLevels]string{"trace", "debug", "info", "notice", "warning", "error", "critical"}

// String returns the name of l as the enable attribute spells it.
func (l Level) String() string {
	if l < numLevels {
		return levelNames[l]
	}
	return fmt.Sprintf("level %d", uint8(l))
}

// LevelNames returns the names that an enable attribute may list.
func LevelNames() []string {
	return append([]string{"none", "default"}, levelNames[:]...)
}

// What zerolog lacks travels as levels outside its own range.
const (
	zerologNotice   zerolog.Level = 20
	zerologCritical zerolog.Level = 21
)

// levelOf maps what zerolog passes around to our levels.
func levelOf(l zerolog.Level) Level {
	switch l {
	case zerolog.TraceLevel:
		return Trace
	case zerolog.DebugLevel:
		return Debug
	case zerolog.InfoLevel, zerolog.NoLevel:
		return Info
	case zerologNotice:
		return NoticeLevel
	case zerolog.WarnLevel:
		return Warning
	case zerolog.ErrorLevel:
		return Error
	}
	return CriticalLevel
}

func init() {
	// The names on the wire of every zerolog logger in this process: there is
	// one log vocabulary, and it is that of the enable attribute.
	zerolog.LevelFieldMarshalFunc = func(l zerolog.Level) string { return levelOf(l).String() }
}

// Notice begins a message of level notice: rare and worth reading, though
// nothing is wrong.
func Notice(log *zerolog.Logger) *zerolog.Event { return log.WithLevel(zerologNotice) }

// Critical begins a message of level critical: the process cannot go on.
func Critical(log *zerolog.Logger) *zerolog.Event { return log.WithLevel(zerologCritical) }

// Mask is a set of levels.
type Mask uint32

// inherit marks the word "default": take the levels of the module DEFAULT.
const inherit Mask = 1 << 16

const allLevels Mask = 1<<numLevels - 1

// AtLeast returns the set of l and everything more severe.
func AtLeast(l Level) Mask { return allLevels &^ (1<<l - 1) }

// Has reports whether l is in m.
func (m Mask) Has(l Level) bool { return m>>l&1 != 0 }

// Inherits reports whether m stands for the levels of the module DEFAULT.
func (m Mask) Inherits() bool { return m&inherit != 0 }

// String returns m as an enable attribute.
func (m Mask) String() string {
	if m.Inherits() {
		return "default"
	}
	var words []string
	for l := Level(0); l < numLevels; l++ {
		if m.Has(l) && m&AtLeast(l) == AtLeast(l) {
			words = append(words, l.String()+"+")
			break
		}
		if m.Has(l) {
			words = append(words, l.String())
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ",")
}

// EnableError is a word of an enable attribute that names no level.
type EnableError struct {
	Word   string // as written
	Offset int    // of Word in the text, in bytes
}

func (e *EnableError) Error() string {
	return fmt.Sprintf("%q is not a log level; expected one of %s, with + for \"and above\"",
		e.Word, strings.Join(LevelNames(), ", "))
}

// ParseEnable parses an enable attribute: level names in any case, separated
// by any of ",;:" and blanks. A "+" after a name adds everything more severe.
// "none" adds nothing, "default" inherits, and an empty text disables all. As
// in Qpid Dispatch the beginning of a name will do.
func ParseEnable(text string) (Mask, error) {
	var m Mask
	for start := 0; start < len(text); {
		end := start
		for end < len(text) && !strings.ContainsRune(",;: \t", rune(text[end])) {
			end++
		}
		if word := text[start:end]; word != "" {
			levels, ok := parseWord(strings.ToLower(word))
			if !ok {
				return 0, &EnableError{Word: word, Offset: start}
			}
			m |= levels
		}
		start = end + 1
	}
	return m, nil
}

func parseWord(word string) (Mask, bool) {
	name, above := strings.CutSuffix(word, "+")
	if name == "" {
		return 0, false
	}
	for l, full := range levelNames {
		if strings.HasPrefix(full, name) {
			if above {
				return AtLeast(Level(l)), true
			}
			return 1 << l, true
		}
	}
	switch {
	case above:
	case strings.HasPrefix("none", name):
		return 0, true
	case strings.HasPrefix("default", name):
		return inherit, true
	}
	return 0, false
}
