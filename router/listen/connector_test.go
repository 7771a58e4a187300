package listen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp"
)

// dialled runs a connector for a time. Serve says of each attempt whether the
// connection is opened, how long it lasts, where else to connect to, and why it ends.
func dialled(t *testing.T, during time.Duration, serve func(n int) (opened bool, lasts time.Duration, named []byte, err error)) (attempts []time.Time, log string) {
	t.Helper()
	var lines bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		c := &Connector{Name: "c", Network: "tcp", Place: Place{Address: "own:5672"}, Log: zerolog.New(zerolog.SyncWriter(&lines)).Level(zerolog.InfoLevel)}
		c.dial = func(context.Context, string, string) (net.Conn, error) {
			conn, _ := net.Pipe()
			return conn, nil
		}
		c.Serve = func(ctx context.Context, _ Place, p Peer) (bool, error) {
			defer p.Conn.Close()
			attempts = append(attempts, time.Now())
			opened, lasts, named, err := serve(len(attempts))
			if opened {
				if c.Opened(named); !c.Quiet() {
					c.Log.Info().Msg("Connection Opened")
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(lasts):
			}
			return opened, err
		}
		ctx, cancel := context.WithTimeout(t.Context(), during)
		defer cancel()
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return attempts, lines.String()
}

// A peer that opens a connection and drops it is not dialled several times a second
// for ever, whatever it says at the end and wherever it says to connect to; one that
// does not want it less often still.
func TestConnectionsThatAreDropped(t *testing.T) {
	next := func(n int) []byte {
		return properties(t, "failover-server-list", []any{entry("network-host", fmt.Sprint("h", n))})
	}
	for name, serve := range map[string]func(n int) (bool, time.Duration, []byte, error){
		"no close":      func(int) (bool, time.Duration, []byte, error) { return true, 0, nil, io.EOF },
		"closed":        func(int) (bool, time.Duration, []byte, error) { return true, steady / 2, nil, nil },
		"not opened":    func(int) (bool, time.Duration, []byte, error) { return false, 0, nil, io.EOF },
		"another place": func(n int) (bool, time.Duration, []byte, error) { return true, 0, next(n), io.EOF },
		"shutting down": func(int) (bool, time.Duration, []byte, error) {
			return true, 0, nil, amqp.Errorf(amqp.CondConnectionForced, "bye")
		},
		"not authorized": func(int) (bool, time.Duration, []byte, error) {
			return true, 0, nil, amqp.Errorf(amqp.CondUnauthorizedAccess, "no")
		},
	} {
		attempts, log := dialled(t, time.Hour, serve)
		pause := lostPause
		if name == "not opened" || name == "not authorized" {
			pause = lastPause
		}
		if n, most := len(attempts), int(2*time.Hour/pause); n < 400 || n > most+60 { // pauses are shortened by up to a half
			t.Errorf("%s: %d attempts in an hour", name, n)
		}
		for i := 6; i < len(attempts); i++ {
			if d := attempts[i].Sub(attempts[i-1]); d < pause/2 {
				t.Errorf("%s: attempt %d comes %v after the one before", name, i+1, d)
				break
			}
		}
		if n := strings.Count(log, "connection failed"); n < 8 || n > 8+len(attempts)/rarest {
			t.Errorf("%s: %d lines in an hour about %d attempts", name, n, len(attempts))
		}
		if n := strings.Count(log, "Connection Opened"); n > 16+len(attempts)/rarest {
			t.Errorf("%s: %d lines in an hour about connections that do not last", name, n)
		}
		for _, want := range []string{`"message":"connection failed"}`, "still failing, 2 attempts", "still failing, 64 attempts", "still failing, 256 attempts"} {
			if strings.Count(log, want) != 1 {
				t.Errorf("%s: %q is not there once", name, want)
			}
		}
	}
}

// A connection that has held is dialled again at once when it ends, and each of those
// ends is logged. The log also tells when the first has held after many that have not.
func TestConnectionsThatHold(t *testing.T) {
	attempts, log := dialled(t, 10*time.Minute, func(n int) (bool, time.Duration, []byte, error) {
		if n <= 12 {
			return true, 0, nil, io.EOF
		}
		return true, time.Minute, nil, errors.New("cut")
	})
	if len(attempts) < 20 {
		t.Fatalf("%d attempts", len(attempts))
	}
	for i := 14; i < len(attempts); i++ {
		if d := attempts[i].Sub(attempts[i-1]); d > time.Minute+firstPause {
			t.Errorf("attempt %d comes %v after the one before", i+1, d)
		}
	}
	if n := strings.Count(log, `"error":"cut"`); n < len(attempts)-14 {
		t.Errorf("%d lines about %d connections", n, len(attempts)-12)
	}
	if n := strings.Count(log, "the connection holds"); n != 1 {
		t.Errorf("the log says %d times that the connection holds:\n%s", n, log)
	}
}
