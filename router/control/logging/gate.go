package logging

import (
	"context"
	"runtime"
	"strconv"
	"strings"

	"github.com/rs/zerolog"
)

// Names of the fields that every line has.
const (
	moduleField = "module"
	sourceField = "source"
)

// Sample implements zerolog.Sampler: it is where a message that is not enabled
// ends. zerolog's own level is fixed in each logger value; ours must change.
func (g *gate) Sample(level zerolog.Level) bool {
	return g.state.Load()>>levelOf(level)&1 != 0
}

// Run implements zerolog.Hook: it adds what the settings of the moment ask for.
func (g *gate) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	state := g.state.Load()
	if state&withTimestamp != 0 {
		now := g.logs.opts.Now()
		if g.logs.opts.UTC {
			now = now.UTC()
		}
		e.Str(zerolog.TimestampFieldName, now.Format(g.logs.opts.Format.timeLayout()))
	}
	e.Str(moduleField, g.module.String())
	if state&withSource != 0 {
		if file, line, ok := caller(); ok {
			e.Str(sourceField, file+":"+strconv.Itoa(line))
		}
	}
}

// Write implements io.Writer for zerolog: one call is one line.
func (g *gate) Write(line []byte) (int, error) {
	g.sink.Load().add(line, false)
	return len(line), nil
}

// WriteLevel implements zerolog.LevelWriter. After a critical line the process
// is about to end, so that it waits until the line is written.
func (g *gate) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	g.logs.recent.add(g.module, levelOf(level), g.logs.opts.Now(), line)
	if levelOf(level) != CriticalLevel {
		return g.Write(line)
	}
	s := g.sink.Load()
	s.add(line, true)
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	s.flush(ctx)
	return len(line), nil
}

// logger returns a logger of the module.
func (g *gate) logger() zerolog.Logger { return zerolog.New(g).Sample(g).Hook(g) }

// caller returns the place outside of zerolog and this file that logs. The
// number of frames between differs with the method used to end the message.
func caller() (file string, line int, ok bool) {
	var pcs [12]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if f.PC != 0 && !strings.Contains(f.Function, "rs/zerolog.") {
			return f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line, true
		}
		if !more {
			return "", 0, false
		}
	}
}
