package harness

import (
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	Cleanup()
	os.Exit(code)
}

func TestBinary_StartsSamplesAndStops(t *testing.T) {
	b := Start(t, Loopback)
	s := b.Sample()
	if s.RSS <= 0 || s.Peak < s.RSS || s.FDs < 3 || s.Goroutines < 1 {
		t.Errorf("implausible sample: %+v", s)
	}
	if _, ok := s.Metrics[`sluice_stage_bytes{stage="session"}`]; !ok {
		t.Errorf("no bytes by stage in %v", s.Metrics)
	}
	b.Stop()
	if !strings.Contains(b.Log(), "Shut Down") {
		t.Errorf("no orderly end in the log:\n%s", b.Log())
	}
}
