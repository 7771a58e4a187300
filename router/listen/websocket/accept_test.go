package websocket

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// serve returns the address of a server of WebSockets.
func serve(t testing.TB, o Options) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := Accept(w, r, o); err == nil {
			c.drop()
			c.Finish()
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

const upgrade = "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

// ask sends a request and returns the answer.
func ask(t testing.TB, addr, request string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, request)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(r.Body)
	return r, string(b)
}

// The first subprotocol of the client's that carries AMQP is chosen (RFC 6455
// §4.2.2).
func TestSubprotocols(t *testing.T) {
	addr := serve(t, Options{})
	for _, test := range []struct {
		offers string // lines
		status int
		chosen string
	}{
		{"Sec-WebSocket-Protocol: amqp\r\n", 101, "amqp"},
		{"Sec-WebSocket-Protocol: mqtt, binary, amqp\r\n", 101, "binary"},
		{"Sec-WebSocket-Protocol: AMQPWSB10\r\n", 101, "AMQPWSB10"},
		{"Sec-WebSocket-Protocol: mqtt\r\nSec-WebSocket-Protocol: amqp\r\n", 101, "amqp"},
		{"Sec-WebSocket-Protocol: AMQP\r\n", 101, "AMQP"},
		{"", 101, ""},
		{"Sec-WebSocket-Protocol: mqtt, stomp\r\n", 400, ""},
	} {
		r, text := ask(t, addr, upgrade+"Host: h\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"+test.offers+"\r\n")
		if r.StatusCode != test.status || r.Header.Get("Sec-WebSocket-Protocol") != test.chosen || r.Header.Get("Sec-WebSocket-Extensions") != "" {
			t.Errorf("%q: %s %v %s", test.offers, r.Status, r.Header, text)
		}
		if test.status == 101 && r.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" { // §1.3
			t.Error(r.Header)
		}
	}
}

// Web pages may connect from where they came from, and from where the listener
// says.
func TestOrigins(t *testing.T) {
	for _, test := range []struct {
		origins, host, origin string
		status                int
	}{
		{"", "127.0.0.1", "", 101},
		{"", "whatever", "", 101},
		{"", "127.0.0.1:1", "http://127.0.0.1:1", 101},
		{"", "localhost:1", "https://localhost:1", 101},
		{"", "[::1]:1", "http://[::1]:1", 101},
		{"", "127.0.0.1:1", "http://127.0.0.1:2", 403},
		{"", "127.0.0.1:1", "https://evil.example", 403},
		{"", "127.0.0.1:1", "null", 403},
		// A name that leads here is not this host (DNS rebinding).
		{"", "evil.example:1", "http://evil.example:1", 403},
		{"evil.example:1", "evil.example:1", "http://evil.example:1", 101},
		{"app.example", "127.0.0.1", "https://app.example", 101},
		{"*.example", "127.0.0.1", "https://app.example", 101},
		{"https://app.example", "127.0.0.1", "http://app.example", 403},
		{"https://app.example", "127.0.0.1", "https://app.example", 101},
		{"other.example", "127.0.0.1", "https://app.example", 403},
		{"*.example", "127.0.0.1", "https://APP.Example", 101},
		{"*.example", "evil.example", "https://evil.example", 403}, // by a pattern only
		{"https://*.example:8443", "127.0.0.1", "https://app.example:8443", 101},
		{"https://*.example:8443", "127.0.0.1", "https://app.example", 403},
		{"", "127.0.0.1", "app.example", 403}, // no URL
		{"*", "evil.example", "https://app.example", 101},
	} {
		addr := serve(t, Options{Origins: strings.Fields(test.origins)})
		request := upgrade + "Host: " + test.host + "\r\n"
		if test.origin != "" {
			request += "Origin: " + test.origin + "\r\n"
		}
		r, text := ask(t, addr, request+"\r\n")
		if r.StatusCode != test.status {
			t.Errorf("origins %q, host %q, origin %q: %s %s", test.origins, test.host, test.origin, r.Status, text)
		}
		if test.status == 403 && !strings.Contains(text, "websocketOrigins") {
			t.Errorf("origins %q, host %q, origin %q: the page is not told what helps: %s", test.origins, test.host, test.origin, text)
		}
	}
}

// What is no request for a WebSocket is told so.
func TestBadRequests(t *testing.T) {
	addr := serve(t, Options{})
	for request, status := range map[string]int{
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n":                                              http.StatusUpgradeRequired,
		strings.Replace(upgrade, "GET", "POST", 1) + "Host: h\r\n\r\n":                   http.StatusMethodNotAllowed,
		strings.Replace(upgrade, ": 13", ": 8", 1) + "Host: h\r\n\r\n":                   http.StatusBadRequest,
		strings.Replace(upgrade, "dGhlIHNhbXBsZSBub25jZQ==", "x", 1) + "Host: h\r\n\r\n": http.StatusBadRequest,
		strings.Replace(upgrade, "HTTP/1.1", "HTTP/1.0", 1) + "\r\n":                     http.StatusUpgradeRequired,
		// Each of the two would be welcome.
		upgrade + "Host: h\r\nOrigin: http://h\r\nOrigin: http://h\r\n\r\n": http.StatusBadRequest,
	} {
		if r, text := ask(t, addr, request); r.StatusCode != status || len(text) < 10 {
			t.Errorf("%q: %s %q", request, r.Status, text)
		}
	}
}

func TestAsked(t *testing.T) {
	for value, want := range map[string]bool{"websocket": true, "WebSocket": true, "h2c, websocket": true, "": false, "h2c": false} {
		if got := Asked(&http.Request{Header: http.Header{"Upgrade": {value}}}); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}

// Whatever a client sends, reading ends when the client does, and yields no more
// than was sent.
func FuzzRead(f *testing.F) {
	f.Add([]byte{})
	f.Add(frame(binary, 3, "abc"))
	f.Add(append(frame(fragment, 1, "a"), frame(more, 1, "b")...))
	f.Add(append([]byte{ping, 0x80, 0, 0, 0, 0}, frame(0x81, 1, "t")...))
	f.Add([]byte{0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8})
	f.Add(frame(binary, -1, "abc"))
	f.Add([]byte{0x82, 0x05, 'p', 'l', 'a', 'i', 'n'})
	f.Fuzz(func(t *testing.T, sent []byte) {
		c, _, socket := connect(t)
		go io.Copy(io.Discard, socket)
		go func() { socket.Write(sent); socket.Close() }()
		n, err := io.Copy(io.Discard, onlyRead{c})
		if n > int64(len(sent)) {
			t.Errorf("%d bytes of %d, %v", n, len(sent), err)
		}
	})
}

// onlyRead hides all else, so that small reads are made.
type onlyRead struct{ io.Reader }
