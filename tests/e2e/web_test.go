package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/coder/websocket"

	"sluice/buffers"
	"sluice/router"
	"sluice/router/control/config"
	"sluice/router/control/logging"
	wire "sluice/tests/raw"
)

// A site is a router with HTTP listeners.
type site struct {
	t    *testing.T
	http []string // addresses
	stop func()   // and wait

	mu  sync.Mutex // guards the log
	log strings.Builder
}

func (s *site) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(b)
}

func (s *site) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// newSite starts a router. It has to end with nothing left.
func newSite(t *testing.T, text string) *site {
	t.Helper()
	c, problems := config.LoadText("x.conf", text, config.Options{ID: "R"})
	if c == nil {
		t.Fatal(problems)
	}
	s := &site{t: t}
	base := buffers.Outstanding()
	logs := logging.New(logging.Options{Stderr: s})
	r, err := router.New(router.Options{Config: c, Logs: logs})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	for _, a := range r.HTTPAddrs() {
		s.http = append(s.http, a.String())
	}
	s.stop = sync.OnceFunc(func() {
		stop()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("the router does not stop")
		}
		logs.Close()
		if n := buffers.Outstanding(); n != base {
			t.Errorf("%d chunks are left, %d were there before", n, base)
		}
	})
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Log(s.logged())
		}
	})
	for status := 0; status != 200; {
		status, _ = s.get("http://" + s.http[0] + "/readyz")
	}
	return s
}

const webListener = "listener {\nhost: 127.0.0.1\nport: 0\nhttp: yes\nname: web\n"

func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// socket is a WebSocket as a stream.
func (s *site) socket(url string, tc *tls.Config) net.Conn {
	s.t.Helper()
	o := &websocket.DialOptions{Subprotocols: []string{"amqp"}}
	if tc != nil {
		o.HTTPClient = &http.Client{Transport: &http.Transport{TLSClientConfig: tc}}
	}
	ws, _, err := websocket.Dial(patience(s.t), url, o)
	if err != nil {
		s.t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	c := websocket.NetConn(context.Background(), ws, websocket.MessageBinary)
	s.t.Cleanup(func() { ws.CloseNow() })
	return c
}

func (s *site) get(url string) (int, string) {
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	r, err := c.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	return r.StatusCode, string(b)
}

// exchange sends a message and receives it.
func exchange(t *testing.T, c net.Conn, o *goamqp.ConnOptions, size int) {
	t.Helper()
	ctx := patience(t)
	conn, err := goamqp.NewConn(ctx, c, o)
	if err != nil {
		t.Fatal(err)
	}
	session, err := conn.NewSession(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	in, err := session.NewReceiver(ctx, "q", nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := session.NewSender(ctx, "q", nil)
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Repeat([]byte("content "), size/8)
	sent := make(chan error, 1)
	go func() { sent <- out.Send(ctx, goamqp.NewMessage(body), nil) }()
	m, err := in.Receive(ctx, nil)
	if err != nil || !bytes.Equal(m.GetData(), body) {
		t.Fatalf("%v, %d bytes of %d", err, len(m.GetData()), len(body))
	}
	if err := in.AcceptMessage(ctx, m); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	conn.Close() // an error is that the stream has ended, as it should
}

// A client over a WebSocket is a client like any other.
func TestWebSocket(t *testing.T) {
	s := newSite(t, webListener+"role: normal\n}\n")
	for _, size := range []int{8, 8 << 20} {
		exchange(t, s.socket("ws://"+s.http[0]+"/any/path", nil), nil, size)
	}
	s.stop()
	if log := s.logged(); strings.Count(log, "Connection Opened") != 2 || !strings.Contains(log, "role=normal") || !strings.Contains(log, "ws=true") || !strings.Contains(log, "peer=127.0.0.1:") {
		t.Errorf("log:\n%s", log)
	}
}

// secrets makes an authority and certificates, and returns what a client needs.
func secrets(t *testing.T, dir string) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client-7"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	write("cert.pem", "CERTIFICATE", der)
	keyDER, _ := x509.MarshalPKCS8PrivateKey(key)
	write("key.pem", "PRIVATE KEY", keyDER)
	os.WriteFile(filepath.Join(dir, "users"), []byte("alice:{plain}secret\n"), 0o600)
	parsed, _ := x509.ParseCertificate(der)
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// TLS and SASL are those of the listener: a user with a password, or the
// certificate that TLS has verified; and HTTP asks for the same.
func TestWebSocketSecurity(t *testing.T) {
	dir := t.TempDir()
	client := secrets(t, dir)
	anonymous := client.Clone()
	anonymous.Certificates = nil
	profile := "sslProfile {\nname: p\ncaCertFile: " + dir + "/cert.pem\ncertFile: " + dir + "/cert.pem\nprivateKeyFile: " + dir + "/key.pem\nuidFormat: n\n}\n"
	s := newSite(t, profile+
		webListener+"}\n"+
		"listener {\nhost: 127.0.0.1\nport: 0\nhttp: yes\nsslProfile: p\nauthenticatePeer: yes\nsaslUsersFile: "+dir+"/users\n}\n"+
		"listener {\nhost: 127.0.0.1\nport: 0\nhttp: yes\nsslProfile: p\nrequireSsl: yes\nauthenticatePeer: yes\n}\n")
	either, certificate := s.http[1], s.http[2]
	exchange(t, s.socket("wss://"+either+"/", anonymous), &goamqp.ConnOptions{SASLType: goamqp.SASLTypePlain("alice", "secret")}, 100_000)
	exchange(t, s.socket("wss://"+either+"/", client), &goamqp.ConnOptions{SASLType: goamqp.SASLTypeExternal("")}, 100)
	exchange(t, s.socket("ws://"+either+"/", nil), &goamqp.ConnOptions{SASLType: goamqp.SASLTypePlain("alice", "secret")}, 100)
	exchange(t, s.socket("wss://"+certificate+"/", client), &goamqp.ConnOptions{SASLType: goamqp.SASLTypeExternal("")}, 100)
	if _, err := goamqp.NewConn(patience(t), s.socket("wss://"+either+"/", anonymous), &goamqp.ConnOptions{SASLType: goamqp.SASLTypePlain("alice", "wrong")}); err == nil {
		t.Error("a wrong password was accepted")
	}
	if _, err := goamqp.NewConn(patience(t), s.socket("wss://"+either+"/", anonymous), nil); err == nil {
		t.Error("nobody had to say who he is")
	}
	for _, test := range []struct {
		url    string
		status int
	}{
		{"https://" + either + "/healthz", 200},
		{"http://" + either + "/healthz", 200},
		{"https://" + either + "/metrics", 401},
		{"https://alice:secret@" + either + "/metrics", 200},
		{"https://" + certificate + "/healthz", 0},
		{"http://" + certificate + "/healthz", 400},
	} {
		if status, text := s.get(test.url); status != test.status {
			t.Errorf("%s: %d %.200s", test.url, status, text)
		}
	}
	s.stop()
	if log := s.logged(); !strings.Contains(log, "sasl=PLAIN tls=true user=alice") || !strings.Contains(log, "sasl=EXTERNAL tls=true user=client-7") {
		t.Errorf("log:\n%s", log)
	}
}

// Settings of an HTTP listener say what is there.
func TestHTTPSettings(t *testing.T) {
	root := t.TempDir()
	os.WriteFile(filepath.Join(root, "index.html"), []byte("<p>console"), 0o644)
	s := newSite(t, webListener+"}\n"+
		"listener {\nhost: 127.0.0.1\nport: 0\nhttpRootDir: "+root+"\nwebsockets: no\nmetrics: no\n}\n"+
		"listener {\nhost: 127.0.0.1\nport: 0\nhttp: yes\nhealthz: no\n}\n")
	for _, test := range []struct {
		listener int
		path     string
		status   int
		want     string
	}{
		{0, "/", 200, "AMQP 1.0 over WebSocket"},
		{0, "/healthz", 200, "OK"},
		{0, "/metrics", 200, "sluice_connections 0"},
		{1, "/", 200, "<p>console"},
		{1, "/metrics", 404, "no such file"},
		{1, "/healthz", 200, "OK"},
		{2, "/healthz", 404, "no /healthz here"},
		{2, "/metrics", 200, "sluice_links 0"},
	} {
		if status, text := s.get("http://" + s.http[test.listener] + test.path); status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("%d %s: %d %.200s", test.listener, test.path, status, text)
		}
	}
	_, r, err := websocket.Dial(patience(t), "ws://"+s.http[1], nil)
	if err == nil || r.StatusCode != http.StatusForbidden {
		t.Errorf("%v %v", r, err)
	}
}

// The router closes AMQP first and then the WebSocket, also when it shuts down.
func TestWebSocketCloses(t *testing.T) {
	s := newSite(t, webListener+"}\n")
	ws, _, err := websocket.Dial(patience(t), "ws://"+s.http[0], &websocket.DialOptions{Subprotocols: []string{"amqp"}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	got := make(chan error, 1)
	var bytesGot []byte
	send := func(b ...byte) { ws.Write(patience(t), websocket.MessageBinary, b) }
	send('A', 'M', 'Q', 'P', 0, 1, 0, 0)
	send(0, 0, 0, 17, 2, 0, 0, 0, 0, 0x53, 0x10, 0xc0, 4, 1, 0xa1, 1, 'c')
	for !bytes.Contains(bytesGot, []byte{0x53, 0x10}) {
		_, b, err := ws.Read(patience(t))
		if err != nil {
			t.Fatal(err)
		}
		bytesGot = append(bytesGot, b...)
	}
	go func() {
		for {
			_, b, err := ws.Read(patience(t))
			if err != nil {
				got <- err
				return
			}
			if bytes.Contains(b, []byte{0x53, 0x18}) {
				if !bytes.Contains(b, []byte("amqp:connection:forced")) {
					t.Errorf("close % x", b)
				}
				send(0, 0, 0, 12, 2, 0, 0, 0, 0, 0x53, 0x18, 0x45)
			}
		}
	}()
	s.stop()
	if err := <-got; websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("%v, want a normal closure", err)
	}
}

// A WebSocket that says nothing is closed like any other connection.
func TestWebSocketHandshakeDeadline(t *testing.T) {
	s := newSite(t, webListener+"initialHandshakeTimeoutSeconds: 1\n}\n")
	c := s.socket("ws://"+s.http[0], nil)
	start := time.Now()
	if n, err := c.Read(make([]byte, 100)); err == nil {
		t.Errorf("%d bytes", n)
	}
	if d := time.Since(start); d < 900*time.Millisecond || d > 30*time.Second {
		t.Errorf("after %v", d)
	}
}

// A receiver that stops reading holds as much memory as over TCP: stage three,
// the session's window, and what is being written; and its message goes on later.
func TestWebSocketStoppedReceiver(t *testing.T) {
	s := newSite(t, webListener+"sessionBytes: 1Mi\n}\n")
	dial := func() *wire.Conn {
		c, err := wire.Client(s.socket("ws://"+s.http[0], nil), wire.Options{Container: "raw", MaxFrame: 16 << 10, Window: 2048})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Abort)
		return c
	}
	receiving := dial()
	half := make(chan struct{})
	const size = 64 << 20
	var got int64
	in := receiving.MustSession().MustReceiver("large", wire.ReceiverOptions{Credit: 1, Frame: func(f *wire.Frame) {
		before := got
		if got += int64(len(f.Payload)); before < size/2 && got >= size/2 {
			close(half)
		}
	}})
	out := dial().MustSession().MustSender("large", wire.SenderOptions{})
	sent := make(chan error, 1)
	go func() { sent <- out.Stream(size, zeroes{}, false) }()
	<-half
	receiving.Pause()
	var last int64
	for same := 0; same < 5; time.Sleep(50 * time.Millisecond) {
		_, text := s.get("http://" + s.http[0] + "/metrics")
		_, after, _ := strings.Cut(text, "\nsluice_links_held ")
		if n := buffers.InUse(); n == last && strings.HasPrefix(after, "1\n") {
			same++
		} else {
			last, same = n, 0
		}
	}
	const bound = 1<<20 + 512<<10 + 16<<10 + 128<<10 + 4*256<<10
	if last > bound {
		t.Errorf("%d bytes of buffers, the formula allows %d", last, bound)
	}
	receiving.Resume()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if err := in.WaitMessages(1); err != nil || in.Bytes() < size {
		t.Errorf("%d bytes, %v", in.Bytes(), err)
	}
}

type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) { clear(b); return len(b), nil }
