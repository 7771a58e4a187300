package pressure

import (
	"hash/crc32"
	"os"
	"testing"

	"sluice/tests/harness"
	"sluice/tests/harness/rig"
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

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
