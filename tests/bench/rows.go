package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A Row is a line of the table of messages.
type Row struct {
	Name string
	Work Work
	// Relay compares with the relay, which is of use where bytes and not
	// messages cost most.
	Relay bool
	// Floor compares with the floor, which knows one sender and one receiver.
	Floor bool
}

// rows are the works, with counts divided by a number.
func rows(divide int) []Row {
	all := []Row{
		{Name: "100 B, unsettled", Work: Work{Size: 100, Count: 1_000_000}, Floor: true},
		{Name: "100 B, settled", Work: Work{Size: 100, Count: 1_000_000, Settled: true}, Floor: true},
		{Name: "1 KiB", Work: Work{Size: 1 << 10, Count: 500_000}, Floor: true},
		{Name: "64 KiB", Work: Work{Size: 64 << 10, Count: 20_000}, Relay: true, Floor: true},
		{Name: "1 MiB, credit 50", Work: Work{Size: 1 << 20, Count: 2000, Credit: 50}, Relay: true},
		{Name: "50 MiB, credit 5", Work: Work{Size: 50 << 20, Count: 40, Credit: 5}, Relay: true},
		{Name: "8 pairs, 100 B", Work: Work{Size: 100, Count: 100_000, Pairs: 8}},
		{Name: "multicast to 8, 100 B", Work: Work{Size: 100, Count: 200_000, Fanout: 8, Multicast: true}},
		{Name: "5,000 a second, 100 B", Work: Work{Size: 100, Count: 20_000, Rate: 5000}, Floor: true},
	}
	for i := range all {
		w := &all[i].Work
		w.Count = max(w.Count/divide, 1)
		w.Pairs, w.Fanout = max(w.Pairs, 1), max(w.Fanout, 1)
		if w.Credit == 0 {
			w.Credit = 1000
		}
	}
	return all
}

// A Line is a Row as measured: the medians of the repeats.
type Line struct {
	Row
	Sluice, Other []Outcome
	Floor, Wide   []Outcome // with the credit of the router, and with more
	Relay         []relayed
}

// bench is what the rows are measured with.
type bench struct {
	binary    string
	args      []string // further ones of the router
	other     string   // address of another router
	otherPID  int
	multicast string // an address that is multicast there
	dir       string // for configurations
	divide    int
	say       func(format string, args ...any)
	serial    int
}

// measure runs rows again and again, one after the other.
func (b *bench) measure(ctx context.Context, rows []Row, repeats int) ([]Line, error) {
	lines := make([]Line, len(rows))
	for n := range repeats {
		for i, r := range rows {
			l := &lines[i]
			l.Row = r
			b.say("%d/%d %s", n+1, repeats, r.Name)
			if err := b.measureRow(ctx, l); err != nil {
				return nil, fmt.Errorf("%s: %w", r.Name, err)
			}
		}
	}
	return lines, nil
}

func (b *bench) measureRow(ctx context.Context, l *Line) error {
	o, err := b.drive(ctx, &l.Work)
	if err != nil {
		return err
	}
	if o.Stalled != nil {
		b.say("  %s: %v", l.Name, o.Stalled)
	}
	l.Sluice = append(l.Sluice, o)
	if b.other != "" {
		address := b.address()
		if l.Work.Multicast {
			address = b.multicast
		}
		if b.otherPID != 0 {
			forgetPeak(b.otherPID)
		}
		o, err := l.Work.Drive(ctx, b.other, address, meter(b.otherPID))
		if err != nil {
			return fmt.Errorf("the other router: %w", err)
		}
		if o.Stalled != nil {
			b.say("  %s: the other router: %v", l.Name, o.Stalled)
		}
		l.Other = append(l.Other, o)
		return nil
	}
	if l.Row.Relay {
		r, err := driveRelay(ctx, l.Work.expected()*int64(l.Work.Size))
		if err != nil {
			return fmt.Errorf("the relay: %w", err)
		}
		l.Relay = append(l.Relay, r)
	}
	if l.Row.Floor {
		for role, to := range map[string]*[]Outcome{"floor": &l.Floor, "wide floor": &l.Wide} {
			o, err := driveFloor(ctx, role, &l.Work)
			if err != nil {
				return fmt.Errorf("the %s: %w", role, err)
			}
			*to = append(*to, o)
		}
	}
	return nil
}

func driveFloor(ctx context.Context, role string, w *Work) (Outcome, error) {
	p, err := startRole(ctx, role)
	if err != nil {
		return Outcome{}, err
	}
	defer p.stop()
	return w.Drive(ctx, p.addr, "floor", meter(p.pid()))
}

// drive puts a load on a router of its own.
func (b *bench) drive(ctx context.Context, w *Work) (Outcome, error) {
	p, _, err := b.start(ctx, w.Multicast)
	if err != nil {
		return Outcome{}, err
	}
	defer p.stop()
	return w.Drive(ctx, p.addr, b.address(), meter(p.pid()))
}

// start starts the router as it is without a configuration, or with multicast
// addresses, which need one.
func (b *bench) start(ctx context.Context, multicast bool) (*proc, time.Duration, error) {
	args := []string{"--listen", "127.0.0.1:0", "--http", "none"}
	if multicast {
		file := filepath.Join(b.dir, "multicast.conf")
		if err := os.WriteFile(file, []byte(multicastConfig), 0o600); err != nil {
			return nil, 0, err
		}
		args = []string{"-c", file}
	}
	return startRouter(ctx, b.binary, append(args, b.args...)...)
}

const multicastConfig = `
router {
    id: bench
}
listener {
    host: 127.0.0.1
    port: 0
    maxFrameSize: 65536
}
address {
    prefix: bench
    distribution: multicast
}
`

// address is one that has not been used.
func (b *bench) address() string {
	b.serial++
	return fmt.Sprintf("bench/%d", b.serial)
}

// median returns the median of a property. Of an even number it is the lower
// one.
func median[T any](all []T, of func(*T) float64) float64 {
	if len(all) == 0 {
		return 0
	}
	v := make([]float64, len(all))
	for i := range all {
		v[i] = of(&all[i])
	}
	slices.Sort(v)
	return v[(len(v)-1)/2]
}

// worst returns the largest of a property.
func worst(all []Outcome, of func(*Outcome) float64) (v float64) {
	for i := range all {
		v = max(v, of(&all[i]))
	}
	return v
}
