package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// serveRelay copies bytes from the second connection to the first, 64 KiB at a
// time: what it costs to move bytes through a process at all.
func serveRelay(announce io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(announce, l.Addr())
	out, err := l.Accept()
	if err != nil {
		return err
	}
	in, err := l.Accept()
	if err != nil {
		return err
	}
	// The wrappers hide that these are sockets, which would be spliced.
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, make([]byte, 64<<10))
	out.Close()
	return err
}

// relayed is what a relay took for some bytes.
type relayed struct {
	Bytes   int64
	Elapsed time.Duration
	CPU     time.Duration
}

// driveRelay sends bytes through a relay of its own.
func driveRelay(ctx context.Context, bytes int64) (relayed, error) {
	p, err := startRole(ctx, "relay")
	if err != nil {
		return relayed{}, err
	}
	defer p.stop()
	to, err := net.Dial("tcp", p.addr)
	if err != nil {
		return relayed{}, err
	}
	defer to.Close()
	from, err := net.Dial("tcp", p.addr)
	if err != nil {
		return relayed{}, err
	}
	defer from.Close()
	defer context.AfterFunc(ctx, func() { to.Close(); from.Close() })()
	start := time.Now()
	go func() {
		b := make([]byte, batchBytes)
		for left := bytes; left > 0; left -= int64(len(b)) {
			b = b[:min(left, int64(len(b)))]
			if _, err := from.Write(b); err != nil {
				return
			}
		}
		from.(*net.TCPConn).CloseWrite()
	}()
	r := relayed{}
	b := make([]byte, readSize)
	for {
		n, err := to.Read(b)
		r.Bytes += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return r, err
		}
	}
	r.Elapsed = time.Since(start)
	<-p.done // it ends by itself
	r.CPU = p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	if r.Bytes != bytes {
		return r, fmt.Errorf("the relay carried %d of %d bytes", r.Bytes, bytes)
	}
	return r, nil
}
