package driver

import (
	"net"
	"time"

	"sluice/buffers"
)

// A wire is a socket as the driver uses it. Read may be called by one goroutine
// and write by one other at the same time.
type wire interface {
	// read waits for bytes and appends them to in.
	read(in *input) error
	// tryWrite writes what can be written without blocking and returns the
	// rest of the vector.
	tryWrite(vec [][]byte) ([][]byte, error)
	// write blocks until all of the vector is written.
	write(vec [][]byte) error
	// closeWrite tells the peer that nothing more comes.
	closeWrite()
	setReadDeadline(time.Time)
	close() error
}

// streamWire is any net.Conn: TLS, a WebSocket, a pipe of a test. Nothing can be
// written to it without the risk of blocking, so everything goes through the
// writer goroutine.
type streamWire struct{ net.Conn }

// streamRead is the size of the buffer that waits on a stream: a TLS record.
const streamRead = 16 << 10

func (w streamWire) read(in *input) error {
	in.room(max(in.need, streamRead))
	n, err := w.Conn.Read(in.free())
	in.filled(n)
	if n > 0 {
		return nil
	}
	return err
}

func (w streamWire) tryWrite(vec [][]byte) ([][]byte, error) { return vec, nil }

func (w streamWire) write(vec [][]byte) error {
	for _, b := range vec {
		if _, err := w.Conn.Write(b); err != nil {
			return err
		}
	}
	return nil
}

func (w streamWire) closeWrite() {
	if c, ok := w.Conn.(interface{ CloseWrite() error }); ok {
		c.CloseWrite()
	}
}

func (w streamWire) setReadDeadline(t time.Time) { w.Conn.SetReadDeadline(t) }
func (w streamWire) close() error                { return w.Conn.Close() }

// An input is the read side's memory: a Chunk into which the socket is read,
// and whose bytes are handed out in Slices. An idle connection has none.
type input struct {
	chunk      *buffers.Chunk
	start, end int  // bytes read and not handled
	size       int  // of the next Chunk; grows and shrinks with what reads yield
	need       int  // bytes of the frame that start begins
	fresh      bool // bytes were given that no read yielded
}

const (
	minRead = 8 << 10          // bytes; the first read of a connection
	maxRead = buffers.MaxChunk // bytes; reads of a busy one
	minFree = 2 << 10          // bytes; with less room left a new Chunk is taken
)

// room makes sure that a read has somewhere to go and that a frame of need
// bytes, of which some have been read, fits.
func (in *input) room(need int) {
	have := in.end - in.start
	if in.chunk != nil {
		b := in.chunk.Bytes()
		if have == 0 && in.chunk.Sole() {
			in.start, in.end = 0, 0
		}
		if len(b)-in.end >= minFree && len(b)-in.start >= need {
			return
		}
	}
	in.size = max(in.size, minRead)
	in.move(max(in.size, need))
}

// move continues in another Chunk.
func (in *input) move(size int) {
	next := buffers.GetChunk(size)
	if in.chunk != nil {
		copy(next.Bytes(), in.chunk.Bytes()[in.start:in.end])
		in.chunk.Release(1)
	}
	in.chunk, in.start, in.end = next, 0, in.end-in.start
}

func (in *input) free() []byte { return in.chunk.Bytes()[in.end:] }

// filled records that n bytes were read.
func (in *input) filled(n int) {
	if n == len(in.free()) {
		in.size = min(max(2*in.size, 2*n), maxRead)
	} else if n < in.size/8 {
		in.size = max(in.size/2, minRead)
	}
	in.end += n
}

// rest gives up memory that a waiting connection does not need: all of it, or
// all but the frame of need bytes that has begun.
func (in *input) rest(need int) {
	switch {
	case in.chunk == nil:
	case in.start == in.end:
		in.chunk.Release(1)
		in.chunk, in.start, in.end = nil, 0, 0
	case in.chunk.Size() > 2*need:
		in.move(need)
	}
}

func (in *input) drop() {
	if in.chunk != nil {
		in.chunk.Release(1)
	}
	*in = input{}
}
