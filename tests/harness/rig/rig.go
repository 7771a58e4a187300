package rig

import (
	"fmt"
	"os"
	"sort"
	"testing"
	"time"

	"sluice/tests/raw"
)

// Full tells whether to load at full size; otherwise sizes are cut so that a
// whole suite takes a few minutes on two cores.
var Full = os.Getenv("SLUICE_FULL") != ""

// Sized returns the full or the reduced size.
func Sized(all, reduced int) int {
	if Full {
		return all
	}
	return reduced
}

// Dial connects. The connection is aborted when the test ends.
func Dial(t testing.TB, addr string, o raw.Options) *raw.Conn {
	t.Helper()
	c, err := raw.Dial(addr, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Abort)
	return c
}

// Session is a session of a connection of its own.
func Session(t testing.TB, addr string) *raw.Session {
	t.Helper()
	return Dial(t, addr, raw.Options{}).MustSession()
}

// Sender attaches a link to send to an address.
func Sender(t testing.TB, s *raw.Session, address string, o raw.SenderOptions) *raw.Sender {
	t.Helper()
	x, err := s.Sender(address, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Receiver attaches a link to receive from an address.
func Receiver(t testing.TB, s *raw.Session, address string, o raw.ReceiverOptions) *raw.Receiver {
	t.Helper()
	x, err := s.Receiver(address, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// MiB prints bytes.
func MiB(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// Median returns the upper one of two.
func Median(d []float64) float64 {
	d = append([]float64(nil), d...)
	sort.Float64s(d)
	return d[len(d)/2]
}

// Report prints a figure that a test has measured.
func Report(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Logf("FIGURE "+format, args...)
}

// PerSecond is a rate.
func PerSecond(n int, d time.Duration) int { return int(float64(n) / d.Seconds()) }
