package mesh

import (
	"fmt"
	"os"
	"sort"
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

func TestMain(m *testing.M) {
	code := m.Run()
	harness.Cleanup()
	os.Exit(code)
}

// full tells whether to load at full size; otherwise sizes are cut so that the
// whole suite takes a few minutes on two cores.
var full = os.Getenv("SLUICE_FULL") != ""

// sized returns the full or the reduced size.
func sized(all, reduced int) int {
	if full {
		return all
	}
	return reduced
}

// small is the size of small bodies in bytes.
const small = 100

func dial(t testing.TB, addr string, o raw.Options) *raw.Conn {
	t.Helper()
	c, err := raw.Dial(addr, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Abort)
	return c
}

func session(t testing.TB, addr string) *raw.Session {
	t.Helper()
	return dial(t, addr, raw.Options{}).MustSession()
}

func sender(t testing.TB, s *raw.Session, address string, o raw.SenderOptions) *raw.Sender {
	t.Helper()
	x, err := s.Sender(address, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func receiver(t testing.TB, s *raw.Session, address string, o raw.ReceiverOptions) *raw.Receiver {
	t.Helper()
	x, err := s.Receiver(address, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func median(d []float64) float64 {
	d = append([]float64(nil), d...)
	sort.Float64s(d)
	return d[len(d)/2]
}

func report(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Logf("FIGURE "+format, args...)
}

func perSecond(n int, d time.Duration) int { return int(float64(n) / d.Seconds()) }

// rates measures a few times how many messages arrive in a second.
func rates(in *raw.Receiver, n int, each time.Duration) []float64 {
	var r []float64
	for range n {
		from, start := in.Messages(), time.Now()
		time.Sleep(each)
		r = append(r, float64(in.Messages()-from)/time.Since(start).Seconds())
	}
	return r
}
