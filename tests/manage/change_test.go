package manage

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"sluice/tests/harness"
)

// A listener that is created accepts, its connections outlive it, and the port is
// free when it has been deleted.
func TestListener(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	port := harness.FreePort(t)
	at := fmt.Sprintf("127.0.0.1:%d", port)
	l := a.must("operation=CREATE, type=...listener, name=new", map[string]any{"host": "127.0.0.1", "port": int32(port), "linkCapacity": int32(7)}).(map[string]any)
	if l["identity"] != "listener/"+at+":new" || l["port"] != fmt.Sprint(port) || l["linkCapacity"] != int32(7) {
		t.Errorf("got %v", l)
	}
	other := dial(t, "amqp://"+at, "$management")
	if rows := other.find("router.link", "linkDir", "in"); len(rows) != 2 || rows[1]["capacity"] != uint32(7) {
		t.Errorf("got %v", rows)
	}
	a.fails("operation=CREATE, type=...listener, name=again", map[string]any{"host": "127.0.0.1", "port": int32(port)}, 400, fmt.Sprintf("cannot listen on %s: bind: address already in use; listener new of this router has the port", at))
	if len(a.find("listener", "name", "again")) != 0 {
		t.Error("a listener that cannot listen is there")
	}
	a.must("operation=DELETE, type=...listener, name=new", nil)
	other.must("operation=READ, name=self", nil) // it is still connected
	wait(t, "the port is free", func() bool {
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	a.fails("operation=READ, type=...listener, name=new", nil, 404, "No entity with name=new")
	a.must("operation=CREATE, type=...listener, name=new", map[string]any{"host": "127.0.0.1", "port": int32(port)})
	dial(t, "amqp://"+at, "$management").must("operation=READ, name=self", nil)
}

// A listener for HTTP is created, serves, and can be deleted.
func TestListener_HTTP(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	port := harness.FreePort(t)
	a.must("operation=CREATE, type=...listener, name=web", map[string]any{"host": "127.0.0.1", "port": fmt.Sprint(port), "http": true})
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	must(t, err)
	defer c.Close()
	fmt.Fprint(c, "GET /healthz HTTP/1.0\r\n\r\n")
	answer := make([]byte, 15)
	if n, err := c.Read(answer); err != nil || !strings.Contains(string(answer[:n]), "200") {
		t.Errorf("got %q, %v", answer[:n], err)
	}
	a.must("operation=DELETE, type=...listener, name=web", nil)
	if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
	a.fails("operation=READ, type=...listener, name=web", nil, 404, "No entity with name=web")
	a.must("operation=CREATE, type=...listener, name=web", map[string]any{"host": "127.0.0.1", "port": fmt.Sprint(port), "http": true})
}

// A connector that is created connects, says how it is doing, and its connection
// ends with it.
func TestConnector(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	peer := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	host, port, _ := net.SplitHostPort(peer.Addr())
	a.must("operation=CREATE, type=...connector, name=c", map[string]any{"host": host, "port": port, "role": "route-container"})
	wait(t, "it is connected", func() bool {
		c := a.must("operation=READ, type=...connector, name=c", nil).(map[string]any)
		return c["connectionStatus"] == "SUCCESS"
	})
	rows := a.find("connection", "host", peer.Addr())
	if len(rows) != 1 || rows[0]["dir"] != "out" || rows[0]["role"] != "route-container" || rows[0]["container"] != "test" {
		t.Errorf("got %v", rows)
	}
	a.must("operation=DELETE, type=...connector, name=c", nil)
	wait(t, "it is not connected", func() bool { return len(a.find("connection", "host", peer.Addr())) == 0 })
	peer.WaitLog("the connector was deleted by management", 1)
	host, port, _ = net.SplitHostPort(b.HTTP[0])
	a.must("operation=CREATE, type=...connector, name=web", map[string]any{"host": host, "port": port})
	wait(t, "it says that a port is one for HTTP", func() bool {
		c := a.must("operation=READ, type=...connector, name=web", nil).(map[string]any)
		text, _ := c["connectionMsg"].(string)
		return strings.Contains(text, "a port for HTTP")
	})
	a.must("operation=DELETE, type=...connector, name=web", nil)
	a.must("operation=CREATE, type=...connector, name=nobody", map[string]any{"host": "127.0.0.1", "port": fmt.Sprint(harness.FreePort(t))})
	wait(t, "it says why not", func() bool {
		c := a.must("operation=READ, type=...connector, name=nobody", nil).(map[string]any)
		return c["connectionStatus"] == "CONNECTING" && c["connectionMsg"] != nil
	})
}

// A profile that is created serves TLS, and is not deleted from under those who
// use it.
func TestSSLProfile(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certificate(t, cert, key)
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	p := a.must("operation=CREATE, type=...sslProfile, name=p", map[string]any{"certFile": cert, "privateKeyFile": key, "password": ""}).(map[string]any)
	if p["identity"] != "sslProfile/p" || p["certFile"] != cert || p["password"] != nil {
		t.Errorf("got %v", p)
	}
	port := harness.FreePort(t)
	a.must("operation=CREATE, type=...listener, name=tls", map[string]any{"host": "127.0.0.1", "port": int32(port), "sslProfile": "p", "requireSsl": true})
	c := dialTLS(t, port)
	defer c.Close()
	if rows := a.find("connection", "isEncrypted", true); len(rows) != 1 || rows[0]["sslProto"] != "TLSv1.3" || rows[0]["sslCipher"] == nil {
		t.Errorf("got %v", rows)
	}
	a.fails("operation=DELETE, type=...sslProfile, name=p", nil, 400, "sslProfile 'p' is used by listener tls")
	a.must("operation=DELETE, type=...listener, name=tls", nil)
	a.must("operation=DELETE, type=...sslProfile, name=p", nil)
	a.fails("operation=DELETE, type=...sslProfile, name=p", nil, 404, "No entity with name=p")
}

// An address that is created holds for links that come afterwards, and stays over
// a reload of a file that does not speak of it.
func TestAddress(t *testing.T) {
	b := harness.Start(t, harness.Loopback+"address {\nprefix: file\ndistribution: closest\n}\n")
	a := dial(t, b.URL(), "$management")
	id := a.must("operation=CREATE, type=...router.config.address, name=x", map[string]any{"prefix": "mc", "distribution": "multicast"}).(map[string]any)["identity"].(string)
	a.must("operation=DELETE, type=...router.config.address, identity=1", nil)
	distribution := func(address string) any {
		t.Helper()
		s, err := a.conn.NewSession(context.Background(), nil)
		must(t, err)
		defer s.Close(context.Background())
		_, err = s.NewReceiver(context.Background(), address, nil)
		must(t, err)
		rows := a.find("router.address", "name", "M0"+address)
		if len(rows) != 1 || rows[0]["subscriberCount"] != uint32(1) {
			t.Fatalf("got %v", rows)
		}
		return rows[0]["distribution"]
	}
	check := func(when string) {
		t.Helper()
		if d := distribution("mc.1" + when); d != "multicast" {
			t.Errorf("%s: %v", when, d)
		}
		if d := distribution("file.1" + when); d != "balanced" {
			t.Errorf("%s: %v", when, d)
		}
	}
	check("at first")
	b.Signal(syscall.SIGHUP)
	b.WaitLog("configuration reloaded", 1)
	check("reloaded")
	a.must("operation=DELETE, type=...router.config.address, identity="+id, nil)
	if d := distribution("mc.2"); d != "balanced" {
		t.Errorf("deleted, and %v", d)
	}
}

// Levels of logs change at once; get-log has the lines.
func TestLog(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	file := filepath.Join(t.TempDir(), "agent.log")
	a.must("operation=UPDATE, type=...log, name=log/AGENT", map[string]any{"enable": "debug+", "outputFile": file})
	a.must("operation=READ, name=self", nil)
	wait(t, "the request is in the log", func() bool {
		text, _ := os.ReadFile(file)
		return strings.Contains(string(text), "Agent request")
	})
	lines := a.must("operation=get-log, limit=50", nil).([]any)
	found := false
	for _, l := range lines {
		row := l.([]any)
		found = found || row[0] == "AGENT" && row[1] == "debug" && strings.Contains(row[2].(string), "operation=READ")
	}
	if !found {
		t.Errorf("got %v", lines)
	}
	n := a.lines("AGENT", "debugCount")
	if n == 0 {
		t.Error("no line of AGENT is counted")
	}
	a.must("operation=UPDATE, type=...log, name=log/AGENT", map[string]any{"enable": "info+", "outputFile": nil})
	n = a.lines("AGENT", "debugCount")
	a.must("operation=READ, name=self", nil)
	if now := a.lines("AGENT", "debugCount"); now != n {
		t.Errorf("%d lines more are logged", now-n)
	}
}

// lines is how many lines of a module and level have been logged.
func (a *agent) lines(module, level string) int32 {
	a.t.Helper()
	return a.find("logStats", "name", module)[0][level].(int32)
}

// A link that is detached tells its peer why.
func TestLink_Detach(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	conn, err := goamqp.Dial(context.Background(), b.URL(), nil)
	must(t, err)
	defer conn.Close()
	s, err := conn.NewSession(context.Background(), nil)
	must(t, err)
	in, err := s.NewReceiver(context.Background(), "q", &goamqp.ReceiverOptions{Name: "victim"})
	must(t, err)
	rows := a.find("router.link", "linkName", "victim")
	if len(rows) != 1 {
		t.Fatalf("got %v", rows)
	}
	l := a.must("operation=UPDATE, type=...router.link, identity="+rows[0]["identity"].(string), map[string]any{"adminStatus": "disabled"}).(map[string]any)
	if l["adminStatus"] != "disabled" || l["operStatus"] != "down" {
		t.Errorf("got %v", l)
	}
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	if _, err := in.Receive(ctx, nil); err == nil || !strings.Contains(err.Error(), "detach-forced") {
		t.Errorf("got %v", err)
	}
}

// Frames of one connection are logged while that is asked for, and of all while
// the level says so.
func TestTrace(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a, other := dial(t, b.URL(), "$management"), dial(t, b.URL(), "$management")
	id := a.query("connection", "identity")[1]["identity"].(string)
	frames := func(level string) int32 { // that are logged of a request
		t.Helper()
		n := a.lines("PROTOCOL", level)
		other.must("operation=READ, name=self", nil)
		return a.lines("PROTOCOL", level) - n
	}
	trace := func(on bool) {
		t.Helper()
		c := a.must("operation=UPDATE, type=...connection, identity="+id, map[string]any{"enableProtocolTrace": on}).(map[string]any)
		if c["enableProtocolTrace"] != on {
			t.Errorf("got %v", c)
		}
	}
	if n := frames("infoCount"); n != 0 {
		t.Errorf("%d frames are logged", n)
	}
	trace(true)
	if n := frames("infoCount"); n < 2 {
		t.Errorf("%d frames are logged", n)
	}
	b.WaitLog("[C"+id+"]:FRAME:", 1)
	trace(false)
	if n := frames("infoCount"); n != 0 {
		t.Errorf("%d frames are logged", n)
	}
	a.must("operation=UPDATE, type=...log, name=log/PROTOCOL", map[string]any{"enable": "trace+"})
	if n := frames("traceCount"); n < 2 {
		t.Errorf("%d frames are logged", n)
	}
	a.must("operation=UPDATE, type=...log, name=log/PROTOCOL", map[string]any{"enable": "info+"})
	if n := frames("traceCount"); n != 0 {
		t.Errorf("%d frames are logged", n)
	}
}

// A peer that says nothing is dropped soon after it was told.
func TestConnection_SilentPeer(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	c, err := net.Dial("tcp", b.Addr())
	must(t, err)
	defer c.Close()
	open := []byte("AMQP\x00\x01\x00\x00\x00\x00\x00\x16\x02\x00\x00\x00\x00\x53\x10\xc0\x09\x01\xa1\x06silent")
	_, err = c.Write(open)
	must(t, err)
	var rows []map[string]any
	wait(t, "it is there", func() bool { rows = a.find("connection", "container", "silent"); return len(rows) == 1 })
	began := time.Now()
	a.must("operation=UPDATE, type=...connection, identity="+rows[0]["identity"].(string), map[string]any{"adminStatus": "deleted"})
	wait(t, "it is gone", func() bool { return len(a.find("connection", "container", "silent")) == 0 })
	if d := time.Since(began); d > 1500*time.Millisecond {
		t.Errorf("it took %v", d)
	}
	said := make([]byte, 4096)
	n := 0
	for {
		k, err := c.Read(said[n:])
		if n += k; err != nil {
			break
		}
	}
	if !strings.Contains(string(said[:n]), "amqp:connection:forced") {
		t.Errorf("it was told %q", said[:n])
	}
}
