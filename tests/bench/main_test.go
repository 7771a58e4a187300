package main

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/tests/harness"
)

func TestMain(m *testing.M) {
	if serveRole() {
		return
	}
	code := m.Run()
	harness.Cleanup()
	os.Exit(code)
}

// smoke are options with which all that is measured takes a few seconds.
func smoke(t *testing.T) options {
	return options{binary: harness.Path(t), repeats: 1, scale: true, timeout: 2 * time.Minute, divide: 1000}
}

func measured(t *testing.T, o options, repeats int) []Line {
	t.Helper()
	b := &bench{
		binary: o.binary, other: o.other, otherPID: o.otherPID, multicast: o.multicast, dir: t.TempDir(), divide: o.divide,
		say: t.Logf,
	}
	lines, err := b.measure(t.Context(), rows(o.divide), repeats)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// Every row is carried in full, and each of its cells has a value or none.
func TestRows(t *testing.T) {
	lines := measured(t, smoke(t), 2)
	if len(lines) != 9 {
		t.Errorf("%d rows", len(lines))
	}
	for _, l := range lines {
		if len(l.Sluice) != 2 || l.Row.Floor && (len(l.Floor) != 2 || len(l.Wide) != 2) || l.Row.Relay && len(l.Relay) != 2 {
			t.Errorf("%s: not all was repeated: %+v", l.Name, l)
		}
		for _, o := range slices.Concat(l.Sluice, l.Floor, l.Wide) {
			if o.Stalled != nil || o.Messages != l.Work.expected() || o.Lost != 0 || o.Wrong != 0 {
				t.Errorf("%s: %+v, want %d messages", l.Name, o, l.Work.expected())
			}
			if o.Bytes != o.Messages*int64(l.Work.Size+sectionSize) {
				t.Errorf("%s: %d bytes in %d messages", l.Name, o.Bytes, o.Messages)
			}
			if o.Elapsed <= 0 || o.Peak < 1<<20 || l.Work.Rate > 0 && (o.P50 <= 0 || o.P99 < o.P50) {
				t.Errorf("%s: %+v", l.Name, o)
			}
		}
		for _, r := range l.Relay {
			if r.Bytes != l.Work.expected()*int64(l.Work.Size) || r.Elapsed <= 0 {
				t.Errorf("%s: %+v", l.Name, r)
			}
		}
	}
	complete(t, messageTable(lines), 9)
	complete(t, baseTable(lines), 7)
}

// The other router may be one of the same kind.
func TestCompare(t *testing.T) {
	o := smoke(t)
	b := &bench{binary: o.binary, dir: t.TempDir(), divide: o.divide}
	p, _, err := b.start(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	o.other, o.otherPID, o.multicast = p.addr, p.pid(), "bench/all"
	lines := measured(t, o, 1)
	for _, l := range lines {
		// Every address there is multicast, so that a single receiver gets all.
		for _, o := range l.Other {
			if o.Stalled != nil || o.Lost != 0 || o.Wrong != 0 || o.Peak == 0 {
				t.Errorf("%s: the other router: %+v", l.Name, o)
			}
		}
	}
	complete(t, compareTable(lines), 9)
}

// The whole as it is run from the command line.
func TestRun(t *testing.T) {
	var out, progress bytes.Buffer
	o := smoke(t)
	o.only = "unsettled|1 MiB"
	if err := run(t.Context(), &out, &progress, o); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	for _, want := range []string{
		"medians of 1", "| 100 B, unsettled", "| 1 MiB, credit 50", "floor: msg/s", "| start to ready", "| idle RSS", "| binary",
		"| 10 links on one connection", "| 200 links on 2 connections", "| an idle connection, of 10 ", "| connect, attach, send, close",
		"| RSS a minute after 2 GB",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "| 1 KiB") {
		t.Errorf("a row that was not chosen:\n%s", &out)
	}
}

// A router that loses messages, or delivers twice, does not get away with it.
func TestReceiverNoticesDisorder(t *testing.T) {
	w := &Work{Size: 16}
	s := newSender(&peer{}, w, nil)
	message := func(n byte) []byte {
		s.body[sectionSize+7] = n
		return s.body
	}
	r := &receiver{w: w, t: &tally{}}
	for i, n := range []byte{0, 1, 2, 5, 6, 4, 7} {
		r.look(message(n))
		if got, want := r.t.wrong.Load(), int64(i/5); i < 6 && got != want {
			t.Errorf("after message %d: %d wrong, want %d", n, got, want)
		}
	}
	r.look(append([]byte{0x00, 0x53, 0x70, 0x45}, message(8)...))
	if got := r.t.wrong.Load(); got != 1 {
		t.Errorf("%d wrong, want 1: sections in front of the body are no disorder", got)
	}
	r.look([]byte("no message"))
	if got := r.t.wrong.Load(); got != 2 {
		t.Errorf("%d wrong, want 2", got)
	}
}

// Outcomes are not accepted in place of messages that did not come.
func TestStalledLoad(t *testing.T) {
	tl := &tally{base: time.Now().Add(-2 * stall)}
	w := &Work{Count: 2, Pairs: 1, Fanout: 1}
	if err := w.wait(t.Context(), tl); err == nil {
		t.Error("nothing came, and that is no error")
	}
	tl.received.Store(2)
	tl.fail(io.EOF)
	if err := w.wait(t.Context(), tl); err != io.EOF {
		t.Errorf("%v, want EOF: outcomes are missing", err)
	}
	tl.other.Store(2)
	if err := w.wait(t.Context(), tl); err != nil {
		t.Errorf("%v: all has an outcome", err)
	}
}

func complete(t *testing.T, table *Table, rows int) {
	t.Helper()
	var out bytes.Buffer
	table.Print(&out)
	if len(table.Cells) != rows || strings.Count(out.String(), "\n") != rows+2 {
		t.Errorf("%d rows, want %d:\n%s", len(table.Cells), rows, &out)
	}
	for _, row := range table.Cells {
		if len(row) != len(table.Head) {
			t.Errorf("%q has %d cells, want %d", row[0], len(row), len(table.Head))
		}
		for i, c := range row {
			if c == "" {
				t.Errorf("%s: no %s", row[0], table.Head[i])
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	for want, v := range map[string]float64{
		unknown: 0, "0.53": 0.531, "9.99": 9.99, "13.8": 13.81, "190": 190.2, "1,000": 999.9 + 0.1, "53,000": 53_000, "1,234,567": 1234567,
	} {
		if got := number(v); got != want {
			t.Errorf("%v is printed as %s, want %s", v, got, want)
		}
	}
}
