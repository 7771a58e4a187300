package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"
)

// reporter shows what a command does: once a second on stderr, and at the end.
// With --json it prints one JSON object a line, on stdout, instead.
type reporter struct {
	verb   string // sent, received
	json   bool
	quiet  bool
	person bool // stderr is a terminal
	stdout *lineWriter
	stderr io.Writer
	start  time.Time

	messages atomic.Uint64 // done so far
	bytes    atomic.Uint64
}

// lineWriter is a writer that several goroutines may write lines to.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func newReporter(c *cli.Context, verb string) *reporter {
	return &reporter{
		verb: verb, json: c.Bool("json"), quiet: c.Bool("quiet"),
		stdout: &lineWriter{w: c.App.Writer}, stderr: c.App.ErrWriter, start: time.Now(),
		person: onTerminal(c.App.ErrWriter),
	}
}

func reportFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "json", Usage: "print JSON, one object a line, on stdout"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress, only the result"},
	}
}

func (r *reporter) count(messages, bytes int) {
	r.messages.Add(uint64(messages))
	r.bytes.Add(uint64(bytes))
}

// object prints a JSON line.
func (r *reporter) object(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic("BUG: a report that is no JSON: " + err.Error())
	}
	r.stdout.Write(append(line, '\n'))
}

// After stallTime without any progress, progress says what may be the matter,
// and again every stallRepeat.
const (
	stallTime   = 3 * time.Second
	stallRepeat = 10 * time.Second
)

// progress reports once a second until ctx is done. stall says what may be
// the matter when nothing moves. Where nobody looks, in a file, no line is repeated.
func (r *reporter) progress(ctx context.Context, stall func() string) {
	if r.quiet {
		return
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	last, lastTime, moved := uint64(0), r.start, r.start
	var hinted time.Time
	lastLine := ""
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			n := r.messages.Load()
			rate := float64(n-last) / now.Sub(lastTime).Seconds()
			if n != last {
				moved, hinted = now, time.Time{}
			}
			waiting := now.Sub(moved) >= stallTime
			last, lastTime = n, now
			switch {
			case r.json:
				r.object(progressLine{"progress", n, rate, now.Sub(r.start).Seconds()})
				continue
			case waiting && now.Sub(hinted) < stallRepeat:
				continue
			case waiting:
				hinted = now
			}
			line := fmt.Sprintf("%s %s, %.0f/s\n", r.verb, plural(n, "message"), rate)
			if waiting {
				line = fmt.Sprintf("%s %s; %s\n", r.verb, plural(n, "message"), stall())
			}
			if r.person || line != lastLine {
				fmt.Fprint(r.stderr, line)
			}
			lastLine = line
		}
	}
}

type progressLine struct {
	Type     string  `json:"type"`
	Messages uint64  `json:"messages"`
	Rate     float64 `json:"messages_per_second"`
	Seconds  float64 `json:"seconds"`
}

// summary is the final report.
type summary struct {
	Type       string            `json:"type"`
	Messages   uint64            `json:"messages"`
	Bytes      uint64            `json:"bytes"`
	Seconds    float64           `json:"seconds"`
	Rate       float64           `json:"messages_per_second"`
	ByteRate   float64           `json:"bytes_per_second"`
	Latency    *latency          `json:"latency,omitempty"`
	Outcomes   map[string]uint64 `json:"outcomes,omitempty"`
	Lost       *uint64           `json:"lost,omitempty"`
	Duplicates *uint64           `json:"duplicates,omitempty"`
	OutOfOrder *uint64           `json:"out_of_order,omitempty"`
}

// latency is in microseconds.
type latency struct {
	P50  float64 `json:"p50_us"`
	P90  float64 `json:"p90_us"`
	P99  float64 `json:"p99_us"`
	P999 float64 `json:"p99.9_us"`
	Max  float64 `json:"max_us"`
}

func (r *reporter) summary(h *histogram) summary {
	s := summary{Type: "report", Messages: r.messages.Load(), Bytes: r.bytes.Load(), Seconds: time.Since(r.start).Seconds()}
	if s.Seconds > 0 {
		s.Rate, s.ByteRate = float64(s.Messages)/s.Seconds, float64(s.Bytes)/s.Seconds
	}
	if h != nil && h.n > 0 {
		us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
		s.Latency = &latency{us(h.percentile(.5)), us(h.percentile(.9)), us(h.percentile(.99)), us(h.percentile(.999)), us(h.max)}
	}
	return s
}

// finish prints the final report.
func (r *reporter) finish(s summary) {
	if r.json {
		r.object(s)
		return
	}
	fmt.Fprintf(r.stderr, "%s %s (%s) in %.3f s: %.0f/s, %s/s\n",
		r.verb, plural(s.Messages, "message"), humanBytes(float64(s.Bytes)), s.Seconds, s.Rate, humanBytes(s.ByteRate))
	if l := s.Latency; l != nil {
		fmt.Fprintf(r.stderr, "latency p50 %s  p90 %s  p99 %s  p99.9 %s  max %s\n",
			humanTime(l.P50), humanTime(l.P90), humanTime(l.P99), humanTime(l.P999), humanTime(l.Max))
	}
	for _, name := range outcomeNames {
		if n := s.Outcomes[name]; n > 0 && (name != outcomeAccepted || n != s.Messages) {
			fmt.Fprintf(r.stderr, "%s: %d\n", name, n)
		}
	}
	for name, n := range map[string]*uint64{"lost": s.Lost, "duplicates": s.Duplicates, "out of order": s.OutOfOrder} {
		if n != nil && *n > 0 {
			fmt.Fprintf(r.stderr, "%s: %d\n", name, *n)
		}
	}
}

// Names of outcomes in reports.
const (
	outcomeAccepted   = "accepted"
	outcomeRejected   = "rejected"
	outcomeReleased   = "released"
	outcomeModified   = "modified"
	outcomePresettled = "presettled"
	outcomeUnknown    = "unknown"
)

var outcomeNames = []string{outcomeAccepted, outcomeRejected, outcomeReleased, outcomeModified, outcomePresettled, outcomeUnknown}

func humanBytes(n float64) string {
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if n < 1024 {
			if unit == "B" {
				return fmt.Sprintf("%.0f %s", n, unit)
			}
			return fmt.Sprintf("%.1f %s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%.1f TiB", n)
}

func humanTime(us float64) string {
	return time.Duration(us * 1000).Round(100 * time.Nanosecond).String()
}
