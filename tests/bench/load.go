package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Work is a load of messages.
type Work struct {
	Size      int // bytes of a body, at least 16
	Count     int // messages of a sender
	Credit    uint32
	Pairs     int // senders, each with an address of its own
	Fanout    int // receivers of each address
	Settled   bool
	Multicast bool
	Rate      int // messages of a sender per second; 0: as many as possible
}

// expected is how many messages all receivers get together.
func (w *Work) expected() int64 { return int64(w.Count) * int64(w.Pairs) * int64(w.Fanout) }

// An Outcome is what became of a Work.
type Outcome struct {
	Messages int64 // that receivers got
	Bytes    int64
	Lost     int64 // not received, or without the outcome accepted
	Wrong    int64 // received twice, or out of order
	Elapsed  time.Duration
	CPU      time.Duration // of the server
	Peak     int64         // resident bytes of the server
	P50, P99 time.Duration // with a Rate
	Stalled  error         // why not all was done
}

const (
	attachLag = 100 * time.Millisecond // for routers that take a while to know a new receiver
	stall     = 10 * time.Second       // without a message the load is given up
)

// tally counts for all peers of a load.
type tally struct {
	received, bytes, wrong atomic.Int64
	accepted, other        atomic.Int64
	last                   atomic.Int64 // when something was received, since base
	failed                 atomic.Pointer[error]
	base                   time.Time
}

func (t *tally) now() int64 { return int64(time.Since(t.base)) }

func (t *tally) fail(err error) { t.failed.CompareAndSwap(nil, &err) }

// Drive puts a load on the server at addr. Use measures the server; it may be
// nil.
func (w *Work) Drive(ctx context.Context, addr, address string, use func() (time.Duration, int64)) (Outcome, error) {
	t := &tally{base: time.Now()}
	var peers []*peer
	defer func() {
		for _, p := range peers {
			p.close()
		}
	}()
	connect := func() (*peer, error) {
		p, err := dial(addr)
		if err == nil {
			peers = append(peers, p)
		}
		return p, err
	}
	var receivers []*receiver
	var senders []*sender
	for i := range w.Pairs {
		for range w.Fanout {
			p, err := connect()
			if err != nil {
				return Outcome{}, err
			}
			r := newReceiver(p, w, t)
			if err := r.attach(target(address, i, w.Pairs), fmt.Sprintf("r%d", len(receivers))); err != nil {
				return Outcome{}, err
			}
			receivers = append(receivers, r)
			go r.run()
		}
	}
	time.Sleep(attachLag)
	for i := range w.Pairs {
		p, err := connect()
		if err != nil {
			return Outcome{}, err
		}
		s := newSender(p, w, t)
		if err := s.attach(target(address, i, w.Pairs), fmt.Sprintf("s%d", i)); err != nil {
			return Outcome{}, err
		}
		senders = append(senders, s)
	}
	var cpu time.Duration
	if use != nil {
		cpu, _ = use()
	}
	start := t.now()
	t.last.Store(start)
	for _, s := range senders {
		go s.run()
	}
	o := Outcome{Stalled: w.wait(ctx, t)}
	if use != nil {
		end, peak := use()
		o.CPU, o.Peak = end-cpu, peak
	}
	o.Elapsed = time.Duration(t.last.Load() - start)
	o.Messages, o.Bytes, o.Wrong = t.received.Load(), t.bytes.Load(), t.wrong.Load()
	o.Lost = max(w.expected()-o.Messages, 0)
	if !w.Settled {
		o.Lost = max(o.Lost, int64(w.Count)*int64(w.Pairs)-t.accepted.Load())
	}
	if w.Rate > 0 && o.Stalled == nil {
		o.P50, o.P99 = percentiles(receivers)
	}
	return o, nil
}

func target(address string, i, of int) string {
	if of == 1 {
		return address
	}
	return fmt.Sprintf("%s.%d", address, i)
}

// wait waits until all is received and settled, or nothing moves any more.
func (w *Work) wait(ctx context.Context, t *tally) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	sent := int64(w.Count) * int64(w.Pairs)
	var seen, moved int64
	for {
		done := t.accepted.Load() + t.other.Load()
		received := t.received.Load()
		if received >= w.expected() && (w.Settled || done >= sent) {
			return nil
		}
		now := t.now()
		if n := done + received + t.bytes.Load(); n != seen {
			seen, moved = n, now
		}
		if err := t.failed.Load(); err != nil {
			return *err
		}
		if moved != 0 && now-moved > int64(stall) || now > int64(stall) && seen == 0 {
			return errors.New("nothing moves any more")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// percentiles returns the median latency and the 99th percentile. The receivers
// have got all, so that they are at rest.
func percentiles(receivers []*receiver) (p50, p99 time.Duration) {
	var all []time.Duration
	for _, r := range receivers {
		all = append(all, r.latencies...)
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*99/100]
}
