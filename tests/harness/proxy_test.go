package harness

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// echo is a server that sends back what it receives.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

func connect(t *testing.T, p *Proxy) net.Conn {
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(Patience))
	t.Cleanup(func() { c.Close() })
	return c
}

// ask sends bytes and wants them back; it returns how long that took.
func ask(t *testing.T, c net.Conn, text string) time.Duration {
	t.Helper()
	start := time.Now()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("got %q, %v", got, err)
	}
	return time.Since(start)
}

func TestProxy_PassesAndCounts(t *testing.T) {
	p := StartProxy(t, echo(t))
	c := connect(t, p)
	big := bytes.Repeat([]byte("0123456789"), 1<<20)
	go c.Write(big)
	got := make([]byte, len(big))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, big) {
		t.Fatalf("what came back differs (%v)", err)
	}
	Eventually(Patience, func() bool { _, back := p.Bytes(); return back == int64(len(big)) })
	if forth, back := p.Bytes(); forth != int64(len(big)) || back != forth {
		t.Errorf("counted %d and %d of %d bytes", forth, back, len(big))
	}
	// An end in order passes, after the bytes before it.
	io.WriteString(c, "last")
	c.(*net.TCPConn).CloseWrite()
	if rest, err := io.ReadAll(c); err != nil || string(rest) != "last" {
		t.Errorf("rest %q, %v", rest, err)
	}
	if !Eventually(Patience, func() bool { live, total := p.Conns(); return live == 0 && total == 1 }) {
		t.Error("the connection is still there")
	}
}

func TestProxy_DelaysEachDirection(t *testing.T) {
	p := StartProxy(t, echo(t))
	c := connect(t, p)
	p.Delay(30*time.Millisecond, 20*time.Millisecond)
	if d := ask(t, c, "hello"); d < 50*time.Millisecond {
		t.Errorf("there and back in %v", d)
	}
	p.Heal()
	ask(t, c, "hello")
}

func TestProxy_BoundsBandwidth(t *testing.T) {
	p := StartProxy(t, echo(t))
	c := connect(t, p)
	p.Bandwidth(1 << 20)
	start := time.Now()
	const n = 300 << 10
	go c.Write(make([]byte, n))
	if _, err := io.ReadFull(c, make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	// The last chunk of a direction is not waited for.
	if d := time.Since(start); d < 200*time.Millisecond {
		t.Errorf("%d bytes in %v", n, d)
	}
}

func TestProxy_FreezesAndThaws(t *testing.T) {
	p := StartProxy(t, echo(t))
	c := connect(t, p)
	ask(t, c, "before")
	p.Freeze()
	later := connect(t, p) // it is taken, and silent
	for _, c := range []net.Conn{c, later} {
		io.WriteString(c, "during")
		c.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
		if n, err := c.Read(make([]byte, 10)); n != 0 || !isTimeout(err) {
			t.Errorf("read %d, %v", n, err)
		}
		c.SetDeadline(time.Now().Add(Patience))
	}
	p.Heal()
	for _, c := range []net.Conn{c, later} {
		got := make([]byte, 6)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "during" {
			t.Errorf("after the thaw %q, %v", got, err)
		}
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

func TestProxy_CutsAndRefuses(t *testing.T) {
	p := StartProxy(t, echo(t))
	c := connect(t, p)
	ask(t, c, "before")
	p.Cut()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after a cut %d, %v", n, err)
	}
	c = connect(t, p)
	ask(t, c, "again")
	p.Reset()
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after a reset %d, %v", n, err)
	}
	p.Refuse()
	ends(t, p)
	p.Heal()
	ask(t, connect(t, p), "healed")
}

func TestProxy_CutsTheOldest(t *testing.T) {
	p := StartProxy(t, echo(t))
	first, second := connect(t, p), connect(t, p)
	ask(t, first, "a")
	ask(t, second, "b")
	if !p.CutOne() {
		t.Fatal("there was none")
	}
	if _, err := first.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the oldest goes on: %v", err)
	}
	ask(t, second, "c")
}

// ends wants a new connection to end at once, even before Dial has returned.
func ends(t *testing.T, p *Proxy) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(Patience))
	if n, err := c.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("it reads %d, %v", n, err)
	}
}

// A target that is not there ends the connection, as one that refuses does.
func TestProxy_NoTarget(t *testing.T) {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	gone := l.Addr().String()
	l.Close()
	p := StartProxy(t, gone)
	ends(t, p)
	p.Target(echo(t))
	ask(t, connect(t, p), "found")
}
