package logging

import (
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Format is the form of a log line.
type Format uint8

const (
	Console Format = iota // TIME MODULE (level) text key=value: the form of Qpid Dispatch
	JSON                  // one JSON object a line
)

// Options say how logs are written. The zero Options are good.
type Options struct {
	Format Format
	UTC    bool             // times in UTC rather than in local time
	Color  bool             // colour the level in console format; for terminals
	Stderr io.Writer        // what the output "stderr" means; nil: os.Stderr
	Stdout io.Writer        // what the output "stdout" means; nil: os.Stdout
	Now    func() time.Time // nil: time.Now

	// Levels, if not nil, is used for all modules whatever Apply says. It is
	// what the command line asked for.
	Levels *Mask
}

// Setting changes what one module logs, and where. A nil or empty field leaves
// the module with what DEFAULT has.
type Setting struct {
	Module    Module
	Enable    *Mask
	Timestamp *bool
	Source    *bool
	Output    string // "stderr", "stdout" or the name of a file, which is appended to
}

// Logs is the set of module loggers of a process. It is safe for concurrent
// use. Its zero value is not useful; see [New] and [Discard].
type Logs struct {
	opts  Options
	gates [numModules]gate

	throttles sync.Map      // *Throttle by throttleKey
	lost      atomic.Uint64 // lines
	recent    recent

	mu       sync.Mutex // guards what follows
	settings [numModules]Setting
	sinks    map[string]*sink // by output name; "stderr" is always there
}

// gate holds what decides whether and how a message of one module is written.
// It is read without a lock on every call of a logger.
type gate struct {
	state  atomic.Uint32 // a Mask of levels and the two flags below
	sink   atomic.Pointer[sink]
	module Module
	logs   *Logs
}

const (
	withTimestamp = 1 << 30
	withSource    = 1 << 31
)

// New returns logs that write to stderr from level info up, until Apply says
// otherwise.
func New(opts Options) *Logs {
	if opts.Stderr == nil {
		opts.Stderr = os.Stderr
	}
	if opts.Stdout == nil {
		opts.Stdout = os.Stdout
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	l := &Logs{opts: opts}
	l.sinks = map[string]*sink{"stderr": l.newSink(opts.Stderr, nil, opts.Color)}
	for m := range l.gates {
		l.gates[m].module, l.gates[m].logs = Module(m), l
		l.settings[m].Module = Module(m)
	}
	l.publishLocked() // not shared yet
	return l
}

// Discard returns logs that write nothing, for tests.
func Discard() *Logs {
	none := Mask(0)
	return New(Options{Stderr: io.Discard, Stdout: io.Discard, Levels: &none})
}

// Logger returns the logger of a module. Later changes of the module's
// settings apply to it, and to all loggers derived from it.
func (l *Logs) Logger(m Module) zerolog.Logger {
	return l.gates[m].logger()
}

// Enabled reports whether module m writes messages of the given level.
func (l *Logs) Enabled(m Module, level Level) bool {
	return l.gates[m].state.Load()>>level&1 != 0
}

// Levels returns the levels that module m writes.
func (l *Logs) Levels(m Module) Mask { return Mask(l.gates[m].state.Load()) & allLevels }

// Apply replaces all settings: modules not named return to DEFAULT's, and
// DEFAULT, if not named, to "info+" on stderr. If a file cannot be opened,
// nothing changes.
func (l *Logs) Apply(settings []Setting) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.applyLocked(settings)
}

func (l *Logs) applyLocked(settings []Setting) error {
	sinks := map[string]*sink{"stderr": l.sinks["stderr"]}
	for _, s := range settings {
		if s.Output == "" || sinks[s.Output] != nil {
			continue
		}
		if old := l.sinks[s.Output]; old != nil {
			sinks[s.Output] = old
			continue
		}
		opened, err := l.openSink(s.Output)
		if err != nil {
			for name, sk := range sinks {
				if l.sinks[name] == nil {
					sk.close()
				}
			}
			return err
		}
		sinks[s.Output] = opened
	}
	old := l.sinks
	l.sinks = sinks
	for m := range l.settings {
		l.settings[m] = Setting{Module: Module(m)}
	}
	for _, s := range settings {
		l.settings[s.Module] = s
	}
	l.publishLocked()
	for name, sk := range old {
		if sinks[name] == nil {
			sk.close()
		}
	}
	return nil
}

// SetLevels changes the levels of one module. Unlike Apply it has the last
// word even over Options.Levels: someone asked for it now.
func (l *Logs) SetLevels(m Module, levels Mask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opts.Levels = nil
	l.settings[m].Enable = &levels
	l.publishLocked()
}

// Lost returns how many lines were lost because an output did not take them.
func (l *Logs) Lost() uint64 { return l.lost.Load() }

// Close writes what waits to be written, for at most a second, and closes the
// files. Loggers go on, to stderr.
func (l *Logs) Close() {
	l.throttles.Range(func(_, t any) bool {
		t.(*Throttle).report()
		return true
	})
	l.mu.Lock()
	old := l.sinks
	l.sinks = map[string]*sink{"stderr": old["stderr"]}
	l.publishLocked()
	l.mu.Unlock()
	for _, sk := range old {
		sk.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	for _, sk := range old {
		if sk.spare != nil {
			sk.flush(ctx)
		}
	}
	old["stderr"].flush(ctx) // last: the others may have complained there
}

// publishLocked computes the effective settings of each module and stores them
// in its gate. It runs with l.mu held, or before l is shared.
func (l *Logs) publishLocked() {
	def := l.settings[Default]
	defLevels := AtLeast(Info)
	if def.Enable != nil && !def.Enable.Inherits() {
		defLevels = *def.Enable
	}
	for m := range l.gates {
		s := l.settings[m]
		levels := defLevels
		if s.Enable != nil {
			levels = *s.Enable & allLevels
			if s.Enable.Inherits() {
				levels |= defLevels
			}
		}
		if l.opts.Levels != nil {
			levels = *l.opts.Levels & allLevels
		}
		state := uint32(levels)
		if first(true, s.Timestamp, def.Timestamp) {
			state |= withTimestamp
		}
		if first(false, s.Source, def.Source) {
			state |= withSource
		}
		sk := l.sinks["stderr"]
		for _, name := range []string{def.Output, s.Output} {
			if named := l.sinks[name]; named != nil {
				sk = named
			}
		}
		l.gates[m].sink.Store(sk)
		l.gates[m].state.Store(state)
	}
}

// first returns the first value that is set.
func first(otherwise bool, values ...*bool) bool {
	for _, v := range values {
		if v != nil {
			return *v
		}
	}
	return otherwise
}
