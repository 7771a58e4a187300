package pressure

import (
	"fmt"
	"hash/crc32"
	"io"
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

// full tells whether to load at full size ("make pressure"); otherwise sizes are
// cut so that the whole suite takes a few minutes on two cores.
var full = os.Getenv("SLUICE_FULL") != ""

// sized returns the full or the reduced size.
func sized(all, reduced int) int {
	if full {
		return all
	}
	return reduced
}

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

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// noise is an endless reader of bytes that follow from a seed, and the checksum
// of what was read.
type noise struct {
	block []byte
	at    int
	sum   uint32
}

func newNoise(seed uint32) *noise {
	n := &noise{block: make([]byte, 1<<16-1)} // no multiple of any frame
	x := seed*2654435761 + 1
	for i := range n.block {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		n.block[i] = byte(x)
	}
	return n
}

func (n *noise) Read(b []byte) (int, error) {
	k := 0
	for k < len(b) {
		c := copy(b[k:], n.block[n.at:])
		k += c
		if n.at += c; n.at == len(n.block) {
			n.at = 0
			n.block[0]++ // so that blocks differ
		}
	}
	n.sum = crc32.Update(n.sum, castagnoli, b)
	return k, nil
}

var _ io.Reader = (*noise)(nil)

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

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
