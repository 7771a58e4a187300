package amqptest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

var _ net.Conn = (*End)(nil)

func TestPipeBlocksAtItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := NewPipe(4)
		done := make(chan error, 1)
		go func() {
			_, err := a.Write([]byte("0123456789"))
			done <- err
		}()
		synctest.Wait()
		if a.Unread() != 4 || len(done) != 0 {
			t.Fatalf("%d bytes of 4 are written, the writer has returned: %v", a.Unread(), len(done) != 0)
		}
		got := make([]byte, 3)
		io.ReadFull(b, got)
		synctest.Wait()
		if a.Unread() != 4 || string(got) != "012" {
			t.Fatalf("%d, %q", a.Unread(), got)
		}
		a.SetLimit(100)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		a.CloseWrite()
		rest, err := io.ReadAll(b)
		if err != nil || !bytes.Equal(rest, []byte("3456789")) {
			t.Fatalf("%q, %v", rest, err)
		}
	})
}

func TestPipeDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := NewPipe(1)
		start := time.Now()
		b.SetReadDeadline(start.Add(time.Second))
		if _, err := b.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
		b.SetReadDeadline(time.Time{})
		a.SetWriteDeadline(start.Add(3 * time.Second))
		if n, err := a.Write([]byte("ab")); n != 1 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Fatalf("%d, %v after %v", n, err, time.Since(start))
		}
		// A deadline that is set while somebody reads counts for that read.
		c, d := NewPipe(1)
		time.AfterFunc(time.Second, func() { c.SetReadDeadline(time.Now()) })
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		d.Close()
	})
}

func TestPipeClose(t *testing.T) {
	a, b := NewPipe(0)
	a.Write([]byte("x"))
	a.Close()
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Error("read of a closed end:", err)
	}
	if _, err := b.Write([]byte("x")); err == nil {
		t.Error("write to a closed end worked")
	}
	if all, err := io.ReadAll(b); string(all) != "x" || err != nil {
		t.Errorf("what was written before the close: %q, %v", all, err)
	}
}

func TestPatterns(t *testing.T) {
	const line = `[0] detach handle=1 closed error={condition=a:b description="x y"}`
	for pattern, ok := range map[string]bool{
		"detach":                 true,
		"detach handle=1 closed": true,
		"detach !error":          false,
		"detach !closed":         false,
		"detach handle=11":       false,
		"attach":                 false,
		"[0] detach":             true,
		"[1] detach":             false,
		"detach ~condition=a:b":  true,
		"detach ~condition=a:c":  false,
		`detach error={condition=a:b description="x y"}`: true,
	} {
		if got := mismatch(line, pattern) == ""; got != ok {
			t.Errorf("%s: %v", pattern, got)
		}
	}
}
