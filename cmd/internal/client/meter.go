package client

import (
	"bytes"
	"net"
	"sync/atomic"
)

// A Meter counts the bytes of a connection, those of TLS left out. It may be read
// by any goroutine.
type Meter struct {
	In, Out atomic.Uint64
}

// metered is a connection whose bytes are counted, and that notices who answers in
// HTTP.
type metered struct {
	net.Conn
	meter *Meter
	read  bool // something has been
	http  atomic.Bool
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if n > 0 && !m.read {
		m.read = true
		m.http.Store(bytes.HasPrefix(p[:n], []byte("HTTP/")))
	}
	m.meter.In.Add(uint64(n))
	return n, err
}

func (m *metered) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.meter.Out.Add(uint64(n))
	return n, err
}
