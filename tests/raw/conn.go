package raw

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"sluice/amqp"
	"sluice/amqp/frames"
)

// patience is how long a Conn waits for the answers of its peer.
const patience = 60 * time.Second

// outLimit is how many bytes may wait to be written before senders wait.
const outLimit = 256 << 10

// Options say how to connect. The zero Options are an anonymous client with
// frames of 16 KiB and a wide window.
type Options struct {
	Container  string
	MaxFrame   uint32 // max-frame-size; 0: 16384
	Window     uint32 // incoming-window of sessions in frames; 0: 2048
	ReadBuffer int    // bytes of the socket's receive buffer; 0: the system's
	SendBuffer int
	Silent     bool // send no heartbeats
}

// A Conn is a connection to a router.
type Conn struct {
	opts Options
	nc   net.Conn

	mu       sync.Mutex // guards all of the connection and what hangs on it
	cond     *sync.Cond
	out      []byte
	spare    []byte
	idle     bool // the writer waits
	paused   bool // nothing is read
	err      error
	open     *frames.Open // the peer's
	closed   *frames.Close
	sessions map[uint16]*Session // by the channel of the peer
	ours     []*Session          // by our channel
	dirty    []*Session          // with dispositions to send
	wg       sync.WaitGroup
}

// Dial connects and opens.
func Dial(addr string, o Options) (*Conn, error) {
	if o.MaxFrame == 0 {
		o.MaxFrame = 16384
	}
	if o.Window == 0 {
		o.Window = 2048
	}
	if o.Container == "" {
		o.Container = "raw"
	}
	nc, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	if t, ok := nc.(*net.TCPConn); ok {
		if o.ReadBuffer > 0 {
			t.SetReadBuffer(o.ReadBuffer)
		}
		if o.SendBuffer > 0 {
			t.SetWriteBuffer(o.SendBuffer)
		}
	}
	return Client(nc, o)
}

// Client opens a connection over nc.
func Client(nc net.Conn, o Options) (*Conn, error) {
	c := &Conn{opts: o, nc: nc, sessions: map[uint16]*Session{}}
	c.cond = sync.NewCond(&c.mu)
	h := frames.ProtocolHeader(frames.ProtoAMQP)
	c.out = append(c.out, h[:]...)
	c.out = frames.AppendFrame(c.out, frames.TypeAMQP, 0, &frames.Open{
		ContainerID: o.Container, MaxFrameSize: o.MaxFrame, ChannelMax: frames.DefaultChannelMax,
		IdleTimeout: 0,
	})
	c.wg.Go(c.read)
	c.wg.Go(c.write)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.wait(func() bool { return c.open != nil }); err != nil {
		nc.Close()
		return nil, err
	}
	if c.open.HasIdleTimeout && !o.Silent {
		c.heartbeat(time.Duration(c.open.IdleTimeout) * time.Millisecond / 2)
	}
	return c, nil
}

// heartbeat sends an empty frame every so often until the connection has ended.
func (c *Conn) heartbeat(every time.Duration) {
	time.AfterFunc(every, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.out = frames.AppendHeartbeat(c.out)
			c.flush()
			c.heartbeat(every)
		}
	})
}

// wait waits, with mu held, until ok or the connection or patience has ended.
func (c *Conn) wait(ok func() bool) error {
	timer := time.AfterFunc(patience, func() {
		c.mu.Lock()
		c.cond.Broadcast()
		c.mu.Unlock()
	})
	defer timer.Stop()
	end := time.Now().Add(patience)
	for !ok() {
		if c.err != nil {
			return c.err
		}
		if time.Now().After(end) {
			return errors.New("raw: the peer does not answer")
		}
		c.cond.Wait()
	}
	return nil
}

// Err is why the connection has ended, or nil.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Condition is the error of the peer's close, or nil.
func (c *Conn) Condition() *amqp.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == nil {
		return nil
	}
	return c.closed.Error
}

// Remote is the peer's open.
func (c *Conn) Remote() *frames.Open { return c.open }

// Pause stops reading from the socket. What has been read is still handled.
func (c *Conn) Pause() { c.setPaused(true) }

// Resume reads on.
func (c *Conn) Resume() { c.setPaused(false) }

func (c *Conn) setPaused(v bool) {
	c.mu.Lock()
	c.paused = v
	c.cond.Broadcast()
	c.mu.Unlock()
}

// Close closes in order and waits for the peer's answer.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.paused = false
	c.append(0, &frames.Close{})
	err := c.wait(func() bool { return c.closed != nil })
	if c.closed != nil {
		err = nil
	}
	c.mu.Unlock()
	c.Abort()
	return err
}

// Abort drops the connection without a word.
func (c *Conn) Abort() {
	c.fail(net.ErrClosed)
	c.nc.Close()
	c.wg.Wait()
}

func (c *Conn) fail(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	c.paused = false
	c.cond.Broadcast()
	c.mu.Unlock()
}

// append adds a frame to what is to be written; mu is held.
func (c *Conn) append(channel uint16, f interface{ Append([]byte) []byte }) {
	c.out = frames.AppendFrame(c.out, frames.TypeAMQP, channel, f)
	c.flush()
}

func (c *Conn) flush() {
	if c.idle {
		c.idle = false
		c.cond.Broadcast()
	}
}

// Write writes bytes as they are.
func (c *Conn) Write(b []byte) {
	c.mu.Lock()
	c.out = append(c.out, b...)
	c.flush()
	c.mu.Unlock()
}

func (c *Conn) write() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for len(c.out) == 0 && c.err == nil {
			c.idle = true
			c.cond.Wait()
		}
		if c.err != nil && len(c.out) == 0 {
			return
		}
		b := c.out
		c.out = c.spare[:0]
		waiting := len(b) >= outLimit
		c.mu.Unlock()
		_, err := c.nc.Write(b)
		c.mu.Lock()
		c.spare = b
		if waiting || len(c.out) >= outLimit {
			c.cond.Broadcast()
		}
		if err != nil {
			if c.err == nil {
				c.err = err
			}
			c.cond.Broadcast()
			return
		}
	}
}

func (c *Conn) read() {
	err := c.readFrames()
	c.nc.Close()
	c.fail(err)
}

func (c *Conn) readFrames() error {
	// The buffer is small enough that Pause stops soon.
	in := bufio.NewReaderSize(c.nc, 64<<10)
	var h [8]byte
	if _, err := io.ReadFull(in, h[:]); err != nil {
		return err
	}
	if _, err := frames.ParseProtocolHeader(h[:]); err != nil {
		return err
	}
	frame := make([]byte, 0, 64<<10)
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if in.Buffered() < frames.HeaderSize {
			c.settleDirty()
			c.mu.Unlock()
			_, err := in.Peek(frames.HeaderSize)
			c.mu.Lock()
			if err != nil {
				return err
			}
		}
		for c.paused && c.err == nil {
			c.cond.Wait()
		}
		b, err := in.Peek(frames.HeaderSize)
		if err != nil {
			return err
		}
		hd, err := frames.ParseHeader(b)
		if err != nil {
			return err
		}
		if hd.Size > c.opts.MaxFrame {
			return fmt.Errorf("raw: frame of %d bytes, %d were allowed", hd.Size, c.opts.MaxFrame)
		}
		size := int(hd.Size)
		if size <= in.Size() && in.Buffered() >= size {
			b, _ = in.Peek(size)
		} else {
			if cap(frame) < size {
				frame = make([]byte, size)
			}
			b = frame[:size]
			c.settleDirty()
			c.mu.Unlock()
			_, err := io.ReadFull(in, b)
			c.mu.Lock()
			if err != nil {
				return err
			}
			size = 0
		}
		if err := c.handle(hd.Channel, b[hd.BodyOffset():]); err != nil {
			return err
		}
		in.Discard(size)
	}
}

// handle handles a frame; mu is held.
func (c *Conn) handle(channel uint16, body []byte) error {
	if len(body) == 0 {
		return nil
	}
	code, _, err := frames.PeekPerformative(body)
	if err != nil {
		return err
	}
	switch code {
	case frames.PerformativeOpen:
		c.open = new(frames.Open)
		_, err = c.open.Decode(body)
		c.cond.Broadcast()
		return err
	case frames.PerformativeClose:
		c.closed = new(frames.Close)
		_, err = c.closed.Decode(body)
		c.append(0, &frames.Close{})
		if c.err == nil {
			c.err = &CloseError{c.closed.Error}
		}
		c.cond.Broadcast()
		return err
	case frames.PerformativeBegin:
		var f frames.Begin
		if _, err := f.Decode(body); err != nil {
			return err
		}
		if int(f.RemoteChannel) >= len(c.ours) {
			return fmt.Errorf("raw: begin for channel %d", f.RemoteChannel)
		}
		s := c.ours[f.RemoteChannel]
		c.sessions[channel] = s
		s.begun(&f)
		c.cond.Broadcast()
		return nil
	}
	s := c.sessions[channel]
	if s == nil {
		return fmt.Errorf("raw: %v on channel %d without a session", code, channel)
	}
	return s.handle(code, body)
}

// CloseError is the end of a connection by the peer's close.
type CloseError struct{ Err *amqp.Error }

func (e *CloseError) Error() string {
	if e.Err == nil {
		return "raw: the peer closed the connection"
	}
	return "raw: the peer closed the connection: " + e.Err.Error()
}

// Data returns a message with one data section of these bytes.
func Data(body []byte) []byte { return append(DataHeader(len(body)), body...) }

// DataHeader returns what comes before n bytes of a data section.
func DataHeader(n int) []byte {
	if n < 256 {
		return []byte{0x00, 0x53, 0x75, 0xa0, byte(n)}
	}
	return binary.BigEndian.AppendUint32([]byte{0x00, 0x53, 0x75, 0xb0}, uint32(n))
}
