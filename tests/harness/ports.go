package harness

import (
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
)

// Ports that tests choose themselves lie below those that the system gives to
// outgoing connections, so that a router that is down does not lose its port.
const (
	firstPort = 20000
	lastPort  = 32000
)

var ports struct {
	mu   sync.Mutex
	next int
}

// FreePort returns a port of the loopback that nobody listens on and that this
// process gives to nobody else.
func FreePort(t testing.TB) int {
	t.Helper()
	ports.mu.Lock()
	defer ports.mu.Unlock()
	if ports.next == 0 {
		// Test processes that run at the same time begin at different places.
		ports.next = firstPort + os.Getpid()*97%(lastPort-firstPort)
	}
	for range lastPort - firstPort {
		port := ports.next
		if ports.next++; ports.next == lastPort {
			ports.next = firstPort
		}
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}
