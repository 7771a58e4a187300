package harness

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Sample is what a router uses at one moment.
type Sample struct {
	RSS        int64 // resident bytes
	Peak       int64 // the most resident bytes so far
	CPU        time.Duration
	FDs        int
	Goroutines int
	Metrics    map[string]float64 // by name with labels, as /metrics writes them
}

// Sample measures the router. It uses the router's HTTP listener if there is
// one.
func (b *Binary) Sample() Sample {
	b.t.Helper()
	s := Sample{}
	s.RSS, s.Peak = b.resident()
	s.CPU = b.cpu()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", b.cmd.Process.Pid))
	if err != nil {
		b.t.Fatal(err)
	}
	s.FDs = len(fds)
	if len(b.HTTP) > 0 {
		s.Metrics = b.Metrics()
		s.Goroutines = int(s.Metrics["go_goroutines"])
	}
	return s
}

// CPU is the processor time used so far.
func (b *Binary) CPU() time.Duration { return b.cpu() }

// RSS is the resident memory in bytes.
func (b *Binary) RSS() int64 {
	rss, _ := b.resident()
	return rss
}

// ResetPeak begins a new measurement of Sample.Peak.
func (b *Binary) ResetPeak() {
	// Where the kernel does not allow it the peak is that of the whole life.
	os.WriteFile(filepath.Join("/proc", strconv.Itoa(b.cmd.Process.Pid), "clear_refs"), []byte("5"), 0)
}

func (b *Binary) resident() (rss, peak int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.cmd.Process.Pid))
	if err != nil {
		b.t.Fatal(err)
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

// ticks is the unit of /proc/PID/stat: USER_HZ is 100 on every Linux.
const ticks = 10 * time.Millisecond

func (b *Binary) cpu() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.cmd.Process.Pid))
	if err != nil {
		b.t.Fatal(err)
	}
	// The name in parentheses may hold blanks.
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * ticks
}

// Metrics reads /metrics.
func (b *Binary) Metrics() map[string]float64 {
	b.t.Helper()
	res, err := http.Get("http://" + b.HTTP[0] + "/metrics")
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		b.t.Fatalf("/metrics: %s\n%s", res.Status, text)
	}
	m := map[string]float64{}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		line := lines.Text()
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		if v, err := strconv.ParseFloat(line[i+1:], 64); err == nil {
			m[line[:i]] = v
		}
	}
	return m
}

// Metric reads one metric.
func (b *Binary) Metric(name string) float64 {
	b.t.Helper()
	v, ok := b.Metrics()[name]
	if !ok {
		b.t.Fatalf("there is no metric %s", name)
	}
	return v
}

// WaitMetric waits until a metric meets a condition, and returns it.
func (b *Binary) WaitMetric(name, want string, ok func(float64) bool) float64 {
	b.t.Helper()
	var v float64
	if !Eventually(Patience, func() bool { v = b.Metric(name); return ok(v) }) {
		b.t.Fatalf("%s is %v, want %s", name, v, want)
	}
	return v
}

// Eventually asks until ok or the time is over: for what sends no event, such
// as the memory of another process.
func Eventually(patience time.Duration, ok func() bool) bool {
	end := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
}

// A Sampler measures resident memory again and again.
type Sampler struct {
	stop chan struct{}
	wg   sync.WaitGroup

	mu   sync.Mutex
	peak int64
}

// SampleRSS begins to measure the resident memory at intervals.
func (b *Binary) SampleRSS(every time.Duration) *Sampler {
	s := &Sampler{stop: make(chan struct{})}
	s.wg.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			rss, _ := b.resident()
			s.mu.Lock()
			s.peak = max(s.peak, rss)
			s.mu.Unlock()
			select {
			case <-t.C:
			case <-s.stop:
				return
			}
		}
	})
	return s
}

// Stop ends the measurement and returns the most that was seen.
func (s *Sampler) Stop() int64 {
	close(s.stop)
	s.wg.Wait()
	return s.peak
}
