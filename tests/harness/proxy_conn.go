package harness

import (
	"net"
	"sync"
	"time"
)

// inFlight is how many bytes may be under way in one direction of a proxied
// connection: much more than a long and wide path holds, and bounded.
const inFlight = 8 << 20

// A proxied connection has two sockets and, for each direction, a queue of
// chunks with the time at which they arrive.
type proxied struct {
	p      *Proxy
	number int
	near   net.Conn // of the side that connected
	far    net.Conn // nil until connected
	ended  bool
	reset  bool
	queues [2]flight
}

type flight struct {
	chunks []chunk
	bytes  int
	done   bool // the reader has seen the end
}

type chunk struct {
	due  time.Time
	data []byte
}

// run connects to the target and relays until both directions have ended.
func (c *proxied) run(target string) {
	defer c.remove()
	if !c.waitThaw() {
		return
	}
	far, err := net.DialTimeout("tcp", target, Patience)
	c.p.mu.Lock()
	if err != nil || c.ended {
		c.end(true)
		c.p.mu.Unlock()
		if err == nil {
			far.Close()
		}
		return
	}
	c.far = far
	c.p.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { c.read(Forth, c.near) })
	wg.Go(func() { c.write(Forth, c.far) })
	wg.Go(func() { c.read(Back, c.far) })
	wg.Go(func() { c.write(Back, c.near) })
	wg.Wait()
}

func (c *proxied) remove() {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.end(false)
	delete(c.p.conns, c)
	c.p.changed.Broadcast()
}

// end closes the sockets; mu is held. What waits in the queues is lost.
func (c *proxied) end(reset bool) {
	if c.ended {
		return
	}
	c.ended, c.reset = true, reset
	for _, s := range []net.Conn{c.near, c.far} {
		switch {
		case s == nil:
		case reset:
			abort(s)
		default:
			s.Close()
		}
	}
}

// waitThaw waits while the proxy is frozen; false when the connection has ended.
func (c *proxied) waitThaw() bool {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	for c.p.frozen && !c.ended {
		c.p.changed.Wait()
	}
	return !c.ended
}

// read queues what comes from a socket until it ends.
func (c *proxied) read(direction int, from net.Conn) {
	p, q := c.p, &c.queues[direction]
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		if n > 0 && !c.ended {
			q.chunks = append(q.chunks, chunk{time.Now().Add(p.delay[direction]), append([]byte(nil), buf[:n]...)})
			q.bytes += n
			p.changed.Broadcast()
		}
		for (p.frozen || q.bytes > inFlight) && !c.ended && err == nil {
			p.changed.Wait()
		}
		if err != nil || c.ended {
			q.done = true
			p.changed.Broadcast()
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
}

// write delivers chunks when they are due. An end of the other socket follows
// what came before it.
func (c *proxied) write(direction int, to net.Conn) {
	p, q := c.p, &c.queues[direction]
	var free time.Time // when the bounded bandwidth takes the next chunk
	for {
		p.mu.Lock()
		for !c.ended {
			if p.frozen || len(q.chunks) == 0 && !q.done {
				p.changed.Wait()
				continue
			}
			if len(q.chunks) == 0 {
				break
			}
			due := q.chunks[0].due
			if p.rate > 0 && free.After(due) {
				due = free
			}
			wait := time.Until(due)
			if wait <= 0 {
				break
			}
			timer := time.AfterFunc(wait, func() { p.set(func() {}) })
			p.changed.Wait()
			timer.Stop()
		}
		if c.ended {
			p.mu.Unlock()
			return
		}
		if len(q.chunks) == 0 { // the end
			p.mu.Unlock()
			if t, ok := to.(*net.TCPConn); ok {
				t.CloseWrite()
			}
			return
		}
		data := q.chunks[0].data
		q.chunks[0] = chunk{}
		q.chunks = q.chunks[1:]
		rate, tap := p.rate, p.tap
		p.mu.Unlock()
		if tap != nil {
			tap(c.number, direction, data)
		}
		if rate > 0 {
			free = time.Now().Add(time.Duration(len(data)) * time.Second / time.Duration(rate))
		}
		_, err := to.Write(data)
		p.mu.Lock()
		q.bytes -= len(data)
		if err == nil {
			p.bytes[direction] += int64(len(data))
		} else {
			c.end(true)
		}
		p.changed.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}
