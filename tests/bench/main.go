package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	binary    string
	args      string
	repeats   int
	only      string
	scale     bool
	other     string
	otherPID  int
	multicast string
	timeout   time.Duration
	divide    int
}

func main() {
	if serveRole() {
		return
	}
	var o options
	flag.StringVar(&o.binary, "binary", "bin/sluice", "the router that is measured")
	flag.StringVar(&o.args, "args", "", "more arguments of its run, such as \"--pprof 127.0.0.1:6060\"")
	flag.IntVar(&o.repeats, "n", 3, "repeats of each row, of which the median is printed")
	flag.StringVar(&o.only, "rows", "", "only rows whose name matches this regular expression")
	flag.BoolVar(&o.scale, "scale", true, "measure connections, links, start and memory, too")
	flag.StringVar(&o.other, "other", "", "host:port of another router to compare with")
	flag.IntVar(&o.otherPID, "other-pid", 0, "its process, for CPU and memory")
	flag.StringVar(&o.multicast, "multicast", "multicast/bench", "an address that is multicast there")
	flag.DurationVar(&o.timeout, "timeout", 30*time.Minute, "give up after this long")
	flag.IntVar(&o.divide, "divide", 1, "make everything smaller by this factor")
	flag.Parse()
	if flag.NArg() > 0 || o.repeats < 1 || o.divide < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, os.Stderr, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures and prints.
func run(ctx context.Context, out, progress io.Writer, o options) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, errors.New("it takes too long"))
	defer cancel()
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{
		binary: o.binary, args: strings.Fields(o.args), other: o.other, otherPID: o.otherPID, multicast: o.multicast,
		dir: dir, divide: o.divide,
		say: func(format string, args ...any) { fmt.Fprintf(progress, format+"\n", args...) },
	}
	var chosen []Row
	for _, r := range rows(o.divide) {
		if only.MatchString(r.Name) {
			chosen = append(chosen, r)
		}
	}
	version, err := exec.CommandContext(ctx, o.binary, "version").Output()
	if err != nil {
		return fmt.Errorf("%s version: %w", o.binary, err)
	}
	first, _, _ := strings.Cut(string(version), "\n")
	fmt.Fprintf(out, "%s; %s; %d × %s, load %s; medians of %d\n\n", first, time.Now().Format("2006-01-02 15:04"),
		runtime.NumCPU(), processor(), loadAverage(), o.repeats)
	lines, err := b.measure(ctx, chosen, o.repeats)
	if err != nil {
		return err
	}
	if b.other != "" {
		compareTable(lines).Print(out)
		return nil
	}
	if len(lines) > 0 {
		messageTable(lines).Print(out)
		fmt.Fprintln(out)
		baseTable(lines).Print(out)
	}
	if !o.scale {
		return nil
	}
	facts, err := b.scale(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	factTable(facts).Print(out)
	return nil
}

// processor is the name of the processor.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// loadAverage is the load of the machine in the minute before.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(text), " ")
	return load
}
