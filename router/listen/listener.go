package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
)

// A Peer is an established socket and what is known of the other side.
type Peer struct {
	Conn  net.Conn
	First []byte               // bytes read while telling TLS from plain
	TLS   *tls.ConnectionState // nil when not encrypted
}

// Socket is the connection, with the bytes that have been read in front of the others.
func (p *Peer) Socket() net.Conn {
	if len(p.First) == 0 {
		return p.Conn
	}
	return &prefixed{Conn: p.Conn, first: p.First}
}

// A Listener accepts connections.
type Listener struct {
	Name string // for logs
	// TLS returns the configuration for the next connection; nil for none.
	TLS func() *tls.Config
	// RequireTLS refuses peers that do not start with TLS.
	RequireTLS bool
	ClientCert string // for logs: what TLS asks of clients
	// Handshake is how long a peer may take for TLS.
	Handshake time.Duration
	// Serve runs a connection until it has ended or ctx is done.
	Serve func(ctx context.Context, p Peer)
	Log   zerolog.Logger
	// FailureLines bounds the log lines of TLS handshakes that fail; nil for no
	// bound.
	FailureLines zerolog.Sampler

	l  net.Listener
	wg sync.WaitGroup
}

// Listen opens the port.
func (l *Listener) Listen(network, address string) error {
	ln, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	l.l = ln
	return nil
}

// Addr is the address that is listened on, with the real port.
func (l *Listener) Addr() net.Addr { return l.l.Addr() }

// Close stops accepting.
func (l *Listener) Close() error { return l.l.Close() }

// Run accepts until ctx is done, and returns when all its connections have
// ended.
func (l *Listener) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { l.l.Close() })
	defer stop()
	defer l.wg.Wait()
	var pause time.Duration
	var said time.Time // when the log was told last that nothing can be accepted
	for {
		c, err := l.l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			// Out of file descriptors, most likely: going on at once would only
			// fill the log.
			pause = min(max(2*pause, 10*time.Millisecond), time.Second)
			if now := time.Now(); now.Sub(said) >= sayAgain {
				said = now
				l.Log.Error().Str("listener", l.Name).Err(err).Msg("cannot accept connections" + remedy(err))
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
			continue
		}
		pause = 0
		l.wg.Go(func() { l.serve(ctx, c) })
	}
}

// sayAgain is how often the log is told that a listener cannot accept connections.
const sayAgain = 30 * time.Second

// remedy says what helps against an error of accept.
func remedy(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return ": the process has as many files open as it may; LimitNOFILE in its unit of systemd, or ulimit -n in its shell, allows more. Clients wait meanwhile"
	case errors.Is(err, syscall.ENFILE):
		return ": the system has as many files open as it may; sysctl fs.file-max allows more. Clients wait meanwhile"
	}
	return ""
}

func (l *Listener) serve(ctx context.Context, c net.Conn) {
	p, err := l.negotiate(ctx, c)
	if err != nil {
		c.Close()
		l.Log.Debug().Str("listener", l.Name).Str("peer", c.RemoteAddr().String()).Err(err).Msg("no connection was made")
		return
	}
	l.Serve(ctx, p)
}

// tlsRecordHandshake is the first byte of a TLS connection.
const tlsRecordHandshake = 0x16

var errPlain = errors.New("the peer does not speak TLS, which is required here")

// negotiate finds out whether the peer speaks TLS, and does the handshake.
func (l *Listener) negotiate(ctx context.Context, c net.Conn) (Peer, error) {
	if l.TLS == nil {
		return Peer{Conn: c}, nil
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	c.SetReadDeadline(time.Now().Add(l.Handshake))
	first := make([]byte, 8)
	n, err := c.Read(first)
	if err != nil {
		return Peer{}, err
	}
	first = first[:n]
	if first[0] != tlsRecordHandshake {
		if l.RequireTLS {
			return Peer{}, errPlain
		}
		c.SetReadDeadline(time.Time{})
		return Peer{Conn: c, First: first}, nil
	}
	t := tls.Server(&prefixed{Conn: c, first: first}, l.TLS())
	hctx, cancel := context.WithTimeout(ctx, l.Handshake)
	defer cancel()
	if err := t.HandshakeContext(hctx); err != nil {
		log := l.Log
		if l.FailureLines != nil {
			log = log.Sample(l.FailureLines)
		}
		log.Warn().Str("listener", l.Name).Str("peer", c.RemoteAddr().String()).
			Str("clientCertificate", l.ClientCert).Err(err).Msg("TLS handshake failed")
		return Peer{}, err
	}
	c.SetReadDeadline(time.Time{})
	state := t.ConnectionState()
	return Peer{Conn: t, TLS: &state}, nil
}

// prefixed gives back bytes that were read too early.
type prefixed struct {
	net.Conn
	first []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.first) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

// CloseWrite lets the driver say that nothing more comes.
func (p *prefixed) CloseWrite() error {
	if c, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
