package driver

import (
	"io"
	"net"
	"syscall"
	"time"
	"unsafe"
)

// rawWire is a TCP or Unix socket on which reads and writes are tried without
// blocking, so that the goroutine that handled a batch can write its results,
// and a waiting connection holds no buffer.
type rawWire struct {
	conn net.Conn
	raw  syscall.RawConn

	readFn  func(fd uintptr) bool
	in      *input
	readErr error

	writeFn  func(fd uintptr) bool
	vec      [][]byte
	wait     bool // whether writeFn may wait for the socket
	iov      []syscall.Iovec
	writeErr error
}

func newWire(c net.Conn) wire {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return streamWire{c}
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return streamWire{c}
	}
	w := &rawWire{conn: c, raw: raw}
	w.readFn, w.writeFn = w.tryRead, w.tryWritev
	return w
}

func (w *rawWire) read(in *input) error {
	w.in, w.readErr = in, nil
	if err := w.raw.Read(w.readFn); err != nil {
		return err
	}
	return w.readErr
}

// tryRead is called when the socket may be readable. It returns false to wait.
func (w *rawWire) tryRead(fd uintptr) bool {
	in := w.in
	in.room(in.need)
	for {
		n, err := syscall.Read(int(fd), in.free())
		switch {
		case n > 0:
			in.filled(n)
			return true
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			in.rest(in.need)
			return false
		case err != nil:
			w.readErr = err
		default:
			w.readErr = io.EOF
		}
		return true
	}
}

func (w *rawWire) tryWrite(vec [][]byte) ([][]byte, error) {
	w.vec, w.wait, w.writeErr = vec, false, nil
	err := w.raw.Write(w.writeFn)
	if err == nil {
		err = w.writeErr
	}
	rest := w.vec
	w.vec = nil
	return rest, err
}

func (w *rawWire) write(vec [][]byte) error {
	w.vec, w.wait, w.writeErr = vec, true, nil
	err := w.raw.Write(w.writeFn)
	if err == nil {
		err = w.writeErr
	}
	w.vec = nil
	return err
}

// tryWritev writes until all is written or the socket is full. It returns false
// to be called again when there is room.
func (w *rawWire) tryWritev(fd uintptr) bool {
	for len(w.vec) > 0 {
		var n int
		var errno syscall.Errno
		if len(w.vec) == 1 {
			b := w.vec[0]
			r, _, e := syscall.Syscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
			n, errno = int(r), e
		} else {
			iov := w.iov[:0]
			for _, b := range w.vec {
				iov = append(iov, syscall.Iovec{Base: &b[0], Len: uint64(len(b))})
			}
			w.iov = iov
			r, _, e := syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&iov[0])), uintptr(len(iov)))
			clear(iov)
			n, errno = int(r), e
		}
		switch errno {
		case 0:
			w.vec = advance(w.vec, n)
		case syscall.EINTR:
		case syscall.EAGAIN:
			return !w.wait
		default:
			w.writeErr = errno
			return true
		}
	}
	return true
}

// advance drops the first n bytes of vec.
func advance(vec [][]byte, n int) [][]byte {
	for len(vec) > 0 && n >= len(vec[0]) {
		n -= len(vec[0])
		vec = vec[1:]
	}
	if n > 0 {
		vec[0] = vec[0][n:]
	}
	return vec
}

func (w *rawWire) closeWrite() {
	if c, ok := w.conn.(interface{ CloseWrite() error }); ok {
		c.CloseWrite()
	}
}

func (w *rawWire) setReadDeadline(t time.Time) { w.conn.SetReadDeadline(t) }

func (w *rawWire) close() error { return w.conn.Close() }
