package logging

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func quiet(o Options) *Logs {
	o.Stderr, o.Stdout = io.Discard, io.Discard
	return New(o)
}

// What was written is kept with its module, level, fields and time; what was not
// enabled is not.
func TestRecent(t *testing.T) {
	at := time.Unix(1796011758, 0)
	l := quiet(Options{Now: func() time.Time { return at }})
	defer l.Close()
	log := l.Logger(Server)
	log.Debug().Msg("not enabled")
	log.Info().Str("peer", "p").Int("n", 3).Msg("hello there")
	agent := l.Logger(Agent)
	Notice(&agent).Msg("")
	got := l.Recent(10)
	want := []Line{
		{Module: Server, Level: Info, Time: at, Text: "hello there peer=p n=3"},
		{Module: Agent, Level: NoticeLevel, Time: at},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := l.Recent(1); len(got) != 1 || got[0].Module != Agent {
		t.Errorf("the last one is %v", got)
	}
	if got := l.Recent(-1); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if c := l.Counts(Server); c[Info] != 1 || c[Debug] != 0 {
		t.Errorf("counts %v", c)
	}
	if c := l.Counts(Agent); c[NoticeLevel] != 1 {
		t.Errorf("counts %v", c)
	}
}

// The place is that of the line, where the module writes it.
func TestRecent_Source(t *testing.T) {
	l := quiet(Options{})
	defer l.Close()
	yes := true
	if err := l.Set(Setting{Module: Server, Source: &yes}); err != nil {
		t.Fatal(err)
	}
	log := l.Logger(Server)
	log.Info().Msg("here")
	if got := l.Recent(1); got[0].File != "recent_test.go" || got[0].Line == 0 || got[0].Text != "here" {
		t.Errorf("got %+v", got[0])
	}
}

// A thousand lines are kept, and a mebibyte, however long the lines are.
func TestRecent_Bounds(t *testing.T) {
	l := quiet(Options{})
	defer l.Close()
	log := l.Logger(Server)
	for i := range 2500 {
		log.Info().Msgf("line %d", i)
	}
	got := l.Recent(5000)
	if len(got) != recentLines || got[0].Text != "line 1500" || got[999].Text != "line 2499" {
		t.Errorf("%d lines from %q", len(got), got[0].Text)
	}
	long := strings.Repeat("x", 2*recentLine)
	for range 1500 {
		log.Info().Str("long", long).Msg("a long line")
	}
	if n := l.recent.bytes; n > recentBytes {
		t.Errorf("%d bytes are kept", n)
	}
	if got := l.Recent(5000); len(got) != recentBytes/recentLine {
		t.Errorf("%d lines are kept", len(got))
	}
}

// Set changes one module; what cannot be opened changes nothing.
func TestSet(t *testing.T) {
	all := AtLeast(Trace)
	l := quiet(Options{Levels: &all})
	defer l.Close()
	warn := AtLeast(Warning)
	if err := l.Set(Setting{Module: HTTP, Enable: &warn}); err != nil {
		t.Fatal(err)
	}
	if l.Enabled(HTTP, Info) || !l.Enabled(HTTP, Warning) || !l.Enabled(Server, Trace) {
		t.Error("HTTP should have warning+, and the others what they had")
	}
	debug := AtLeast(Debug)
	if err := l.Set(Setting{Module: HTTP, Enable: &debug, Output: filepath.Join(t.TempDir(), "no", "such", "folder")}); err == nil {
		t.Error("a file that cannot be opened was taken")
	}
	if l.Enabled(HTTP, Info) || *l.Setting(HTTP).Enable != warn {
		t.Error("a refused setting has had an effect")
	}
}
