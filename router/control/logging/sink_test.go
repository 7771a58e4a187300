package logging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is an output that takes nothing until it is let go.
type stuck struct {
	release chan struct{}
	mu      sync.Mutex
	text    strings.Builder
}

func newStuck() *stuck { return &stuck{release: make(chan struct{})} }

func (s *stuck) Write(p []byte) (int, error) {
	<-s.release
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *stuck) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Nobody waits for an output: what does not fit is lost and counted, in order.
func TestAFullQueueLosesLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newStuck()
		no := false
		l := New(Options{Stderr: out})
		l.Apply([]Setting{{Module: Default, Timestamp: &no}})
		log := l.Logger(Server)
		log.Info().Msg("first")
		synctest.Wait() // it is being written
		const sent = 20000
		for i := range sent {
			log.Info().Int("i", i).Str("pad", strings.Repeat("x", 100)).Msg("next")
		}
		lost := int(l.Lost())
		if lost == 0 || lost == sent {
			t.Fatalf("%d lines lost", lost)
		}
		close(out.release)
		synctest.Wait()
		log.Info().Msg("last")
		synctest.Wait()
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		kept := sent - lost
		if len(lines) != kept+3 {
			t.Fatalf("%d lines for %d of %d kept", len(lines), kept, sent)
		}
		for i, line := range lines {
			want := fmt.Sprintf("SERVER (info) next i=%d ", i-1)
			switch i {
			case 0:
				want = "SERVER (info) first"
			case kept + 1:
				want = fmt.Sprintf("ROUTER (warning) %d log lines were lost: the log could not be written fast enough", lost)
			case kept + 2:
				want = "SERVER (info) last"
			}
			if !strings.HasPrefix(line, want) {
				t.Fatalf("line %d: %.100q, want %q", i, line, want)
			}
		}
		if got := int(l.Lost()); got != lost {
			t.Errorf("%d lines lost in the end, %d before", got, lost)
		}
	})
}

// What a stuck output holds is bounded, but a line is never too long by itself.
func TestOneLongLineFits(t *testing.T) {
	l, out := newTest(JSON)
	log := l.Logger(Server)
	log.Info().Str("pad", strings.Repeat("x", 2*queueLimit)).Msg("long")
	if got := out.String(); len(got) < 2*queueLimit || !strings.HasSuffix(got, "}\n") {
		t.Errorf("%d bytes written", len(got))
	}
}

func TestCloseWaitsASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newStuck()
		l := New(Options{Stderr: out, Stdout: out})
		if err := l.Apply([]Setting{{Module: Agent, Output: "stdout"}}); err != nil {
			t.Fatal(err)
		}
		log, other := l.Logger(Server), l.Logger(Agent)
		log.Info().Msg("x")
		other.Info().Msg("y")
		began := time.Now()
		l.Close()
		if d := time.Since(began); d != time.Second {
			t.Errorf("Close took %v", d)
		}
		began = time.Now()
		Critical(&log).Msg("z")
		if d := time.Since(began); d != time.Second {
			t.Errorf("a critical line took %v", d)
		}
		close(out.release)
		synctest.Wait()
		if got := out.String(); !strings.Contains(got, " x\n") || !strings.Contains(got, " y\n") || !strings.Contains(got, " z\n") {
			t.Errorf("written: %q", got)
		}
	})
}

// A critical line is there when Msg returns, however full the queue is.
func TestCriticalLinesAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newStuck()
		l := New(Options{Stderr: out})
		log := l.Logger(Server)
		for l.Lost() == 0 {
			log.Info().Str("pad", strings.Repeat("x", 1000)).Msg("x")
		}
		time.AfterFunc(time.Second/2, func() { close(out.release) })
		Critical(&log).Msg("the end")
		if !strings.Contains(out.String(), "(critical) the end\n") {
			t.Error("not written")
		}
	})
}

// Nothing runs when there is nothing to write: synctest.Test waits for every
// goroutine.
func TestNoGoroutineIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Stderr: io.Discard, Stdout: io.Discard})
		l.Apply([]Setting{{Module: Agent, Output: "stdout"}, {Module: Server, Output: filepath.Join(t.TempDir(), "log")}})
		for _, m := range []Module{Agent, Server, Router} {
			log := l.Logger(m)
			log.Info().Msg("x")
		}
		l.Apply(nil)
	})
}

// Lines that wait for a file come into that file, also when the output changes.
func TestAFileGetsWhatWaitsForIt(t *testing.T) {
	l, out := newTest(Console)
	path := filepath.Join(t.TempDir(), "log")
	if err := l.Apply([]Setting{{Module: Server, Output: path}}); err != nil {
		t.Fatal(err)
	}
	log := l.Logger(Server)
	sk := l.sinks[path]
	for range 1000 {
		log.Info().Msg("x")
	}
	l.Apply(nil)
	sk.flush(context.Background())
	data, _ := os.ReadFile(path)
	if n := strings.Count(string(data), "\n"); n != 1000 {
		t.Errorf("%d lines in the file", n)
	}
	if sk.file != nil {
		t.Error("the file is open")
	}
	sk.add([]byte(`{"level":"info","message":"late"}`+"\n"), false)
	if got := out.String(); !strings.HasSuffix(got, "(info) late\n") {
		t.Errorf("a late line: %q", got)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestAnOutputThatFails(t *testing.T) {
	out := new(output)
	l := New(Options{Stderr: out, Stdout: broken{}, Now: func() time.Time { return at }})
	out.logs = l
	l.Apply([]Setting{{Module: Server, Output: "stdout"}})
	log := l.Logger(Server)
	for range 3 {
		log.Info().Msg("x")
		l.sinks["stdout"].flush(context.Background())
	}
	if got := out.String(); strings.Count(got, "ROUTER (warning) log lines are lost: no space left\n") != 1 {
		t.Errorf("stderr: %q", got)
	}
	if l.Lost() != 3 {
		t.Errorf("%d lost", l.Lost())
	}
}

func TestWholeLines(t *testing.T) {
	long := strings.Repeat("x", writeSize)
	for text, want := range map[string]int{
		"":                           0,
		"a\nb\n":                     4,
		"a\n" + long + "\n":          2,
		long + "\nb\n":               writeSize + 1,
		long:                         writeSize,
		long + "y":                   writeSize + 1,
		long[:writeSize-1] + "\nb\n": writeSize,
	} {
		if got := wholeLines([]byte(text)); got != want {
			t.Errorf("%d bytes: %d, want %d", len(text), got, want)
		}
	}
}

func BenchmarkManyWriters(b *testing.B) {
	log := New(Options{Stderr: io.Discard}).Logger(Server)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			log.Info().Int("connection", 1).Msg("x")
		}
	})
}

// A file that was renamed is let go of by a reload, which makes another of its name.
// Modules of which the configuration says nothing new keep what they have.
func TestReloadOpensFilesAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "router.log")
	l := New(Options{Stderr: io.Discard})
	if err := l.Apply([]Setting{{Module: Default, Output: path}}); err != nil {
		t.Fatal(err)
	}
	debug, warn := AtLeast(Debug), AtLeast(Warning)
	if err := l.Set(Setting{Module: HTTP, Enable: &debug}); err != nil {
		t.Fatal(err)
	}
	log := l.Logger(Server)
	log.Info().Msg("before")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := l.Reload([]Setting{{Module: Agent, Output: filepath.Join(path, "no", "file")}}); err == nil {
		t.Error("a file that cannot be opened was taken")
	}
	if err := l.Reload([]Setting{{Module: Agent, Enable: &warn}}); err != nil {
		t.Fatal(err)
	}
	log.Info().Msg("after")
	if !l.Enabled(HTTP, Debug) || l.Enabled(Agent, Info) {
		t.Error("HTTP should have debug+ still, and AGENT warning+")
	}
	l.Close()
	for name, want := range map[string]string{path + ".1": "before", path: "after"} {
		text, err := os.ReadFile(name)
		if err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), want) {
			t.Errorf("%s has %q, %v; want %s", name, text, err, want)
		}
	}
}
