package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp"
)

// Back-off of connectors: the first attempts follow quickly, so that a restart
// of the other side is hardly felt, and later ones at most this far apart. Each
// pause is shortened by a random part, so that many routers that lost the same
// peer do not come back in step.
const (
	firstPause  = 250 * time.Millisecond
	lastPause   = 5 * time.Second
	lostPause   = time.Second // the most when the peer had opened the connection that was lost
	dialTimeout = 10 * time.Second
	steady      = 5 * time.Second // after which a connection has been worth making
)

// Failures in a row are logged in a bounded way: the first, the second, the fourth,
// and so on up to every hundred and twenty-eighth, which at the last pause is every
// eight minutes. From quietAfter on that holds also for the lines about each connection
// that is opened and soon lost.
const (
	rarest     = 128
	quietAfter = 8
)

// worthALine tells whether the failure with this number is logged.
func worthALine(n int) bool { return n%rarest == 0 || n < rarest && n&(n-1) == 0 }

// A Status says how a connector is doing.
type Status struct {
	State string // CONNECTING, SUCCESS, FAILED
	Text  string // of the last failure
	Since time.Time
	// Places are where it connects to, in turn: the first is that of the state.
	Places []Place
}

// A Connector keeps one connection to a peer, or when that is gone to one of the
// places that the peer has named (failover-server-list).
type Connector struct {
	Name    string // for logs
	Network string
	Place   Place // as configured
	// TLS returns the configuration for the next attempt; nil for none.
	TLS func(Place) *tls.Config
	// Serve runs a connection until it has ended or ctx is done. It returns
	// whether the peer's open had been received, and why the connection ended.
	Serve func(ctx context.Context, at Place, p Peer) (opened bool, err error)
	Log   zerolog.Logger

	// dial is that of net.Dialer; tests have another.
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	ended  atomic.Bool
	quiet  atomic.Bool
	mu     sync.Mutex // guards the fields below
	status Status
	places places
	holds  *time.Timer // ends quiet when the connection has been worth making
}

// Quiet tells whether connections have been opened and lost so often that lines about
// another are too many. It ends when one has held.
func (c *Connector) Quiet() bool { return c.quiet.Load() }

// End has the connector make no other connection when this one has ended, which
// is no failure then. It does not end this one.
func (c *Connector) End() { c.ended.Store(true) }

// Status returns how the connector is doing.
func (c *Connector) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.status
	s.Places = c.placesLocked().order()
	return s
}

func (c *Connector) set(state, text string) {
	c.mu.Lock()
	c.status = Status{State: state, Text: text, Since: time.Now()}
	c.mu.Unlock()
}

// placesLocked returns the places, of which there is one at the beginning.
func (c *Connector) placesLocked() *places {
	if c.places.list == nil {
		c.places.list = []Place{c.Place}
	}
	return &c.places
}

// Opened tells that the peer's open has been received, with these properties.
func (c *Connector) Opened(properties []byte) {
	c.set("SUCCESS", "")
	c.mu.Lock()
	if c.quiet.Load() && c.holds == nil {
		c.holds = time.AfterFunc(steady, func() {
			c.quiet.Store(false)
			c.Log.Info().Str("connector", c.Name).Msg("the connection holds")
		})
	}
	c.mu.Unlock()
	named, ok := Failover(properties)
	if !ok {
		return // what others have named stays
	}
	c.mu.Lock()
	p := c.placesLocked()
	p.offer(named)
	all := p.order()
	c.mu.Unlock()
	c.Log.Debug().Str("connector", c.Name).Stringers("places", stringers(all)).Msg("the peer has said where to connect to when it is gone")
}

// present is where the connector connects to now.
func (c *Connector) present() Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.placesLocked()
	return p.list[p.at]
}

// next moves on to the next place. It tells whether all have been tried.
func (c *Connector) next() (again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.placesLocked().next()
}

// Run connects, and connects again whenever the connection has ended, until
// ctx is done.
func (c *Connector) Run(ctx context.Context) error {
	pause, failures := firstPause, 0
	for ctx.Err() == nil && !c.ended.Load() {
		c.set("CONNECTING", c.Status().Text)
		began, at := time.Now(), c.present()
		opened, err := c.attempt(ctx, at)
		if ctx.Err() != nil || c.ended.Load() {
			break
		}
		held := opened && time.Since(began) >= steady
		if held {
			pause, failures = firstPause, 0
		}
		failures++
		if err == nil {
			err = errors.New("the peer closed the connection")
		}
		if !opened && errors.Is(err, io.EOF) {
			err = fmt.Errorf("the peer closed the connection before it spoke AMQP; is this its port for AMQP, and TLS as it wants it? (%w)", err)
		}
		if e := (*amqp.Error)(nil); !opened && errors.As(err, &e) && e.Condition == amqp.CondFramingError {
			err = fmt.Errorf("no AMQP is spoken there; is %s a port for HTTP, or for TLS? (%w)", at.Address, err)
		}
		c.set("FAILED", err.Error())
		wait := pause - time.Duration(rand.Int64N(int64(pause)/2))
		e := c.Log.Debug()
		if worthALine(failures) {
			e = c.Log.Warn()
		}
		e.Str("connector", c.Name).Str("address", at.Address).Err(err).Str("retry", wait.Round(time.Millisecond).String())
		again := c.next()
		if next := c.present(); next != at {
			e.Str("next", next.Address)
		}
		if failures == 1 {
			e.Msg("connection failed")
		} else {
			e.Msgf("connection failed: still failing, %d attempts", failures)
		}
		c.quiet.Store(opened && failures >= quietAfter && !worthALine(failures+1))
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		// The pause is the same for all places of a round, unless they do not keep the
		// connection: each could name another.
		switch {
		case held:
		case opened && !refused(err): // it may be started anew
			pause = min(2*pause, lostPause)
		case again || opened:
			pause = min(2*pause, lastPause)
		}
	}
	return nil
}

// refused tells whether the peer has ended a connection because it does not want it,
// and not because it ends itself.
func refused(err error) bool {
	var e *amqp.Error
	return errors.As(err, &e) && e.Condition != amqp.CondConnectionForced
}

func (c *Connector) attempt(ctx context.Context, at Place) (opened bool, err error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.holds != nil {
			c.holds.Stop()
			c.holds = nil
		}
	}()
	dial := c.dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	conn, err := dial(ctx, c.Network, at.Address)
	if err != nil {
		return false, err
	}
	p := Peer{Conn: conn}
	if c.TLS != nil {
		t := tls.Client(conn, c.TLS(at))
		hctx, cancel := context.WithTimeout(ctx, dialTimeout)
		err := t.HandshakeContext(hctx)
		cancel()
		if err != nil {
			conn.Close()
			return false, fmt.Errorf("TLS: %w", err)
		}
		state := t.ConnectionState()
		p.Conn, p.TLS = t, &state
	}
	return c.Serve(ctx, at, p)
}
