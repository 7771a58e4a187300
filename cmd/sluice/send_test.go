package main

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Who waits is told what for: a receiver, its settlement, or the rest of a large
// message.
func TestWhatSendWaitsFor(t *testing.T) {
	s := &sending{address: "q", count: 9, reporter: new(reporter)}
	say := func(want string) {
		t.Helper()
		if got := s.waiting(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	s.meter.Out.Add(600) // an open and an attach
	say(`waiting: nobody takes them; is there a receiver for "q"?`)
	s.sent.Add(3)
	s.done.Add(1)
	s.oldest.Store(time.Now().Add(-12 * time.Second).UnixNano())
	say(`waiting: 2 messages sent and not settled, for 12s: a receiver for "q" has not settled, or gives no credit`)
	before := s.moved()
	s.writing.Store(s.meter.Out.Load())
	s.meter.Out.Add(3 << 20)
	say("a message is on its way: 3.0 MiB of it have left")
	if got, want := s.progress(), "0 of 9 messages sent and settled; 3.0 MiB of the next have left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if s.moved() == before {
		t.Error("a large message that is sent counts as no progress")
	}
}

// A receiver sees a large message come.
func TestWhatReceiveWaitsFor(t *testing.T) {
	r := &receiving{reporter: new(reporter)}
	if got := r.waiting(); got != "waiting for messages" {
		t.Errorf("%q", got)
	}
	before := r.moved()
	r.meter.In.Add(3 << 20)
	if got := r.waiting(); got != "a message is on its way: 3.0 MiB of it have come" || r.moved() == before {
		t.Errorf("%q, %d after %d", got, r.moved(), before)
	}
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		r := &receiving{reporter: &reporter{stderr: &told}}
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		go func() {
			time.Sleep(5 * time.Second)
			r.meter.In.Add(1 << 20)
		}()
		r.arriving(ctx)
		want := "a message is on its way: 1.0 MiB of it have come\n"
		if told.String() != want+want {
			t.Errorf("%q", &told)
		}
	})
	r.latest.Store(r.meter.In.Load())
	if got := r.waiting(); got != "waiting for messages" {
		t.Errorf("%q", got)
	}
}
