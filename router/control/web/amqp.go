package web

import (
	"bytes"
	"io"
	"net"
)

// NoAMQP returns a connection without TLS that answers at once whoever begins with a
// protocol header of AMQP (part 2, section 2.2), and ends. HTTP would wait for the
// rest of the line, which does not come.
func NoAMQP(c net.Conn) net.Conn { return &notAMQP{Conn: c} }

// notAMQP looks at the first bytes that are read.
type notAMQP struct {
	net.Conn
	begun bool
}

var header = []byte("AMQP")

const notForAMQP = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: 78\r\n\r\n" +
	"This port speaks HTTP, and AMQP over WebSocket; AMQP itself has another port.\n"

func (c *notAMQP) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.begun {
		if c.begun = true; bytes.HasPrefix(p[:n], header) {
			io.WriteString(c.Conn, notForAMQP)
			return 0, io.EOF
		}
	}
	return n, err
}
