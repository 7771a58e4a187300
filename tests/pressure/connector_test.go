package pressure

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"sluice/tests/harness"
)

func connectorTo(host string, port any) string {
	return harness.Listeners("", fmt.Sprintf("connector {\n name: peer\n host: %s\n port: %v\n role: route-container\n}", host, port))
}

// A peer that cannot be had is tried again and again, and everything else works:
// a name that does not resolve, a port that nobody listens on, a peer that
// says nothing sensible.
func TestBC99_ConnectorHosts(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	_, port, _ := net.SplitHostPort(closed.Addr().String())
	closed.Close()
	rude, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer rude.Close()
	go func() {
		for {
			c, err := rude.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("220 mail.example.com\r\n"))
			c.Close()
		}
	}()
	_, rudePort, _ := net.SplitHostPort(rude.Addr().String())
	for name, config := range map[string]string{
		"no such name":     connectorTo("no-such-host.invalid", 5672),
		"nobody there":     connectorTo("127.0.0.1", port),
		"no AMQP":          connectorTo("127.0.0.1", rudePort),
		"IPv6 of loopback": connectorTo("::1", port),
	} {
		t.Run(name, func(t *testing.T) {
			b := harness.Start(t, config)
			b.WaitLog("connection failed", 3)
			in := session(t, b.Addr())
			_ = in
			b.Stop()
			if strings.Contains(b.Log(), "panic") {
				t.Errorf("panic:\n%s", b.Log())
			}
		})
	}
}

// A connector comes back whenever its peer does: after an orderly end and after
// a crash.
func TestBC71_ConnectorReconnects(t *testing.T) {
	first := harness.Start(t, harness.Loopback)
	_, port, _ := net.SplitHostPort(first.Addr())
	b := harness.Start(t, connectorTo("127.0.0.1", port))
	b.WaitLog("Connection Opened", 1)
	peer := first
	for round := range 3 {
		if round == 1 {
			peer.Kill()
		} else {
			peer.Stop()
		}
		b.WaitLog("connection failed", round+1)
		peer = harness.Start(t, strings.Replace(harness.Loopback, "port: 0", "port: "+port, 1))
		b.WaitLog("Connection Opened", round+2)
	}
}
