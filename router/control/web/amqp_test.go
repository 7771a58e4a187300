package web

import (
	"io"
	"net"
	"strings"
	"testing"
)

// Who speaks AMQP to a port for HTTP is told so at once; others are passed on.
func TestNoAMQP(t *testing.T) {
	for first, want := range map[string]string{"AMQP\x00\x01\x00\x00": "", "GET /": "GET /"} {
		here, there := net.Pipe()
		answer := make(chan string, 1)
		go func() {
			io.WriteString(there, first)
			b, _ := io.ReadAll(there)
			answer <- string(b)
		}()
		c := NoAMQP(here)
		p := make([]byte, 64)
		n, err := c.Read(p)
		c.Close()
		if got := string(p[:n]); got != want || (err == io.EOF) != (want == "") {
			t.Errorf("%q: read %q, %v", first, got, err)
		}
		head, body, _ := strings.Cut(<-answer, "\r\n\r\n")
		if want == "" && (!strings.HasPrefix(head, "HTTP/1.1 400 ") || !strings.Contains(head, "Content-Length: 78") || len(body) != 78) {
			t.Errorf("answered %q, %q", head, body)
		}
	}
}
