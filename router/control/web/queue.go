package web

import (
	"net"
	"sync"
)

// A Queue is a net.Listener whose connections somebody else accepts.
type Queue struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// NewQueue returns a Queue that claims to listen on addr.
func NewQueue(addr net.Addr) *Queue {
	return &Queue{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

// Put hands over a connection, which is closed if the Queue is.
func (q *Queue) Put(c net.Conn) {
	select {
	case q.conns <- c:
	case <-q.done:
		c.Close()
	}
}

// Accept implements net.Listener.
func (q *Queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (q *Queue) Close() error {
	q.once.Do(func() { close(q.done) })
	return nil
}

// Addr implements net.Listener.
func (q *Queue) Addr() net.Addr { return q.addr }
