package harness

import (
	"net"
	"sync"
	"testing"
	"time"
)

// A Proxy is a TCP relay whose network can be made worse and better while it
// runs: slow, narrow, frozen, cut, closed to new connections. Bytes are never
// lost within a connection, as TCP loses none.
//
// It has its own address from the beginning, so that one end can be told where
// the other will be.
type Proxy struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu      sync.Mutex // guards all below, and the proxied connections
	changed *sync.Cond // anything below, or time for a chunk
	target  string
	delay   [2]time.Duration // by direction
	rate    int              // bytes per second for each direction; 0: no bound
	frozen  bool
	refuse  bool
	closed  bool
	bytes   [2]int64
	tap     func(conn, direction int, b []byte)
	total   int
	conns   map[*proxied]struct{}
}

// Directions of a Proxy: from the side that connects, and back to it.
const (
	Forth = iota
	Back
)

// StartProxy listens on a free port of the loopback and relays to target, which
// may be set later. The proxy ends with the test.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, target: target, conns: map[*proxied]struct{}{}}
	p.changed = sync.NewCond(&p.mu)
	p.wg.Go(p.accept)
	t.Cleanup(p.Close)
	return p
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Target sets where new connections lead.
func (p *Proxy) Target(addr string) { p.set(func() { p.target = addr }) }

// Delay makes bytes arrive so much later, by direction.
func (p *Proxy) Delay(forth, back time.Duration) {
	p.set(func() { p.delay = [2]time.Duration{forth, back} })
}

// Bandwidth bounds the bytes per second of each direction of a connection; 0 is
// no bound.
func (p *Proxy) Bandwidth(bytes int) { p.set(func() { p.rate = bytes }) }

// Freeze stops all bytes. Connections stay, new ones are taken and stay silent:
// nobody is told anything, as behind a pulled cable.
func (p *Proxy) Freeze() { p.set(func() { p.frozen = true }) }

// Refuse makes new connections end at once.
func (p *Proxy) Refuse() { p.set(func() { p.refuse = true }) }

// Heal takes back Delay, Bandwidth, Freeze and Refuse.
func (p *Proxy) Heal() {
	p.set(func() { p.delay, p.rate, p.frozen, p.refuse = [2]time.Duration{}, 0, false, false })
}

// Cut ends all connections in order (FIN); what is on its way is lost.
func (p *Proxy) Cut() { p.set(func() { p.endAll(false) }) }

// Reset ends all connections with a reset (RST).
func (p *Proxy) Reset() { p.set(func() { p.endAll(true) }) }

// CutOne ends the oldest connection in order and tells whether there was one.
func (p *Proxy) CutOne() (cut bool) {
	p.set(func() {
		var oldest *proxied
		for c := range p.conns {
			if oldest == nil || c.number < oldest.number {
				oldest = c
			}
		}
		if cut = oldest != nil; cut {
			oldest.end(false)
		}
	})
	return cut
}

// Tap sets a function that sees all that is delivered, in order for each
// direction of each connection, which are numbered from 0. It may not keep b.
func (p *Proxy) Tap(see func(conn, direction int, b []byte)) { p.set(func() { p.tap = see }) }

// Bytes is how many bytes were delivered so far, by direction.
func (p *Proxy) Bytes() (forth, back int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes[Forth], p.bytes[Back]
}

// Conns is the number of connections: those that live, and all there ever were.
func (p *Proxy) Conns() (live, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns), p.total
}

// Close ends the proxy and all its connections, and waits for its goroutines.
func (p *Proxy) Close() {
	p.set(func() {
		p.closed = true
		p.endAll(true)
	})
	p.listener.Close()
	p.wg.Wait()
}

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.changed.Broadcast()
}

// endAll ends all connections; mu is held.
func (p *Proxy) endAll(reset bool) {
	for c := range p.conns {
		c.end(reset)
	}
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		if p.closed || p.refuse {
			abort(near)
			p.mu.Unlock()
			continue
		}
		target := p.target
		c := &proxied{p: p, number: p.total, near: near}
		p.total++
		p.conns[c] = struct{}{}
		p.mu.Unlock()
		p.wg.Go(func() { c.run(target) })
	}
}

func abort(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	c.Close()
}
