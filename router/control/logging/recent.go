package logging

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// What is kept of the log for those who ask: so many lines, and so many bytes of
// each and of all.
const (
	recentLines = 1000
	recentLine  = 4 << 10
	recentBytes = 1 << 20
)

// A Line is one that was logged.
type Line struct {
	Module Module
	Level  Level
	Time   time.Time
	Text   string // the message and its fields
	File   string // where it was logged; empty unless the module says so in lines
	Line   int
}

// recent keeps the latest lines, as they were written.
type recent struct {
	counts [numModules][numLevels]atomic.Uint64

	mu    sync.Mutex // a leaf lock; guards the fields below
	lines [recentLines]recorded
	next  int
	bytes int
}

type recorded struct {
	module Module
	level  Level
	at     time.Time
	line   []byte // nil: none
}

// add counts a line and keeps it.
func (r *recent) add(m Module, l Level, at time.Time, line []byte) {
	r.counts[m][l].Add(1)
	if len(line) > recentLine {
		line = line[:recentLine]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	slot := &r.lines[r.next]
	r.bytes += len(line) - len(slot.line)
	*slot = recorded{m, l, at, append(slot.line[:0], line...)}
	if cap(slot.line) > 4*len(line) { // what was longer is not kept for it
		slot.line = bytes.Clone(line)
	}
	r.next = (r.next + 1) % recentLines
	for i := r.next; r.bytes > recentBytes; i = (i + 1) % recentLines {
		r.bytes -= len(r.lines[i].line)
		r.lines[i].line = nil
	}
}

// Recent returns the latest lines that were written, limit of them at most,
// oldest first. At most a thousand are kept.
func (l *Logs) Recent(limit int) []Line {
	r := &l.recent
	var kept []recorded
	r.mu.Lock()
	for i := range recentLines {
		if e := r.lines[(r.next+i)%recentLines]; e.line != nil {
			e.line = bytes.Clone(e.line)
			kept = append(kept, e)
		}
	}
	r.mu.Unlock()
	kept = kept[max(len(kept)-max(limit, 0), 0):]
	lines := make([]Line, len(kept))
	for i := range kept {
		lines[i] = kept[i].parse()
	}
	return lines
}

// parse takes a line of zerolog apart.
func (e *recorded) parse() Line {
	l := Line{Module: e.module, Level: e.level, Time: e.at}
	d := json.NewDecoder(bytes.NewReader(e.line))
	d.UseNumber()
	var fields []string
	message := ""
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return l
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			break // it was too long to be kept whole
		}
		var v any
		if d.Decode(&v) != nil {
			break
		}
		switch name := fmt.Sprint(key); name {
		case zerolog.MessageFieldName:
			message = fmt.Sprint(v)
		case sourceField:
			if file, line, ok := strings.Cut(fmt.Sprint(v), ":"); ok {
				l.File = file
				l.Line, _ = strconv.Atoi(line)
			}
		case moduleField, zerolog.LevelFieldName, zerolog.TimestampFieldName:
		default:
			fields = append(fields, fmt.Sprintf("%s=%v", name, v))
		}
	}
	l.Text = strings.TrimSpace(message + " " + strings.Join(fields, " "))
	return l
}

// Counts returns how many lines of each level module m has written.
func (l *Logs) Counts(m Module) [numLevels]uint64 {
	var n [numLevels]uint64
	for level := range n {
		n[level] = l.recent.counts[m][level].Load()
	}
	return n
}

// Setting returns what has been set for module m.
func (l *Logs) Setting(m Module) Setting {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settings[m]
}

// Set replaces the setting of one module. Unlike Apply it has the last word on
// levels even over Options.Levels: someone asked for it now. If a file cannot be
// opened, nothing changes.
func (l *Logs) Set(s Setting) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	settings, everywhere := l.settings, l.opts.Levels
	if was := settings[s.Module].Enable; everywhere != nil && s.Enable != nil && (was == nil || *was != *s.Enable) {
		l.opts.Levels = nil
		for m := range settings {
			settings[m].Enable = everywhere // what held for all still does for the others
		}
	}
	settings[s.Module] = s
	if err := l.applyLocked(settings[:]); err != nil {
		l.opts.Levels = everywhere
		return err
	}
	return nil
}

// Reload puts settings into force that a configuration has changed, and leaves the
// other modules as they are. Every file is opened again by its name, so that what has
// been renamed is let go of: it has all lines from before when Reload returns, or a
// second later. If a file cannot be opened, nothing changes.
func (l *Logs) Reload(changed []Setting) error {
	old, err := l.reopen(changed)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	for _, sk := range old {
		sk.flush(ctx)
	}
	return nil
}

// reopen is Reload; it returns the outputs that are closed once what waits for them is
// written.
func (l *Logs) reopen(changed []Setting) (closed []*sink, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	settings := l.settings
	for _, s := range changed {
		settings[s.Module] = s
	}
	old := l.sinks
	l.sinks = map[string]*sink{"stderr": old["stderr"]}
	if out := old["stdout"]; out != nil {
		l.sinks["stdout"] = out
	}
	if err := l.applyLocked(settings[:]); err != nil {
		l.sinks = old
		return nil, err
	}
	for name, sk := range old {
		if l.sinks[name] != sk {
			sk.close()
			closed = append(closed, sk)
		}
	}
	return closed, nil
}
