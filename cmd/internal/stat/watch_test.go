package stat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cmd/internal/management"
	"sluice/cmd/internal/management/agenttest"
)

// watched runs a watch in fake time for so many looks. between is called after
// each.
func watched(t *testing.T, o Options, screen func() (int, int), looks int, between func(look int), routers func(context.Context) ([]Router, error)) (string, error) {
	var out strings.Builder
	var err error
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := &Watch{
			Options: o, Interval: 2 * time.Second, Out: &out, Screen: screen, Routers: routers,
			Lost: func(err error) bool { return err.Error() != "fatal" },
			Note: func(s string) { fmt.Fprintf(&out, "note: %s\n", s) },
		}
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		for i := range looks {
			if i > 0 {
				time.Sleep(w.Interval)
			}
			synctest.Wait()
			between(i)
		}
		stop()
		err = <-done
	})
	return out.String(), err
}

func the(agents ...*agenttest.Agent) func(context.Context) ([]Router, error) {
	return func(context.Context) ([]Router, error) { return routers(agents), nil }
}

// set changes a value of a row.
func set(a *agenttest.Agent, typ string, row int, attribute string, v any) {
	a.Lock()
	defer a.Unlock()
	t := a.Tables[typ]
	for i, name := range t.Attributes {
		if name == attribute {
			t.Rows[row][i] = v
		}
	}
}

// Counters have their rate since the last look beside them.
func TestWatchShowsRates(t *testing.T) {
	a := sluice()
	n := uint64(1_234_567)
	got, err := watched(t, Options{View: addresses, Width: 0}, nil, 4, func(look int) {
		n += uint64(look) * 5000
		if look == 2 {
			n = 7 // it has started anew
		}
		set(a, "router.address", 0, "deliveriesIngress", n)
	}, the(a))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "watch-addresses", got)

	b := sluice()
	got, err = watched(t, Options{View: general}, nil, 2, func(int) { set(b, "router", 0, "deliveriesIngress", uint64(1_244_568)) }, the(b))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "watch-general", got)

	c := sluice()
	got, err = watched(t, Options{View: general, JSON: true}, nil, 2, func(int) { set(c, "router", 0, "deliveriesIngress", uint64(1_244_568)) }, the(c))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "watch-json", got)
}

// On a screen each look is in the place of the last, and no larger than that.
func TestWatchPaintsInPlace(t *testing.T) {
	a := sluice()
	got, err := watched(t, Options{View: links}, func() (int, int) { return 90, 10 }, 2, func(int) {
		set(a, "router.link", 0, "deliveryCount", uint64(1_234_667))
	}, the(a))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "watch-screen", strings.ReplaceAll(got, "\x1b", "^["))
	for _, frame := range strings.Split(got, home)[1:] {
		if lines := strings.Count(frame, "\n"); lines > 9 {
			t.Errorf("%d lines for a screen of 10", lines)
		}
	}
}

// A log is followed: each line is shown once, even if the same is logged again.
func TestWatchFollowsALog(t *testing.T) {
	a := sluice()
	got, err := watched(t, Options{View: logLines}, nil, 4, func(look int) {
		a.Lock()
		defer a.Unlock()
		if look < 2 {
			a.Log = append(a.Log, []any{"SERVER", "info", "again", nil, nil, int32(1796045002)})
		}
	}, the(a))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "watch-log", got)
	if n := strings.Count(got, "again"); n != 2 {
		t.Errorf("a line that was logged twice is shown %d times", n)
	}
}

// A watch outlives the router: what is wrong is said once.
func TestWatchGoesOn(t *testing.T) {
	a := sluice()
	got, err := watched(t, Options{View: nodes}, nil, 5, func(look int) {
		a.Lock()
		defer a.Unlock()
		switch look {
		case 0:
			a.Fail = func(*management.Request) error { return errors.New("the connection was lost") }
		case 3:
			a.Fail = nil
		}
	}, the(a))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "watch-lost", got)
	_, err = watched(t, Options{View: nodes}, nil, 1, func(int) {}, func(context.Context) ([]Router, error) { return nil, errors.New("fatal") })
	if err == nil || err.Error() != "fatal" {
		t.Errorf("%v", err)
	}
}
