package logging

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/router/control/files"
)

// timeLayout is RFC 3339 for machines, and for people the layout of Qpid
// Dispatch, whose log scrapers split lines at blanks.
func (f Format) timeLayout() string {
	if f == JSON {
		return "2006-01-02T15:04:05.000000Z07:00"
	}
	return "2006-01-02 15:04:05.000000 -0700"
}

const (
	// queueLimit bounds the lines that wait, and so those that are being
	// written: an output holds 1 MiB.
	queueLimit = 512 << 10
	// writeSize is how much is written at once, in whole lines. Pipes take as
	// much without mixing it with what others write.
	writeSize = 4096
	// keptQueue is how much memory a sink keeps for its next lines.
	keptQueue = 64 << 10
	// flushTime is how long the end of the process waits for its outputs.
	flushTime = time.Second
)

// sink is one output, which modules share. Whoever logs only adds to a queue;
// one goroutine formats and writes, and lives as long as there is something to
// write. When the queue is full, lines are lost until the goroutine takes it,
// and a line in their place says how many.
type sink struct {
	logs  *Logs
	out   io.Writer
	spare *sink // where lines go that come after close; nil for stderr

	mu     sync.Mutex
	queue  []byte        // lines as zerolog writes them
	lost   uint64        // lines that came after those of queue
	file   io.Closer     // nil if not ours to close
	closed bool          // the file is closed once the queue is empty
	idle   chan struct{} // closed when the goroutine ends; nil if there is none

	// Of the goroutine.
	text    bytes.Buffer // what console writes to
	console io.Writer    // nil if lines are written as they are
	failed  bool         // the last write did not work
}

// newSink returns a sink that writes to w. It runs before l is shared or with
// l.mu held.
func (l *Logs) newSink(w io.Writer, file io.Closer, color bool) *sink {
	s := &sink{logs: l, out: w, file: file, spare: l.sinks["stderr"]}
	if l.opts.Format == Console {
		s.console = console(&s.text, color)
	}
	return s
}

// openSink opens the output with the given name. It runs with l.mu held.
func (l *Logs) openSink(name string) (*sink, error) {
	if name == "stdout" {
		return l.newSink(l.opts.Stdout, nil, l.opts.Color), nil
	}
	f, err := files.Append(name)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log file: %w", err)
	}
	return l.newSink(f, f, false), nil
}

// add queues a line. It never waits for the output. What must not be lost is
// queued whatever the limit.
func (s *sink) add(line []byte, must bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		// A logger may have picked this sink just before.
		s.spare.add(line, must)
		return
	case must:
	case s.lost > 0, len(s.queue) > 0 && len(s.queue)+len(line) > queueLimit:
		s.lost++
		s.logs.lost.Add(1)
		return
	}
	s.queue = append(s.queue, line...)
	s.startLocked()
}

func (s *sink) startLocked() {
	if s.idle == nil {
		s.idle = make(chan struct{})
		go s.drain()
	}
}

// close lets the file be closed when all lines have been written, for which it has
// a second if it makes its writer wait. Later lines
// are sent to stderr rather than lost.
func (s *sink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = s.spare != nil
	if s.closed && s.file != nil {
		// A pipe that nobody empties would be kept, with all that waits, for ever.
		if f, ok := s.file.(interface{ SetWriteDeadline(time.Time) error }); ok {
			f.SetWriteDeadline(time.Now().Add(flushTime)) // of no effect where writes do not wait
		}
		s.startLocked()
	}
}

// flush waits until there is nothing left to write, or ctx is done.
func (s *sink) flush(ctx context.Context) {
	s.mu.Lock()
	idle := s.idle
	s.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// drain writes until there is nothing left.
func (s *sink) drain() {
	var batch []byte
	for {
		if cap(batch) > keptQueue {
			batch = nil
		}
		s.mu.Lock()
		if len(s.queue) == 0 {
			if file := s.file; s.closed && file != nil {
				s.file = nil
				s.mu.Unlock()
				file.Close()
				continue
			}
			if s.queue == nil {
				s.queue = batch[:0]
			}
			close(s.idle)
			s.idle = nil
			s.mu.Unlock()
			return
		}
		batch, s.queue = s.queue, batch[:0]
		lost := s.lost
		s.lost = 0
		s.mu.Unlock()
		s.write(batch)
		if lost > 0 {
			s.write(s.logs.line("%s lost: the log could not be written fast enough", were(lost, "log line", "log lines")))
		}
	}
}

// write formats and writes lines, several at once.
func (s *sink) write(lines []byte) {
	for len(lines) > 0 {
		n := wholeLines(lines)
		_, err := s.out.Write(s.format(lines[:n]))
		if err != nil {
			s.logs.lost.Add(uint64(bytes.Count(lines[:n], newline)))
			if !s.failed && s.spare != nil {
				s.spare.add(s.logs.line("log lines are lost: %v", err), false)
			}
		}
		s.failed = err != nil
		lines = lines[n:]
	}
}

var newline = []byte{'\n'}

// wholeLines returns the length of the first lines that are written at once.
func wholeLines(lines []byte) int {
	if len(lines) <= writeSize {
		return len(lines)
	}
	if end := bytes.LastIndexByte(lines[:writeSize], '\n'); end >= 0 {
		return end + 1
	}
	if end := bytes.IndexByte(lines, '\n'); end >= 0 {
		return end + 1
	}
	return len(lines)
}

func (s *sink) format(lines []byte) []byte {
	if s.console == nil {
		return lines
	}
	s.text.Reset()
	for line := range bytes.Lines(lines) {
		if _, err := s.console.Write(line); err != nil {
			s.text.Write(line)
		}
	}
	return s.text.Bytes()
}

// line returns a line about the log itself.
func (l *Logs) line(format string, args ...any) []byte {
	var b bytes.Buffer
	log := zerolog.New(&b).Hook(&l.gates[Router])
	log.Warn().Msgf(format, args...)
	return b.Bytes()
}

// were returns the beginning of a sentence about n things.
func were(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one + " was"
	}
	return fmt.Sprintf("%d %s were", n, many)
}

// console returns a writer that turns zerolog's JSON into lines for people.
func console(w io.Writer, color bool) io.Writer {
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
			if code := levelColor[level]; color && code != "" {
				text = code + text + "\x1b[0m"
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
