package logging

import (
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Of one kind of message at most burst lines are written in a period.
const (
	burst  = 10
	period = time.Second
)

// A Throttle bounds how many lines of one kind are written, for messages that
// others can provoke: ten in a second, and when the second is over one that
// says how many there were besides. Give it to a logger of its module with
// zerolog.Logger.Sample. Errors, and everything while the module writes debug
// messages, pass.
type Throttle struct {
	gate *gate
	kind string

	mu    sync.Mutex
	began time.Time // of the period
	lines int       // written in it
	held  uint64    // not written
	level zerolog.Level
	timer *time.Timer // ends a period with held lines
}

type throttleKey struct {
	module Module
	kind   string
}

// Throttle returns the throttle for one kind of message of module m, which all
// who ask for it share. The kind is what the line about what was not written
// begins with.
func (l *Logs) Throttle(m Module, kind string) *Throttle {
	key := throttleKey{m, kind}
	if t, ok := l.throttles.Load(key); ok {
		return t.(*Throttle)
	}
	t, _ := l.throttles.LoadOrStore(key, &Throttle{gate: &l.gates[m], kind: kind})
	return t.(*Throttle)
}

// Unless returns a sampler with which messages of module m are not written as long as
// quiet says so, unless the module writes debug messages. Quiet may be called from any
// goroutine.
func (l *Logs) Unless(m Module, quiet func() bool) zerolog.Sampler {
	return unless{&l.gates[m], quiet}
}

type unless struct {
	gate  *gate
	quiet func() bool
}

// Sample implements zerolog.Sampler.
func (u unless) Sample(level zerolog.Level) bool {
	return u.gate.Sample(level) && (u.gate.Sample(zerolog.DebugLevel) || !u.quiet())
}

// Sample implements zerolog.Sampler.
func (t *Throttle) Sample(level zerolog.Level) bool {
	if !t.gate.Sample(level) {
		return false
	}
	if l := levelOf(level); l >= Error || t.gate.Sample(zerolog.DebugLevel) {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	// Held lines are reported by the timer, before a new period begins.
	if t.held == 0 && now.Sub(t.began) >= period {
		t.began, t.lines = now, 0
	}
	if t.lines < burst {
		t.lines++
		return true
	}
	t.held++
	t.level = level
	if t.timer == nil {
		t.timer = time.AfterFunc(t.began.Add(period).Sub(now), t.report)
	}
	return false
}

// report ends the period, with a line if others were held.
func (t *Throttle) report() {
	t.mu.Lock()
	held, level := t.held, t.level
	if t.timer != nil {
		t.timer.Stop()
	}
	t.held, t.lines, t.began, t.timer = 0, 0, time.Time{}, nil
	t.mu.Unlock()
	if held > 0 {
		log := t.gate.logger()
		log.WithLevel(level).Msgf("%s: %s not logged", t.kind, were(held, "more of the same kind", "more of the same kind"))
	}
}
