package mesh

import (
	"os"
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/harness/rig"
	"sluice/tests/raw"
)

func TestMain(m *testing.M) {
	code := m.Run()
	harness.Cleanup()
	os.Exit(code)
}

// The clients and figures of tests under load.
var (
	sized     = rig.Sized
	dial      = rig.Dial
	session   = rig.Session
	sender    = rig.Sender
	receiver  = rig.Receiver
	must      = rig.Must
	mib       = rig.MiB
	median    = rig.Median
	report    = rig.Report
	perSecond = rig.PerSecond
)

// small is the size of small bodies in bytes.
const small = 100

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

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
