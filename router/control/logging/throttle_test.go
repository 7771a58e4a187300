package logging

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, out := newTest(Console)
		no := false
		settings := []Setting{{Module: Default, Timestamp: &no}}
		l.Apply(settings)
		log := l.Logger(Server).Sample(l.Throttle(Server, "attach refused"))
		other := l.Logger(Server).Sample(l.Throttle(Server, "TLS handshake failed"))
		taken := func() []string {
			lines := strings.Split(out.take(), "\n")
			return lines[:len(lines)-1]
		}
		flood := func(n int) {
			for range n {
				log.Warn().Msg("x")
				time.Sleep(time.Millisecond)
			}
		}
		const more = "SERVER (warning) attach refused: 490 more of the same kind were not logged"

		flood(500)
		other.Warn().Msg("other") // has its own count
		if got := taken(); len(got) != burst+1 || got[burst] != "SERVER (warning) other" {
			t.Errorf("at once: %q", got)
		}
		time.Sleep(499 * time.Millisecond)
		if got := taken(); len(got) != 0 {
			t.Errorf("within the second: %q", got)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if got := taken(); len(got) != 1 || got[0] != more {
			t.Errorf("after a second: %q", got)
		}
		// It begins again, whoever holds the throttle.
		log = l.Logger(Server).Sample(l.Throttle(Server, "attach refused"))
		flood(11)
		if got := taken(); len(got) != burst {
			t.Errorf("later: %q", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := taken(); len(got) != 1 || !strings.HasSuffix(got[0], ": 1 more of the same kind was not logged") {
			t.Errorf("later, after a second: %q", got)
		}
		// Ten in every second make no summary.
		for range 50 {
			log.Warn().Msg("x")
			time.Sleep(101 * time.Millisecond)
		}
		if got := taken(); len(got) != 50 {
			t.Errorf("%d lines of 50", len(got))
		}
		// Debug shows all; what is disabled neither shows nor counts.
		time.Sleep(time.Second)
		l.Apply(append(settings, Setting{Module: Server, Enable: mask(t, "debug+")}))
		flood(100)
		if got := taken(); len(got) != 100 {
			t.Errorf("debug: %d lines", len(got))
		}
		l.Apply(append(settings, Setting{Module: Server, Enable: mask(t, "error+")}))
		flood(100)
		for range 20 {
			log.Error().Msg("y")
		}
		if got := taken(); len(got) != 20 {
			t.Errorf("error: %q", got)
		}
		// Close says what was held.
		l.Apply(settings)
		flood(500)
		l.Close()
		if got := taken(); len(got) != burst+1 || got[burst] != more {
			t.Errorf("Close: %q", got)
		}
	})
}

func BenchmarkThrottled(b *testing.B) {
	l := New(Options{Stderr: io.Discard})
	log := l.Logger(Server)
	b.ReportAllocs()
	for b.Loop() {
		refused := log.Sample(l.Throttle(Server, "attach refused"))
		refused.Info().Int("connection", 1).Msg("x")
	}
}
