package logging

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

func TestParseEnable(t *testing.T) {
	for text, want := range map[string]string{
		"info+": "info+", "INFO+": "info+", "trace+": "trace+", "debug": "debug", "info,error": "info,error",
		"info; error :critical": "info,error+", "none": "none", "": "none", "default": "default", "warn+": "warning+",
		"  notice+  ": "notice+", "critical": "critical+", "n": "notice", "trace, debug, info, notice, warning, error, critical": "trace+",
	} {
		m, err := ParseEnable(text)
		if err != nil || m.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, m, err, want)
		}
	}
	for text, offset := range map[string]int{"blah+": 0, "info+,blah": 6, "+": 0, "none+": 0, "default+": 0, "infos": 0} {
		_, err := ParseEnable(text)
		var bad *EnableError
		if !errors.As(err, &bad) || bad.Offset != offset {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// at is the time of all lines in these tests.
var at = time.Date(2026, 5, 6, 7, 8, 9, 123456000, time.FixedZone("", 2*3600))

// output is what a log has written when it is asked for it.
type output struct {
	logs *Logs
	mu   sync.Mutex
	buf  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// take returns what was written since it was last called.
func (o *output) take() string {
	o.flush()
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.buf.Reset()
	return o.buf.String()
}

func (o *output) flush() {
	o.logs.mu.Lock()
	stderr := o.logs.sinks["stderr"]
	o.logs.mu.Unlock()
	stderr.flush(context.Background())
}

func (o *output) String() string {
	o.flush()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func newTest(format Format) (*Logs, *output) {
	out := new(output)
	out.logs = New(Options{Format: format, Stderr: out, Stdout: io.Discard, Now: func() time.Time { return at }})
	return out.logs, out
}

func TestConsoleLines(t *testing.T) {
	l, out := newTest(Console)
	log := l.Logger(Server)
	log.Info().Str("peer", "10.0.0.1:1").Msg("Accepted connection")
	Notice(&log).Int("pid", 7).Msg("Operational")
	Critical(&log).Msg("no more")
	log.Warn().Err(errors.New("a b")).Msg("odd")
	log.Debug().Msg("not enabled")
	want := `2026-05-06 07:08:09.123456 +0200 SERVER (info) Accepted connection peer=10.0.0.1:1
2026-05-06 07:08:09.123456 +0200 SERVER (notice) Operational pid=7
2026-05-06 07:08:09.123456 +0200 SERVER (critical) no more
2026-05-06 07:08:09.123456 +0200 SERVER (warning) odd error="a b"
`
	if out.String() != want {
		t.Errorf("got:\n%swant:\n%s", out, want)
	}
}

func TestJSONLines(t *testing.T) {
	l, out := newTest(JSON)
	log := l.Logger(ConnMgr).With().Int("connection", 3).Logger()
	Notice(&log).Msg("hello")
	var line map[string]any
	if err := json.Unmarshal([]byte(out.String()), &line); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"level": "notice", "module": "CONN_MGR", "message": "hello", "connection": 3.0, "time": "2026-05-06T07:08:09.123456+02:00"} {
		if line[key] != want {
			t.Errorf("%s: %v, want %v", key, line[key], want)
		}
	}
}

func mask(t *testing.T, text string) *Mask {
	t.Helper()
	m, err := ParseEnable(text)
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

func TestSettingsChangeWhileLoggersLive(t *testing.T) {
	l, out := newTest(Console)
	server := l.Logger(Server).With().Str("k", "v").Logger() // derived before the change
	policy := l.Logger(Policy)
	lines := func(f func()) string {
		out.take()
		f()
		return regexp.MustCompile(`(?m)^\S+ \S+ \S+ `).ReplaceAllString(out.take(), "")
	}
	if err := l.Apply([]Setting{{Module: Server, Enable: mask(t, "debug+")}, {Module: Default, Enable: mask(t, "error+")}}); err != nil {
		t.Fatal(err)
	}
	got := lines(func() { server.Debug().Msg("a"); policy.Warn().Msg("b"); policy.Error().Msg("c") })
	if want := "SERVER (debug) a k=v\nPOLICY (error) c\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// A set of levels may have gaps, and may add to what DEFAULT has.
	l.Apply([]Setting{{Module: Server, Enable: mask(t, "debug,default")}, {Module: Default, Enable: mask(t, "error+")}})
	got = lines(func() { server.Debug().Msg("a"); server.Info().Msg("b"); server.Error().Msg("c") })
	if want := "SERVER (debug) a k=v\nSERVER (error) c k=v\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	l.Apply(nil)
	if got := l.Levels(Server).String(); got != "info+" {
		t.Errorf("levels after Apply(nil): %s", got)
	}
	l.SetLevels(Server, *mask(t, "none"))
	if got := lines(func() { Critical(&server).Msg("x") }); got != "" {
		t.Errorf("none wrote %q", got)
	}
	if l.Enabled(Server, CriticalLevel) || !l.Enabled(Policy, Info) || l.Enabled(Policy, Debug) {
		t.Error("Enabled disagrees")
	}
}

func TestTheCommandLineHasTheLastWord(t *testing.T) {
	levels := AtLeast(Debug)
	out := new(bytes.Buffer)
	l := New(Options{Stderr: out, Levels: &levels})
	l.Apply([]Setting{{Module: Server, Enable: mask(t, "none")}})
	if !l.Enabled(Server, Debug) {
		t.Error("Apply overrode Options.Levels")
	}
	l.SetLevels(Server, *mask(t, "error+"))
	if l.Enabled(Server, Debug) {
		t.Error("SetLevels has no effect")
	}
}

func TestTimestampAndSource(t *testing.T) {
	l, out := newTest(Console)
	yes, no := true, false
	l.Apply([]Setting{{Module: Default, Timestamp: &no, Source: &yes}})
	log := l.Logger(Agent)
	log.Info().Msg("x")
	log.Info().Msgf("y %d", 1)
	log.Info().Send()
	if got := out.String(); !regexp.MustCompile(`^AGENT \(info\) x source=logging_test\.go:\d+
AGENT \(info\) y 1 source=logging_test\.go:\d+
AGENT \(info\) source=logging_test\.go:\d+
$`).MatchString(got) {
		t.Errorf("got %q", got)
	}
}

func TestFilesAreSharedAppendedAndReleased(t *testing.T) {
	l, out := newTest(Console)
	path := filepath.Join(t.TempDir(), "log")
	os.WriteFile(path, []byte("before\n"), 0o644)
	if err := l.Apply([]Setting{{Module: Server, Output: path}, {Module: Agent, Output: path}}); err != nil {
		t.Fatal(err)
	}
	server, agent := l.Logger(Server), l.Logger(Agent)
	server.Info().Msg("one")
	agent.Info().Msg("two")
	// A file that cannot be opened leaves all as it is.
	if err := l.Apply([]Setting{{Module: Server, Output: "/no/such/dir/log"}}); err == nil {
		t.Error("no error")
	}
	server.Info().Msg("three")
	l.Close()
	server.Info().Msg("four")
	data, _ := os.ReadFile(path)
	if got := strings.Count(string(data), "\n"); got != 4 || !strings.HasPrefix(string(data), "before\n") {
		t.Errorf("file:\n%s", data)
	}
	if !strings.Contains(out.String(), "four") {
		t.Errorf("after Close: %q", out.String())
	}
}

func TestWhatIsNotEnabledCostsNothing(t *testing.T) {
	l := Discard()
	log := l.Logger(Protocol)
	n := testing.AllocsPerRun(100, func() {
		log.Trace().Str("frame", "transfer").Int("channel", 1).Msg("x")
		if l.Enabled(Protocol, Trace) {
			t.Error("enabled")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestConcurrentUse(t *testing.T) {
	l := New(Options{Stderr: io.Discard})
	var wg sync.WaitGroup
	for range 4 {
		log := l.Logger(Server)
		wg.Go(func() {
			for range 200 {
				log.Info().Msg("x")
			}
		})
	}
	for i := range 50 {
		levels := AtLeast(Level(i % 3))
		if err := l.Apply([]Setting{{Module: Server, Enable: &levels, Output: filepath.Join(t.TempDir(), "log")}}); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	l.Close()
}

func TestModuleNames(t *testing.T) {
	for _, name := range ModuleNames() {
		if m, ok := ModuleNamed(name); !ok || m.String() != name {
			t.Errorf("%s: %v, %v", name, m, ok)
		}
	}
}

func BenchmarkDisabled(b *testing.B) {
	log := Discard().Logger(Protocol)
	for b.Loop() {
		log.Trace().Int("channel", 1).Msg("x")
	}
}

func BenchmarkEnabledCheck(b *testing.B) {
	l := Discard()
	for b.Loop() {
		l.Enabled(Protocol, Trace)
	}
}

func BenchmarkJSON(b *testing.B) {
	log := New(Options{Format: JSON, Stderr: io.Discard}).Logger(Server)
	b.ReportAllocs()
	for b.Loop() {
		log.Info().Int("connection", 1).Msg("x")
	}
}

var _ zerolog.Hook = (*gate)(nil)
