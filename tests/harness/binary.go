package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is how long tests wait for what should happen at once. It is long
// because machines that build and test in parallel are slow.
const Patience = 60 * time.Second

// A Binary is a router that runs as a process of its own.
type Binary struct {
	// AMQP and HTTP are the addresses that it listens on, in the order of the
	// configuration.
	AMQP, HTTP []string

	t    testing.TB
	cmd  *exec.Cmd
	dir  string
	done chan struct{} // closed when the process has ended
	err  error         // of Wait; valid after done

	mu      sync.Mutex // guards the fields below
	changed chan struct{}
	log     strings.Builder
	stopped bool
}

// An Option changes how a Binary is started.
type Option func(*starting)

type starting struct {
	args   []string
	env    []string
	binary string
	dir    string
}

// Args adds arguments to those of "sluice run".
func Args(args ...string) Option { return func(s *starting) { s.args = append(s.args, args...) } }

// Env adds variables (NAME=VALUE) to the environment.
func Env(env ...string) Option { return func(s *starting) { s.env = append(s.env, env...) } }

// Race takes the binary that is built with -race and poisoned buffers.
func Race(t testing.TB) Option {
	path := build(t, "SLUICE_RACE_BIN", "-race", "-tags", "poison")
	return func(s *starting) { s.binary = path }
}

// Dir sets the folder of the configuration; paths in it are relative to it.
func Dir(dir string) Option { return func(s *starting) { s.dir = dir } }

// Loopback is the smallest configuration: AMQP and HTTP on free ports.
var Loopback = Listeners("")

// Listeners is a configuration with one AMQP listener that has the given
// attributes, one line each, and HTTP. More entities may follow.
func Listeners(attributes string, more ...string) string {
	return "router {\n id: test\n}\nlistener {\n host: 127.0.0.1\n port: 0\n" + attributes + "\n}\n" +
		"listener {\n host: 127.0.0.1\n port: 0\n http: yes\n}\n" + strings.Join(more, "\n")
}

// Path returns the binary: the one that SLUICE_BIN names, or one that is built
// now, once for a test process.
func Path(t testing.TB) string { return build(t, "SLUICE_BIN") }

var builds struct {
	mu   sync.Mutex
	done map[string]string
	dir  string
}

// Cleanup removes what was built. TestMain calls it.
func Cleanup() {
	builds.mu.Lock()
	defer builds.mu.Unlock()
	if builds.dir != "" {
		os.RemoveAll(builds.dir)
		builds.dir, builds.done = "", nil
	}
}

func build(t testing.TB, variable string, flags ...string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	builds.mu.Lock()
	defer builds.mu.Unlock()
	if path := builds.done[variable]; path != "" {
		return path
	}
	if builds.dir == "" {
		dir, err := os.MkdirTemp("", "sluice-bin-")
		if err != nil {
			t.Fatal(err)
		}
		builds.dir, builds.done = dir, map[string]string{}
	}
	path := filepath.Join(builds.dir, variable)
	args := append(append([]string{"build"}, flags...), "-o", path, "./cmd/sluice")
	cmd := exec.Command("go", args...)
	cmd.Dir = Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, out)
	}
	builds.done[variable] = path
	return path
}

// Root is the folder of the module.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// Start runs the binary with a configuration in the syntax of .conf files and
// returns when it is ready. When the test ends it is stopped, which must
// succeed.
func Start(t testing.TB, config string, options ...Option) *Binary {
	t.Helper()
	b, err := start(t, config, options...)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Log())
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := b.wait(ctx, "router ready"); err != nil {
		b.cmd.Process.Kill()
		t.Fatalf("the router did not become ready: %v\n%s", err, b.Log())
	}
	for line := range strings.Lines(b.Log()) {
		if _, rest, ok := strings.Cut(line, "Listening for HTTP on "); ok {
			b.HTTP = append(b.HTTP, firstWord(rest))
		} else if _, rest, ok := strings.Cut(line, "Listening on "); ok {
			b.AMQP = append(b.AMQP, firstWord(rest))
		}
	}
	t.Cleanup(func() {
		b.Stop()
		if t.Failed() || os.Getenv("SLUICE_LOG") != "" {
			t.Logf("log of the router:\n%s", tail(b.Log(), 8<<10))
		}
	})
	return b
}

// Fail runs the binary with a configuration that must not start. It returns the
// exit status and what was printed.
func Fail(t testing.TB, config string, options ...Option) (status int, output string) {
	t.Helper()
	b, err := start(t, config, options...)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.done:
	case <-time.After(Patience):
		b.cmd.Process.Kill()
		t.Fatalf("it goes on running\n%s", b.Log())
	}
	return b.cmd.ProcessState.ExitCode(), b.Log()
}

func start(t testing.TB, config string, options ...Option) (*Binary, error) {
	s := starting{}
	for _, o := range options {
		o(&s)
	}
	if s.binary == "" {
		s.binary = Path(t)
	}
	if s.dir == "" {
		s.dir = t.TempDir()
	}
	b := &Binary{t: t, dir: s.dir, done: make(chan struct{}), changed: make(chan struct{})}
	file := filepath.Join(s.dir, "router.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return b, err
	}
	b.cmd = exec.Command(s.binary, append([]string{"run", "-c", file}, s.args...)...)
	b.cmd.Dir = s.dir
	b.cmd.Env = append(os.Environ(), s.env...)
	r, w, err := os.Pipe()
	if err != nil {
		return b, err
	}
	b.cmd.Stdout, b.cmd.Stderr = w, w
	err = b.cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return b, err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.collect(r)
	}()
	go func() {
		<-read // all that was logged is there before done
		b.err = b.cmd.Wait()
		close(b.done)
	}()
	return b, nil
}

// collect keeps what the process prints, and tells those who wait for a line.
func (b *Binary) collect(r io.ReadCloser) {
	defer r.Close()
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			b.mu.Lock()
			b.log.WriteString(line)
			close(b.changed)
			b.changed = make(chan struct{})
			b.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// Config replaces the configuration file; SIGHUP puts it in force.
func (b *Binary) Config(text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, "router.conf"), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// URL is the URL of the first AMQP listener.
func (b *Binary) URL() string { return "amqp://" + b.AMQP[0] }

// Addr is the address of the first AMQP listener.
func (b *Binary) Addr() string { return b.AMQP[0] }

// Log returns what the process has printed so far.
func (b *Binary) Log() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}

// WaitLog waits until the process has printed text n times.
func (b *Binary) WaitLog(text string, n int) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := b.waitTimes(ctx, text, n); err != nil {
		b.t.Fatalf("no %q in the log: %v\n%s", text, err, tail(b.Log(), 4<<10))
	}
}

func (b *Binary) wait(ctx context.Context, text string) error { return b.waitTimes(ctx, text, 1) }

func (b *Binary) waitTimes(ctx context.Context, text string, n int) error {
	for {
		b.mu.Lock()
		found := strings.Count(b.log.String(), text) >= n
		changed := b.changed
		b.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-changed:
		case <-b.done:
			if strings.Count(b.Log(), text) >= n {
				return nil
			}
			return fmt.Errorf("the process has ended: %v", b.err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Signal sends a signal.
func (b *Binary) Signal(s syscall.Signal) {
	b.t.Helper()
	if err := b.cmd.Process.Signal(s); err != nil {
		b.t.Errorf("signal %v: %v", s, err)
	}
}

// Stop shuts the process down in order: SIGTERM, exit status 0. What the race
// detector found is an error.
func (b *Binary) Stop() {
	b.t.Helper()
	b.mu.Lock()
	stopped := b.stopped
	b.stopped = true
	b.mu.Unlock()
	if stopped {
		return
	}
	b.cmd.Process.Signal(syscall.SIGTERM)
	b.Wait()
}

// Wait waits for the end of the process, which must be in order.
func (b *Binary) Wait() {
	b.t.Helper()
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	select {
	case <-b.done:
	case <-time.After(Patience):
		b.cmd.Process.Signal(syscall.SIGQUIT) // prints all goroutines
		<-b.done
		b.t.Errorf("the router did not stop\n%s", tail(b.Log(), 32<<10))
		return
	}
	var exit *exec.ExitError
	switch {
	case errors.As(b.err, &exit):
		b.t.Errorf("the router ended with %v\n%s", exit, tail(b.Log(), 16<<10))
	case b.err != nil:
		b.t.Error(b.err)
	}
	if strings.Contains(b.Log(), "DATA RACE") {
		b.t.Errorf("data race\n%s", b.Log())
	}
}

// Kill ends the process as a crash would.
func (b *Binary) Kill() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.cmd.Process.Kill()
	<-b.done
}

func firstWord(s string) string {
	f := strings.Fields(s)
	if len(f) == 0 {
		return ""
	}
	return f[0]
}

func tail(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}
