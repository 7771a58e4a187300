package amqptest

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// DefaultLimit is the size in bytes of each direction's buffer of a Pipe: about
// that of a socket.
const DefaultLimit = 64 << 10

// NewPipe returns the two ends of a connection in memory. Each direction takes
// limit bytes that have not been read; 0 means DefaultLimit.
func NewPipe(limit int) (a, b *End) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	ab, ba := newHalf(limit), newHalf(limit)
	return &End{in: ba, out: ab, name: "a"}, &End{in: ab, out: ba, name: "b"}
}

// An End is one end of a Pipe. It is a net.Conn.
type End struct {
	in, out *half
	name    string
}

// half is one direction.
type half struct {
	mu     sync.Mutex // guards the fields below
	cond   sync.Cond
	buf    []byte
	limit  int
	ended  bool // nothing more will be written
	broken bool // nothing more will be read
	mute   bool // what is written is lost
	read   deadline
	write  deadline
}

type deadline struct {
	at    time.Time
	timer *time.Timer
}

func newHalf(limit int) *half {
	h := &half{limit: limit}
	h.cond.L = &h.mu
	return h
}

func (h *half) set(d *deadline, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = at
	if wait := time.Until(at); !at.IsZero() && wait > 0 {
		d.timer = time.AfterFunc(wait, func() {
			h.mu.Lock()
			h.cond.Broadcast()
			h.mu.Unlock()
		})
	}
	h.cond.Broadcast()
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

// Read implements net.Conn.
func (e *End) Read(b []byte) (int, error) {
	h := e.in
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.broken:
			return 0, net.ErrClosed
		case h.read.passed():
			return 0, os.ErrDeadlineExceeded
		case len(h.buf) > 0:
			return h.take(b), nil
		case h.ended:
			return 0, io.EOF
		}
		h.cond.Wait()
	}
}

func (h *half) take(b []byte) int {
	n := copy(b, h.buf)
	h.buf = h.buf[n:]
	h.cond.Broadcast()
	return n
}

// TryRead reads what is there without waiting. It returns io.EOF when nothing
// more will come.
func (e *End) TryRead(b []byte) (int, error) {
	h := e.in
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.broken:
		return 0, net.ErrClosed
	case len(h.buf) == 0 && h.ended:
		return 0, io.EOF
	}
	return h.take(b), nil
}

// Write implements net.Conn.
func (e *End) Write(b []byte) (n int, err error) {
	h := e.out
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.ended:
			return n, net.ErrClosed
		case h.broken:
			return n, io.ErrClosedPipe
		case len(b) == 0:
			return n, nil
		case h.write.passed():
			return n, os.ErrDeadlineExceeded
		case h.mute:
			return n + len(b), nil
		}
		if room := min(h.limit-len(h.buf), len(b)); room > 0 {
			h.buf = append(h.buf, b[:room]...)
			b = b[room:]
			n += room
			h.cond.Broadcast()
			continue
		}
		h.cond.Wait()
	}
}

// Mute loses what is written from now on, as a peer seems to that has stopped.
func (e *End) Mute() {
	e.out.mu.Lock()
	defer e.out.mu.Unlock()
	e.out.mute = true
}

// SetLimit changes how many bytes may be written that the other end has not read.
func (e *End) SetLimit(n int) {
	h := e.out
	h.mu.Lock()
	h.limit = n
	h.cond.Broadcast()
	h.mu.Unlock()
}

// Unread is the number of bytes written that the other end has not read.
func (e *End) Unread() int {
	h := e.out
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.buf)
}

// CloseWrite tells the other end that nothing more comes.
func (e *End) CloseWrite() error {
	h := e.out
	h.mu.Lock()
	h.ended = true
	h.cond.Broadcast()
	h.mu.Unlock()
	return nil
}

// Close implements net.Conn. What was written can still be read.
func (e *End) Close() error {
	e.CloseWrite()
	h := e.in
	h.mu.Lock()
	h.broken, h.buf = true, nil
	h.cond.Broadcast()
	h.mu.Unlock()
	e.SetDeadline(time.Time{})
	return nil
}

// SetDeadline implements net.Conn.
func (e *End) SetDeadline(t time.Time) error {
	e.SetReadDeadline(t)
	return e.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (e *End) SetReadDeadline(t time.Time) error {
	e.in.set(&e.in.read, t)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (e *End) SetWriteDeadline(t time.Time) error {
	e.out.set(&e.out.write, t)
	return nil
}

type addr string

func (addr) Network() string  { return "pipe" }
func (a addr) String() string { return string(a) }

// LocalAddr implements net.Conn.
func (e *End) LocalAddr() net.Addr { return addr("pipe:" + e.name) }

// RemoteAddr implements net.Conn.
func (e *End) RemoteAddr() net.Addr { return addr("pipe:other-than-" + e.name) }
