package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/router/control/config"
	"sluice/router/control/logging"
)

func TestFlagsFirst(t *testing.T) {
	app := newApp(&bytes.Buffer{}, &bytes.Buffer{})
	for in, want := range map[string]string{
		"":                            "",
		"send":                        "send",
		"send q hi":                   "send -- q hi",
		"send q hi --count 3":         "send --count 3 -- q hi",
		"send q --count=3 hi":         "send --count=3 -- q hi",
		"send q -n 3 --presettled hi": "send -n 3 --presettled -- q hi",
		"send q -- --count":           "send -- q --count",
		"send q --file -":             "send --file - -- q",
		"send q -":                    "send -- q -",
		"send --count":                "send --count",
		"nonsense a --b":              "nonsense a --b",
		"send q -n3 hi":               "send -n 3 -- q hi",
		"send q -n=3 hi":              "send -n=3 -- q hi",
		"run -cx.conf":                "run -c x.conf",
		"send q -q hi":                "send -q -- q hi",
		"send q --to":                 "send --to",
		"stat links --watch":          "stat --watch -- links",
		"stat --watch 5 links":        "stat --watch=5 -- links",
		"stat --watch links":          "stat --watch -- links",
		"stat -l --watch=1s q":        "stat -l --watch=1s -- q",
		"help":                        "--help",
		"help send":                   "send --help",
	} {
		got := flagsFirst(app, append([]string{"sluice"}, strings.Fields(in)...))
		if strings.Join(got[1:], " ") != want {
			t.Errorf("%q: %q, want %q", in, got[1:], want)
		}
	}
}

// Command lines of qdrouterd, qdstat and qdmanage mean what they did, or it is said
// what is not there.
func TestFormerCommandLines(t *testing.T) {
	app := newApp(&bytes.Buffer{}, &bytes.Buffer{})
	for in, want := range map[string]string{
		"-c x.conf":                      "run -c x.conf",
		"--config=x.conf":                "run --config=x.conf",
		"stat -b h:1 -l":                 "stat --url=h:1 -l",
		"stat -b=h -t 5 -r A":            "stat --url=h -t 5s -r A",
		"stat -l -- -b":                  "stat -l -- -b",
		"stat --all-routers -v -n":       "stat --all --wide -n",
		"stat --timeout=2.5 -c":          "stat --timeout=2.5s -c",
		"stat --filter -b -l":            "stat --filter -b -l",
		"manage -b h query --type log":   "manage --url=h query --type log",
		"manage --bus h --ssl-key k":     "manage --url=amqps://h --key=k",
		"manage --sasl-mechanisms PLAIN": "manage --sasl=plain",
		"manage --ssl-password-file f --ssl-disable-peer-name-verify query": "manage --key-password=file:f --no-hostname query",
		"manage --sasl-mechanisms=DIGEST-MD5,EXTERNAL --sasl-username u":    "manage --sasl=external --user=u",
		"send q -b": "send q -b",
		"":          "",
	} {
		got, err := modern(app, append([]string{"sluice"}, strings.Fields(in)...))
		if err != nil || strings.Join(got[1:], " ") != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"stat --linkroutes":    "there are no link routes",
		"stat --csv -l":        "--json prints",
		"run -d -c x.conf":     "stays in the foreground",
		"-c x.conf -d":         "stays in the foreground",
		"-d -c x.conf":         "stays in the foreground",
		"manage query --bus":   "--bus needs a value",
		"run -I /usr/lib/qpid": "leave it out",
	} {
		if _, err := modern(app, append([]string{"sluice"}, strings.Fields(in)...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// Percentiles are within the width of a bucket of the exact ones.
func TestHistogramIsLikeASortedList(t *testing.T) {
	var a, b histogram
	var all []time.Duration
	for i := range 20000 {
		d := time.Duration(rand.Int64N(1 << rand.IntN(40)))
		all = append(all, d)
		if i%2 == 0 {
			a.add(d)
		} else {
			b.add(d)
		}
	}
	a.merge(&b)
	slices.Sort(all)
	for _, p := range []float64{.001, .5, .9, .99, .999, 1} {
		exact := all[max(0, int(p*float64(len(all))+.999999)-1)]
		got := a.percentile(p)
		if diff := (got - exact).Abs(); diff > exact/subBuckets+1 {
			t.Errorf("p%v: %v, want %v", p*100, got, exact)
		}
	}
	if a.max != all[len(all)-1] || a.n != uint64(len(all)) {
		t.Errorf("max %v, n %d", a.max, a.n)
	}
	if new(histogram).percentile(.5) != 0 {
		t.Error("an empty histogram has a median")
	}
	a.add(1<<63 - 1) // does not panic
	a.add(-1)
}

func TestSequence(t *testing.T) {
	var s sequence
	for _, n := range []uint64{0, 1, 3, 2, 3, 200, 1 << 40} {
		s.see(n)
	}
	if s.distinct != 5 || s.duplicates != 1 || s.disorder != 2 || s.next != 201 {
		t.Errorf("%+v", s)
	}
}

func TestLimit(t *testing.T) {
	now := time.Unix(1000, 0)
	l := newLimit(10)
	for i := range 5 {
		if got, want := l.wait(now), time.Duration(i)*100*time.Millisecond; got != want {
			t.Errorf("event %d: wait %v, want %v", i, got, want)
		}
	}
	// Who is late catches up.
	if got := l.wait(now.Add(time.Second)); got != -500*time.Millisecond {
		t.Errorf("late: %v", got)
	}
	none := newLimit(0)
	if none.wait(now) != 0 {
		t.Error("no limit waits")
	}
}

// fakeRouter is a process that ends only when told.
type fakeRouter struct {
	started  chan struct{}
	stopping chan struct{}
	end      chan error
	reloads  chan *config.Config
}

func (f *fakeRouter) Run(ctx context.Context) error {
	close(f.started)
	<-ctx.Done()
	close(f.stopping)
	return <-f.end
}

func (f *fakeRouter) Reload(c *config.Config) (applied, restart []string, err error) {
	f.reloads <- c
	return []string{"the taste"}, []string{"the colour"}, nil
}

func (f *fakeRouter) LogsChanged() {}

// syncBuffer is a buffer that may be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// runFake runs "sluice run" with a fake router. Not for parallel tests: signals
// are for the whole process.
func runFake(t *testing.T, args ...string) (f *fakeRouter, log *syncBuffer, status chan int) {
	t.Helper()
	f = &fakeRouter{make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan *config.Config, 1)}
	old := assemble
	t.Cleanup(func() { assemble = old })
	assemble = func(*config.Config, *logging.Logs) (process, error) { return f, nil }
	log, status = new(syncBuffer), make(chan int, 1)
	go func() { status <- sluice(append([]string{"sluice", "run"}, args...), log, log) }()
	<-f.started
	return f, log, status
}

func kill(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		t.Fatal(err)
	}
}

func TestFirstSignalEndsInOrder(t *testing.T) {
	f, _, status := runFake(t)
	kill(t, syscall.SIGTERM)
	<-f.stopping
	f.end <- nil
	if got := <-status; got != exitOK {
		t.Errorf("exit status %d", got)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	f, log, status := runFake(t)
	kill(t, syscall.SIGINT)
	<-f.stopping
	kill(t, syscall.SIGINT)
	if got := <-status; got != 130 {
		t.Errorf("exit status %d", got)
	}
	if !strings.Contains(log.String(), "ending at once") {
		t.Errorf("log:\n%s", log)
	}
	f.end <- nil
}

func TestARouterThatFails(t *testing.T) {
	f, log, status := runFake(t)
	kill(t, syscall.SIGTERM)
	<-f.stopping
	f.end <- errors.New("the deadline passed")
	if got := <-status; got != exitFailed || !strings.Contains(log.String(), "sluice: the deadline passed") {
		t.Errorf("exit status %d, log:\n%s", got, log)
	}
}

// A reload keeps what was generated or found at the start, so that it does not
// look like a change.
func TestReloadKeepsTheID(t *testing.T) {
	file := t.TempDir() + "/router.conf"
	os.WriteFile(file, []byte("listener {\nhost: ::1\n}\n"), 0o600)
	f, log, status := runFake(t, "-c", file)
	kill(t, syscall.SIGHUP)
	first := <-f.reloads
	kill(t, syscall.SIGHUP)
	second := <-f.reloads
	if first.Router.ID != second.Router.ID || !strings.HasPrefix(first.Router.ID, "Standalone_") {
		t.Errorf("ids %q and %q", first.Router.ID, second.Router.ID)
	}
	kill(t, syscall.SIGTERM)
	<-f.stopping
	f.end <- nil
	<-status
	if !strings.Contains(log.String(), "needs a restart: the colour") {
		t.Errorf("log:\n%s", log)
	}
}

func TestProfilesAreForThisMachineOnly(t *testing.T) {
	f, log, status := runFake(t, "--pprof", "127.0.0.1:0", "--log-format", "json")
	// A log is written by a goroutine of its own.
	var addr string
	for deadline := time.Now().Add(30 * time.Second); addr == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("log:\n%s", log)
		}
		_, after, _ := strings.Cut(log.String(), `"address":"`)
		addr, _, _ = strings.Cut(after, `"`)
	}
	r, err := http.Get("http://" + addr + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(r.Body)
	r.Body.Close()
	if r.StatusCode != http.StatusOK || !strings.Contains(string(body), "goroutine profile") {
		t.Errorf("%s: %.100s", r.Status, body)
	}
	kill(t, syscall.SIGTERM)
	<-f.stopping
	f.end <- nil
	<-status
	for _, addr := range []string{"0.0.0.0:0", ":6060", "192.0.2.1:1", "x"} {
		out := new(syncBuffer)
		if got := sluice([]string{"sluice", "run", "--pprof", addr}, out, out); got != exitUsage {
			t.Errorf("%s: exit status %d, %s", addr, got, out)
		}
	}
}
