package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"sluice/amqp"
	"sluice/amqp/frames"
)

const (
	workers   = 8    // connections that are made at the same time
	smallRead = 4096 // bytes; for connections that carry little
	spareFDs  = 200  // descriptors that are not for connections
)

// scale measures what does not depend on messages.
func (b *bench) scale(ctx context.Context) ([]Fact, error) {
	s := &scale{b: b, ctx: ctx}
	// The burst goes first, so that its minute passes meanwhile.
	burst, err := s.burst()
	if err != nil {
		return nil, fmt.Errorf("burst: %w", err)
	}
	defer burst.p.stop()
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"start", s.start},
		{"links on one connection", func() error { return s.links(1, max(10_000/b.divide, 1)) }},
		{"links on many connections", func() error { return s.links(max(1000/b.divide, 2), 100) }},
		{"idle connections", s.idle},
		{"cycles", s.cycles},
	} {
		b.say("%s", step.name)
		if err := step.run(); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	if err := s.afterBurst(burst); err != nil {
		return nil, fmt.Errorf("burst: %w", err)
	}
	return s.facts, nil
}

type scale struct {
	b     *bench
	ctx   context.Context
	facts []Fact
	rss   int64 // of an idle router
}

func (s *scale) add(name, format string, args ...any) {
	s.facts = append(s.facts, Fact{name, fmt.Sprintf(format, args...)})
}

// pause waits, a little if the bench is made small.
func (s *scale) pause(d time.Duration) {
	select {
	case <-time.After(d / time.Duration(s.b.divide)):
	case <-s.ctx.Done():
	}
}

func (s *scale) start() error {
	info, err := os.Stat(s.b.binary)
	if err != nil {
		return err
	}
	var took []time.Duration
	for i := range 5 {
		p, d, err := s.b.start(s.ctx, false)
		if err != nil {
			return err
		}
		took = append(took, d)
		if i == 0 {
			s.pause(2 * time.Second)
			s.rss, _ = memoryOf(p.pid())
		}
		p.stop()
	}
	s.add("start to ready", "%.0f ms", median(took, func(d *time.Duration) float64 { return max(1, float64(d.Milliseconds())) }))
	s.add("idle RSS", "%s MiB", mib(s.rss))
	s.add("binary", "%s MiB", mib(info.Size()))
	return nil
}

func mib(n int64) string { return number(float64(n) / (1 << 20)) }

// each runs f for 0 to n-1 on several goroutines until one fails.
func each(n int, f func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(i); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// links attaches links, each to an address of its own.
func (s *scale) links(connections, each int) error {
	p, _, err := s.b.start(s.ctx, false)
	if err != nil {
		return err
	}
	defer p.stop()
	before, _ := memoryOf(p.pid())
	cpu, start := cpuOf(p.pid()), time.Now()
	peers, err := s.connect(connections, func(i int, k *peer) error { return attachMany(k, i, each) }, p.addr)
	defer closeAll(peers)
	if err != nil {
		return err
	}
	took, used := time.Since(start), cpuOf(p.pid())-cpu
	after, _ := memoryOf(p.pid())
	n := connections * each
	on := "one connection"
	if connections > 1 {
		on = thousands(int64(connections)) + " connections"
	}
	s.add(thousands(int64(n))+" links on "+on, "%.2f s, %s µs CPU and %.1f KiB RSS each",
		took.Seconds(), number(used.Seconds()*1e6/float64(n)), float64(max(after-before, 0))/1024/float64(n))
	return nil
}

func attachMany(k *peer, i, n int) error {
	wrote := make(chan error, 1)
	go func() {
		var b []byte
		for j := range n {
			a := attachment(fmt.Sprintf("l%d", j), fmt.Sprintf("scale/%d/%d", i, j), amqp.RoleReceiver, false)
			a.Handle = uint32(j)
			b = frames.AppendFrame(b, frames.TypeAMQP, 0, a)
		}
		wrote <- k.write(b)
	}()
	k.nc.SetReadDeadline(time.Now().Add(2 * handshake))
	var a frames.Attach
	for range n {
		if err := k.want(frames.PerformativeAttach, &a); err != nil {
			k.nc.Close()
			<-wrote
			return err
		}
	}
	return <-wrote
}

// connect makes connections, and does something on each.
func (s *scale) connect(n int, then func(int, *peer) error, addr string) ([]*peer, error) {
	peers := make([]*peer, n)
	return peers, each(n, func(i int) error {
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		k, err := dialSized(addr, smallRead)
		if err != nil {
			return err
		}
		peers[i] = k
		return then(i, k)
	})
}

func closeAll(peers []*peer) {
	for _, k := range peers {
		if k != nil {
			k.close()
		}
	}
}

// idle measures connections with one session and no link. What the kernel has
// for their sockets is not in the resident memory of the process.
func (s *scale) idle() error {
	n := 10_000 / s.b.divide
	note := ""
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Max < uint64(n+spareFDs) {
		note = fmt.Sprintf(" (fewer than %s: %d descriptors are allowed)", thousands(int64(n)), limit.Max)
		n = int(limit.Max) - spareFDs
	}
	p, _, err := s.b.start(s.ctx, false)
	if err != nil {
		return err
	}
	defer p.stop()
	s.pause(time.Second)
	before, _ := memoryOf(p.pid())
	start := time.Now()
	peers, err := s.connect(n, func(int, *peer) error { return nil }, p.addr)
	defer closeAll(peers)
	if err != nil {
		return err
	}
	took := time.Since(start)
	for _, k := range peers {
		k.write(frames.AppendHeartbeat(nil))
	}
	s.pause(3 * time.Second)
	after, _ := memoryOf(p.pid())
	if fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid())); err == nil && len(fds) < n {
		return fmt.Errorf("%d of %d connections are left", len(fds), n)
	}
	s.add("an idle connection, of "+thousands(int64(n))+note, "%s KiB RSS; %.2f s for all to connect",
		number(float64(after-before)/1024/float64(n)), took.Seconds())
	return nil
}

// cycles connects, attaches, sends one message, waits for its outcome and
// closes, again and again.
func (s *scale) cycles() error {
	p, _, err := s.b.start(s.ctx, false)
	if err != nil {
		return err
	}
	defer p.stop()
	address := s.b.address()
	k, err := dial(p.addr)
	if err != nil {
		return err
	}
	defer k.close()
	w := &Work{Credit: 1000}
	r := newReceiver(k, w, &tally{base: time.Now()})
	if err := r.attach(address, "in"); err != nil {
		return err
	}
	go r.run()
	n := max(10_000/s.b.divide, 4)
	if err := each(n/4, func(int) error { return cycle(p.addr, address) }); err != nil {
		return err
	}
	before, _ := memoryOf(p.pid())
	cpu, start := cpuOf(p.pid()), time.Now()
	if err := each(n, func(int) error { return cycle(p.addr, address) }); err != nil {
		return err
	}
	took, used := time.Since(start), cpuOf(p.pid())-cpu
	after, _ := memoryOf(p.pid())
	s.add("connect, attach, send, close", "%s a second, %s µs CPU each (%s a second for a core), RSS %s → %s MiB after %s",
		number(float64(n)/took.Seconds()), number(used.Seconds()*1e6/float64(n)), number(ratio(float64(n), used.Seconds())),
		mib(before), mib(after), thousands(int64(n)))
	return nil
}

func cycle(addr, address string) error {
	k, err := dialSized(addr, smallRead)
	if err != nil {
		return err
	}
	defer k.close()
	k.nc.SetDeadline(time.Now().Add(handshake))
	w := &Work{Size: 100, Count: 1, Credit: 1}
	s := newSender(k, w, &tally{base: time.Now()})
	if err := k.send(attachment("out", address, amqp.RoleSender, false)); err != nil {
		return err
	}
	var f frames.Flow
	for !f.HasLinkCredit || f.LinkCredit == 0 {
		if err := k.want(frames.PerformativeFlow, &f); err != nil {
			return err
		}
	}
	s.batch(1, 1)
	s.v = s.iov
	if err := k.writev(&s.v); err != nil {
		return err
	}
	var d frames.Disposition
	if err := k.want(frames.PerformativeDisposition, &d); err != nil {
		return err
	}
	if err := k.send(&frames.Close{}); err != nil {
		return err
	}
	var c frames.Close
	return k.want(frames.PerformativeClose, &c)
}

// bursted is a router that has carried much and is idle now.
type bursted struct {
	p     *proc
	peak  int64
	since time.Time
}

func (s *scale) burst() (*bursted, error) {
	s.b.say("burst")
	p, _, err := s.b.start(s.ctx, false)
	if err != nil {
		return nil, err
	}
	w := Work{Size: 1 << 20, Count: max(250/s.b.divide, 1), Credit: 50, Pairs: 8, Fanout: 1}
	o, err := w.Drive(s.ctx, p.addr, s.b.address(), meter(p.pid()))
	if err == nil {
		err = o.Stalled
	}
	if err != nil {
		p.stop()
		return nil, err
	}
	return &bursted{p, o.Peak, time.Now()}, nil
}

func (s *scale) afterBurst(b *bursted) error {
	s.b.say("a minute after the burst")
	s.pause(time.Minute - time.Since(b.since))
	rss, _ := memoryOf(b.p.pid())
	if rss == 0 {
		return fmt.Errorf("the router has ended: %s", b.p.tail())
	}
	s.add("RSS a minute after 2 GB in messages of 1 MiB", "%s MiB, %.1f × idle (peak %s)", mib(rss), ratio(float64(rss), float64(s.rss)), mib(b.peak))
	return nil
}
