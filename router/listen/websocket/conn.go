package websocket

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// A Conn is the byte stream of a WebSocket. Like those of any net.Conn, its
// methods may be called by one who reads, one who writes and others at the same
// time. Whoever has got it from Accept calls Finish at the end.
type Conn struct {
	net.Conn // the socket, for its addresses
	in       *bufio.Reader
	ws       *websocket.Conn

	message io.Reader // that is being read; nil between two. The reader's.

	mu       sync.Mutex // a leaf lock; guards the fields below
	reading  bool
	writing  int
	deadline time.Time // of reads
	closed   bool      // nothing more is read or written
	aborted  bool      // nor is a close frame
}

// errText ends a connection that sends text (§5.6).
var errText = errors.New("the client sent a text message; AMQP is in binary ones")

// Read reads what is there of the client's messages, or waits for some. It
// returns io.EOF when the client has closed the WebSocket.
func (c *Conn) Read(p []byte) (n int, err error) {
	if err := c.beginRead(); err != nil {
		return 0, err
	}
	defer c.endRead()
	for n == 0 && err == nil {
		if c.message == nil {
			if err = c.next(); err != nil {
				break
			}
		}
		n, err = c.readSome(p)
		if err == io.EOF { // of the message
			c.message, err = nil, nil
		}
	}
	return n, c.explain(err)
}

// next begins the next message.
func (c *Conn) next() error {
	kind, message, err := c.ws.Reader(context.Background())
	if err != nil {
		return err
	}
	if kind != websocket.MessageBinary {
		c.closeWith(websocket.StatusUnsupportedData, errText.Error())
		return errText
	}
	c.message = message
	return nil
}

// readSome reads what has arrived of the message, without waiting for more of it
// than the first byte: the library fills what it is given as far as the frame
// reaches, which may be long before its last byte is sent.
func (c *Conn) readSome(p []byte) (int, error) {
	n, err := c.message.Read(p[:min(1, len(p))])
	if more := min(c.in.Buffered(), len(p)-n); n > 0 && err == nil && more > 0 {
		m, err := c.message.Read(p[n : n+more])
		return n + m, err
	}
	return n, err
}

// explain turns the library's errors into those of a net.Conn.
func (c *Conn) explain(err error) error {
	var closed websocket.CloseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &closed):
		switch closed.Code {
		case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
			return io.EOF
		}
		return fmt.Errorf("the client closed the WebSocket: %d %s", closed.Code, closed.Reason)
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return err
}

func (c *Conn) beginRead() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return net.ErrClosed
	case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
		return os.ErrDeadlineExceeded
	}
	c.reading = true
	c.Conn.SetReadDeadline(c.deadline)
	return nil
}

func (c *Conn) endRead() {
	c.mu.Lock()
	c.reading = false
	c.mu.Unlock()
}

// Write sends p as one binary message.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return 0, net.ErrClosed
	}
	c.writing++
	c.mu.Unlock()
	err := c.ws.Write(context.Background(), websocket.MessageBinary, p)
	c.mu.Lock()
	c.writing--
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// ping tells whether a ping is answered. One that comes while something is being
// written is not: the answer could not overtake that, and a client that does not
// read must not be cut off because its pings go unanswered.
func (c *Conn) ping(context.Context, []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writing == 0
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	if c.reading {
		return c.Conn.SetReadDeadline(t)
	}
	return nil
}

// SetDeadline implements net.Conn. Writes have none: who waits for one closes.
func (c *Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// CloseWrite tells the client that nothing more comes, with a close frame, and
// waits for its answer, closeTime at most. It is called by who reads.
func (c *Conn) CloseWrite() error {
	c.closeWith(websocket.StatusNormalClosure, "")
	return nil
}

// Close ends the connection, and never waits: at once where somebody reads or
// writes, who then gets an error, and otherwise with Finish, in good order.
func (c *Conn) Close() error {
	c.mu.Lock()
	abort := (c.reading || c.writing > 0) && !c.aborted
	c.closed = true
	c.aborted = c.aborted || abort
	c.mu.Unlock()
	if abort {
		return c.drop()
	}
	return nil
}

// drop closes the socket without a word; TLS would want to say one.
func (c *Conn) drop() error {
	if t, ok := c.Conn.(*tls.Conn); ok {
		return t.NetConn().Close()
	}
	return c.Conn.Close()
}

// closeWith does the closing handshake, closeTime at most.
func (c *Conn) closeWith(code websocket.StatusCode, reason string) {
	c.mu.Lock()
	c.reading, c.closed = false, true
	aborted := c.aborted
	c.mu.Unlock()
	if !aborted {
		c.Conn.SetDeadline(time.Now().Add(closeTime))
		c.ws.Close(code, reason)
	}
}

// Finish closes the WebSocket, if that has not been done: it sends a close frame
// and waits for the client's, closeTime at most. Nobody may read or write any
// more.
func (c *Conn) Finish() {
	c.closeWith(websocket.StatusNormalClosure, "")
	c.ws.CloseNow()
	c.Conn.Close()
}
