package interop

import (
	"net"
	"os"
	"strings"
	"testing"

	"sluice/tests/harness"
)

// scenarios that need no security, by the names that the scripts know.
var scenarios = []string{
	"send_receive", "anonymous", "request_response", "drain", "transactions", "presettled", "outcomes",
}

func TestProton(t *testing.T) { foreign(t, proton(t)) }

func TestRhea(t *testing.T) { foreign(t, rhea(t)) }

func foreign(t *testing.T, command []string) {
	s := newSecrets(t)
	b := harness.Start(t, s.config())
	for _, name := range scenarios {
		t.Run(name, func(t *testing.T) { play(t, command, name, "amqp://"+b.AMQP[open]) })
	}
	t.Run("large", func(t *testing.T) { play(t, command, "large", "amqp://"+b.AMQP[wide]) })
	t.Run("tls_external", func(t *testing.T) {
		play(t, command, "tls_external", "amqps://"+at(b, external),
			"ca="+s.path("ca.pem"), "cert="+s.path("client.pem"), "key="+s.path("client.key"))
		if !strings.Contains(b.Log(), "user=client-7") {
			t.Errorf("the user is not that of the certificate:\n%s", b.Log())
		}
	})
	t.Run("plain", func(t *testing.T) {
		play(t, command, "plain", "amqp://"+b.AMQP[plain], "user="+user, "password="+password)
		if !strings.Contains(b.Log(), "user="+user) {
			t.Errorf("the user is not the one of PLAIN:\n%s", b.Log())
		}
	})
	t.Run("plain_wrong", func(t *testing.T) {
		play(t, command, "plain_wrong", "amqp://"+b.AMQP[plain], "user="+user)
	})
}

// Over a WebSocket everything is as over TCP.
func TestRheaWebSocket(t *testing.T) {
	command := rhea(t)
	if _, err := os.Stat("rhea/node_modules/ws"); err != nil {
		absent(t, "ws, a module of node")
	}
	s := newSecrets(t)
	b := harness.Start(t, s.config())
	for _, name := range append([]string{"large"}, scenarios...) {
		t.Run(name, func(t *testing.T) { play(t, command, name, "ws://"+b.HTTP[status]) })
	}
	t.Run("plain", func(t *testing.T) {
		_, port, _ := net.SplitHostPort(b.HTTP[secure])
		play(t, command, "plain", "wss://localhost:"+port, "ca="+s.path("ca.pem"), "user="+user, "password="+password)
		if !strings.Contains(b.Log(), "sasl=PLAIN tls=true user="+user+" ws=true") {
			t.Errorf("the user is not the one of PLAIN:\n%s", b.Log())
		}
	})
	t.Run("plain_wrong", func(t *testing.T) {
		_, port, _ := net.SplitHostPort(b.HTTP[secure])
		play(t, command, "plain_wrong", "wss://localhost:"+port, "ca="+s.path("ca.pem"), "user="+user)
	})
}
