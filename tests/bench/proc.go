package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience is how long a process may take to start or to end.
const patience = 15 * time.Second

// A proc is a process that was started here.
type proc struct {
	addr string
	cmd  *exec.Cmd
	in   io.Closer // its end tells relays to end
	done chan struct{}

	mu  sync.Mutex // guards log
	log []string   // the last lines
}

const roleVariable = "SLUICE_BENCH_ROLE"

// startRouter starts a router and returns when it is ready. Took is how long
// that was.
func startRouter(ctx context.Context, binary string, args ...string) (p *proc, took time.Duration, err error) {
	start := time.Now()
	p, lines, err := launch(exec.CommandContext(ctx, binary, append([]string{"run"}, args...)...))
	if err != nil {
		return nil, 0, err
	}
	err = p.await(lines, func(line string) bool {
		if _, rest, ok := strings.Cut(line, "Listening on "); ok && p.addr == "" {
			p.addr, _, _ = strings.Cut(rest, " ")
		}
		return strings.Contains(line, "router ready")
	})
	return p, time.Since(start), err
}

// startRole starts this program again as a relay.
func startRole(ctx context.Context, role string) (*proc, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	// Built with the race detector, a process would wait a second before it ends.
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
	p, lines, err := launch(cmd)
	if err != nil {
		return nil, err
	}
	err = p.await(lines, func(line string) bool {
		p.addr = strings.TrimSpace(line)
		return true
	})
	return p, err
}

func launch(cmd *exec.Cmd) (*proc, <-chan string, error) {
	p := &proc{cmd: cmd, done: make(chan struct{})}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	p.in, cmd.Stdout, cmd.Stderr = in, w, w
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	lines := make(chan string, 16)
	go func() {
		defer r.Close()
		defer close(lines)
		for in := bufio.NewScanner(r); in.Scan(); {
			p.mu.Lock()
			p.log = append(p.log, in.Text())
			p.log = p.log[max(0, len(p.log)-20):]
			p.mu.Unlock()
			select {
			case lines <- in.Text():
			default: // nobody waits for it
			}
		}
	}()
	go func() {
		cmd.Wait()
		close(p.done)
	}()
	return p, lines, nil
}

// await reads lines until ok; otherwise it ends the process.
func (p *proc) await(lines <-chan string, ok func(string) bool) error {
	late := time.After(patience)
	for {
		select {
		case line, more := <-lines:
			if more && ok(line) {
				return nil
			}
			if !more {
				p.stop()
				return fmt.Errorf("%s has ended: %s", p.cmd.Path, p.tail())
			}
		case <-late:
			p.stop()
			return fmt.Errorf("%s is not ready: %s", p.cmd.Path, p.tail())
		}
	}
}

func (p *proc) tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log, "\n")
}

// stop ends the process.
func (p *proc) stop() {
	p.in.Close()
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		p.cmd.Process.Kill()
		<-p.done
	}
}

func (p *proc) pid() int { return p.cmd.Process.Pid }

// ticks is the unit of /proc/PID/stat: USER_HZ is 100 on every Linux.
const ticks = 10 * time.Millisecond

// cpuOf is the processor time that a process has used.
func cpuOf(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold blanks.
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * ticks
}

// memoryOf is the resident memory of a process, and the most that it has been.
func memoryOf(pid int) (rss, peak int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kb, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			rss = kb << 10
		case "VmHWM:":
			peak = kb << 10
		}
	}
	return rss, peak
}

// meter measures a process; none if pid is 0.
func meter(pid int) func() (time.Duration, int64) {
	if pid == 0 {
		return nil
	}
	return func() (time.Duration, int64) {
		_, peak := memoryOf(pid)
		return cpuOf(pid), peak
	}
}

// forgetPeak begins a new measurement of the peak of a process, where the
// kernel allows it.
func forgetPeak(pid int) { os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) }

// serveRole runs as a relay if this process was started as one.
func serveRole() bool {
	role := os.Getenv(roleVariable)
	if role == "" {
		return false
	}
	go func() {
		io.Copy(io.Discard, os.Stdin) // until the parent ends
		os.Exit(0)
	}()
	var err error
	switch role {
	case "relay":
		err = serveRelay(os.Stdout)
	case "floor":
		err = serveFloor(os.Stdout, narrow)
	case "wide floor":
		err = serveFloor(os.Stdout, wide)
	default:
		err = errors.New("unknown role " + role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}
