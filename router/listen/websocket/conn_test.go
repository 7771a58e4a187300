package websocket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// pipes is a listener whose connections are pipes without any buffer, so that
// what is not read is not written either.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// connect returns both ends of a WebSocket, and the client's socket.
func connect(t testing.TB) (*Conn, *websocket.Conn, net.Conn) {
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	served := make(chan *Conn, 1)
	end := make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := Accept(w, r, Options{})
		served <- c
		<-end
	})}
	done := make(chan struct{})
	go func() { s.Serve(l); close(done) }()
	var socket net.Conn
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		a, b := net.Pipe()
		socket = a
		l.conns <- b
		return a, nil
	}}}
	ws, _, err := websocket.Dial(context.Background(), "ws://127.0.0.1/", &websocket.DialOptions{HTTPClient: client, Subprotocols: []string{"amqp"}})
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	c := <-served
	t.Cleanup(func() {
		socket.Close()
		c.Finish()
		close(end)
		s.Close()
		<-done
	})
	return c, ws, socket
}

// Messages are a stream: where one ends means nothing, and one without content
// is nothing (§1.2 of the AMQP WebSocket binding).
func TestMessagesAreAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ws, _ := connect(t)
		want := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
		go func() {
			rest := want
			for _, n := range []int{1, 0, 7, 200, 70_000, 1, 500_000} {
				ws.Write(context.Background(), websocket.MessageBinary, rest[:n])
				rest = rest[n:]
			}
			ws.Write(context.Background(), websocket.MessageBinary, rest)
		}()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v, equal %v", err, bytes.Equal(got, want))
		}
		go func() {
			c.Write(want[:1])
			c.Write(want[1:100_000])
			c.Write(want[100_000:])
		}()
		var back []byte
		for len(back) < len(want) {
			kind, b, err := ws.Read(context.Background())
			if err != nil || kind != websocket.MessageBinary {
				t.Fatal(kind, err)
			}
			back = append(back, b...)
		}
		if !bytes.Equal(back, want) {
			t.Error("other bytes came back")
		}
	})
}

// frame is a frame of a client, masked with zeroes.
func frame(first byte, size int, payload string) []byte {
	b := []byte{first, 0x80 | 127, 0, 0, 0, 0, byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size), 0, 0, 0, 0}
	return append(b, payload...)
}

const (
	binary   = 0x82 // a whole binary message
	fragment = 0x02 // the beginning of one
	more     = 0x00 // and of what follows
	ping     = 0x89
)

// What has arrived of a message is read before the rest of it has been sent.
func TestBytesAreNotHeldForTheEndOfTheirMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, socket := connect(t)
		b := make([]byte, 1000)
		for _, test := range []struct {
			send []byte
			want string
		}{
			{frame(fragment, 100, "begin"), "begin"},
			{[]byte("more"), "more"},
			{bytes.Repeat([]byte("x"), 91), string(bytes.Repeat([]byte("x"), 91))},
			{frame(more, 1<<30, "and on"), "and on"},
		} {
			go socket.Write(test.send)
			if n, err := c.Read(b); err != nil || string(b[:n]) != test.want {
				t.Fatalf("read %q, %v; want %q", b[:n], err, test.want)
			}
		}
	})
}

// Nothing is read from the socket that nobody asked for, but what one buffer holds.
func TestNothingIsReadAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, socket := connect(t)
		written := make(chan int, 1)
		go func() {
			socket.Write(frame(binary, 1<<20, ""))
			n, _ := socket.Write(make([]byte, 1<<20))
			written <- n
		}()
		synctest.Wait()
		b := make([]byte, 100)
		io.ReadFull(c, b)
		synctest.Wait()
		socket.Close()
		if n := <-written; n > readBuffer {
			t.Errorf("%d bytes were read ahead of 100", n)
		}
	})
}

// Text is no AMQP: the WebSocket is closed with 1003 (RFC 6455 §7.4.1).
func TestTextIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ws, _ := connect(t)
		go ws.Write(context.Background(), websocket.MessageText, []byte("AMQP"))
		go c.Read(make([]byte, 10))
		if _, _, err := ws.Read(context.Background()); websocket.CloseStatus(err) != websocket.StatusUnsupportedData {
			t.Error(err)
		}
	})
}

// A ping is answered with its own content (§5.5.3), without harm to what is read.
func TestPingsAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, socket := connect(t)
		go func() {
			socket.Write(append([]byte{ping, 0x82, 0, 0, 0, 0}, "hi"...))
			socket.Write(frame(binary, 3, "abc"))
		}()
		got := make(chan string, 1)
		go func() {
			b := make([]byte, 10)
			n, _ := c.Read(b)
			got <- string(b[:n])
		}()
		pong := make([]byte, 4)
		if _, err := io.ReadFull(socket, pong); err != nil || !bytes.Equal(pong, []byte{0x8a, 2, 'h', 'i'}) {
			t.Errorf("% x, %v", pong, err)
		}
		if s := <-got; s != "abc" {
			t.Errorf("read %q", s)
		}
	})
}

// A client that does not read may ping: it gets no answers, and stays.
func TestPingsOfThoseWhoDoNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, socket := connect(t)
		wrote := make(chan error, 1)
		go func() { _, err := c.Write([]byte("waits")); wrote <- err }()
		synctest.Wait()
		go func() {
			for range 100 {
				socket.Write([]byte{ping, 0x80, 0, 0, 0, 0})
			}
			time.Sleep(time.Minute)
			socket.Write(frame(binary, 1, "x"))
		}()
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 7)
		if _, err := io.ReadFull(socket, b); err != nil || string(b[2:]) != "waits" {
			t.Errorf("%q, %v", b, err)
		}
		if err := <-wrote; err != nil {
			t.Error(err)
		}
	})
}

// The closing handshake, begun by either side (§7.1.2).
func TestCloseHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ws, _ := connect(t)
		closed := make(chan error, 1)
		go func() { closed <- ws.Close(websocket.StatusGoingAway, "bye") }()
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%v, want EOF", err)
		}
		if err := <-closed; err != nil {
			t.Errorf("the client's close: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, ws, _ := connect(t)
		go func() { c.Write([]byte("last")); c.Close(); c.Finish() }()
		if _, b, err := ws.Read(context.Background()); err != nil || string(b) != "last" {
			t.Fatal(string(b), err)
		}
		if _, _, err := ws.Read(context.Background()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Errorf("%v, want a normal closure", err)
		}
	})
}

// A client that does not answer a close frame, or goes on sending, is waited for
// no longer than closeTime.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	for name, client := range map[string]func(net.Conn){
		"deaf": func(net.Conn) {},
		"silent": func(socket net.Conn) {
			io.Copy(io.Discard, socket)
		},
		"talking": func(socket net.Conn) {
			go io.Copy(io.Discard, socket)
			socket.Write(frame(binary, 1<<31-1, "x"))
			for {
				if _, err := socket.Write(make([]byte, 100)); err != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, socket := connect(t)
				gone := make(chan struct{})
				go func() { client(socket); close(gone) }()
				start := time.Now()
				c.Close()
				if d := time.Since(start); d > 0 {
					t.Errorf("Close took %v", d)
				}
				c.Finish()
				if d := time.Since(start); d > closeTime+time.Millisecond {
					t.Errorf("it took %v", d)
				}
				<-gone
			})
		})
	}
}

// Deadlines end reads, also those that wait, and Close ends whoever waits.
func TestReadsAreEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := connect(t)
		start := time.Now()
		time.AfterFunc(time.Second, func() { c.SetReadDeadline(time.Now()) })
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := connect(t)
		errs := make(chan error, 2)
		go func() { _, err := c.Read(make([]byte, 1)); errs <- err }()
		go func() { _, err := c.Write([]byte("x")); errs <- err }()
		synctest.Wait()
		start := time.Now()
		c.Close()
		for range 2 {
			if err := <-errs; err == nil {
				t.Error("no error")
			}
		}
		if d := time.Since(start); d > 0 {
			t.Errorf("it took %v", d)
		}
		if _, err := c.Write([]byte("x")); err != net.ErrClosed {
			t.Error(err)
		}
	})
}
