package logging

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/rs/zerolog"
)

// timeLayout is RFC 3339 for machines, and for people the layout of Qpid
// Dispatch, whose log scrapers split lines at blanks.
func (f Format) timeLayout() string {
	if f == JSON {
		return "2006-01-02T15:04:05.000000Z07:00"
	}
	return "2006-01-02 15:04:05.000000 -0700"
}

// sink is one output, which modules share. Lines are written whole.
type sink struct {
	mu    sync.Mutex
	w     io.Writer
	file  io.Closer // nil if not ours to close
	spare io.Writer // where lines go that come after close
}

func newSink(opts Options, w io.Writer, file io.Closer) *sink {
	return &sink{w: formatted(opts, w), file: file, spare: formatted(opts, opts.Stderr)}
}

// openSink opens the output with the given name.
func openSink(opts Options, name string) (*sink, error) {
	switch name {
	case "stderr":
		return newSink(opts, opts.Stderr, nil), nil
	case "stdout":
		return newSink(opts, opts.Stdout, nil), nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log file: %w", err)
	}
	opts.Color = false
	return newSink(opts, f, f), nil
}

func (s *sink) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(line)
}

// close closes the file. A logger may have picked this sink just before, so
// later lines are sent to stderr rather than lost.
func (s *sink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.file.Close()
		s.file, s.w = nil, s.spare
	}
}

// formatted returns a writer that turns zerolog's JSON into the format.
func formatted(opts Options, w io.Writer) io.Writer {
	if opts.Format == JSON {
		return w
	}
	plain := func(v any) string {
		if v == nil {
			return ""
		}
		return fmt.Sprint(v)
	}
	return zerolog.ConsoleWriter{
		Out:             w,
		NoColor:         true, // all but the level, below
		PartsOrder:      []string{zerolog.TimestampFieldName, moduleField, zerolog.LevelFieldName, zerolog.MessageFieldName},
		FieldsExclude:   []string{moduleField},
		FormatTimestamp: plain,
		FormatMessage:   plain,
		FormatLevel: func(v any) string {
			level := plain(v)
			text := "(" + level + ")"
			if color := levelColor[level]; opts.Color && color != "" {
				text = color + text + "\x1b[0m"
			}
			return text
		},
		FormatFieldName: func(v any) string { return plain(v) + "=" },
		FormatPartValueByName: func(v any, name string) string {
			return strings.TrimSpace(plain(v))
		},
	}
}

var levelColor = map[string]string{
	"trace": "\x1b[90m", "debug": "\x1b[90m", "notice": "\x1b[36m",
	"warning": "\x1b[33m", "error": "\x1b[31m", "critical": "\x1b[1;31m",
}
