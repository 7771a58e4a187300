package router

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/amqp/driver"
	"sluice/amqp/encoding"
	"sluice/amqp/frames"
	"sluice/amqp/sasl"
	"sluice/amqp/transport"
	"sluice/router/admission"
	"sluice/router/control/config"
	"sluice/router/control/logging"
	"sluice/router/control/management"
	"sluice/router/control/tlsprofile"
	"sluice/router/edges"
	"sluice/router/listen"
	"sluice/router/listen/websocket"
	"sluice/router/trunk"
	"sluice/router/uplink"
)

// A connection is one live connection and what is known about it.
type connection struct {
	id        uint64
	driver    *driver.Driver
	peer      string // ip:port of those who connected, configured host:port of others
	dir       string // in or out
	role      config.Role
	tls       bool
	traced    bool                 // every frame is logged, whatever the levels; guarded by the connection's lock
	ws        bool                 // over a WebSocket
	secured   *tls.ConnectionState // if tls
	connector *connector           // that has made it; nil for one that was accepted
	started   time.Time
	handler   *admission.Connection
	cost      int            // of role inter-router or edge
	trunk     *trunk.Trunk   // of role inter-router
	uplink    *uplink.Uplink // of role edge, on an edge router
	edge      *edges.Edge    // of role edge, on an interior one
	opened    bool
	extra     map[string]any // openProperties of the configuration
	others    []string       // failoverUrls of the listener
	log       zerolog.Logger
	tried     *string // user whose login has failed; nil for a connector
}

// maxTried is the most bytes of a user's name that the log shows: whoever may not
// come in chooses it.
const maxTried = 64

// serveAccepted runs a connection that a listener has accepted.
func (r *Router) serveAccepted(ctx context.Context, l *listener, p *tlsprofile.Profile, peer listen.Peer) {
	external := ""
	if p != nil && peer.TLS != nil {
		external = p.Identity(*peer.TLS)
	}
	cfg := r.transportConfig(&l.cfg.Limits)
	tried := ""
	mechs := r.serverMechanisms(&l.cfg, external, &tried)
	cfg.SASLServer = func() *sasl.Server { return sasl.NewServer(mechs...) }
	cfg.RequireSASL = l.cfg.AuthenticatePeer
	c := &connection{peer: peer.Conn.RemoteAddr().String(), dir: "in", role: l.cfg.Role, cost: l.cfg.Cost, extra: l.cfg.OpenProperties, others: l.cfg.FailoverURLs, tried: &tried}
	if l.cfg.RequireEncrypted && peer.TLS == nil {
		peer.Conn.Close()
		log := r.log.Sample(r.logs.Throttle(logging.Router, "Client connection unencrypted"))
		log.Warn().Str("peer", c.peer).Str("listener", l.cfg.Address()).Msg("Client connection unencrypted - forbidden")
		return
	}
	r.serve(ctx, c, &l.cfg.Limits, cfg, peer, driver.Options{HandshakeTimeout: l.cfg.HandshakeTimeout}, nil)
}

// serveDialled runs a connection that a connector has made.
func (r *Router) serveDialled(ctx context.Context, cn *connector, at listen.Place, peer listen.Peer) (bool, error) {
	cc := &cn.cfg
	cfg := r.transportConfig(&cc.Limits)
	cfg.Client, cfg.Hostname = true, at.Host
	cfg.SASLClient = sasl.NewClient(sasl.Credentials{
		User:              cc.SASLUsername,
		Password:          cc.SASLPassword.Reveal(),
		External:          peer.TLS != nil && cc.SSLProfile != "",
		TLS:               peer.TLS != nil,
		AllowPlainInClear: cc.AllowInsecure,
		Allowed:           cc.SASLMechanisms,
	})
	c := &connection{peer: at.Address, dir: "out", connector: cn, role: cc.Role, cost: cc.Cost, extra: cc.OpenProperties}
	err := r.serve(ctx, c, &cc.Limits, cfg, peer, driver.Options{}, func() { cn.Opened(c.driver.Conn().Remote().Properties) })
	return c.opened, err
}

func (r *Router) transportConfig(l *config.Limits) transport.Config {
	return transport.Config{
		ContainerID:         r.cfg.Router.ID,
		MaxFrameSize:        l.MaxFrameSize,
		ChannelMax:          uint16(l.MaxSessions - 1),
		HandleMax:           l.MaxLinks - 1,
		IdleTimeout:         l.IdleTimeout,
		OfferedCapabilities: []amqp.Symbol{"ANONYMOUS-RELAY"},
		SessionBytes:        int(l.SessionBytes),
		MaxSessionFrames:    l.MaxSessionFrames,
	}
}

// openProperties encodes the properties of open: who this is, the number of the
// connection, where else clients may go, and what the configuration adds.
func (r *Router) openProperties(c *connection) []byte {
	m := encoding.Map{
		{Key: amqp.Symbol("product"), Value: "sluice"},
		{Key: amqp.Symbol("version"), Value: r.version},
		{Key: amqp.Symbol("qd.conn-id"), Value: int32(c.id)},
	}
	m = c.routerProperties(m)
	m = r.edgeProperties(c, m)
	own := len(m)
	if len(c.others) > 0 {
		m = append(m, encoding.MapEntry{Key: amqp.Symbol("failover-server-list"), Value: failoverList(c.others)})
	}
	for _, k := range slices.Sorted(maps.Keys(c.extra)) {
		m = append(m, encoding.MapEntry{Key: amqp.Symbol(k), Value: management.AMQPValue(c.extra[k])})
	}
	b, err := encoding.AppendAny(nil, m)
	if err != nil {
		r.log.Error().Err(err).Msg("openProperties cannot be encoded and are left out")
		b, _ = encoding.AppendAny(nil, m[:own])
	}
	return b
}

// failoverList is the form in which clients of the existing family expect other
// servers: a list of maps.
func failoverList(urls []string) []any {
	var list []any
	for _, u := range urls {
		scheme, rest, ok := strings.Cut(u, "://")
		if !ok {
			scheme, rest = "", u
		}
		host, port, err := net.SplitHostPort(rest)
		if err != nil {
			host, port = strings.Trim(rest, "[]"), "5672"
		}
		entry := encoding.Map{
			{Key: amqp.Symbol("network-host"), Value: host},
			{Key: amqp.Symbol("port"), Value: port},
		}
		if scheme != "" {
			entry = append(entry, encoding.MapEntry{Key: amqp.Symbol("scheme"), Value: scheme})
		}
		list = append(list, entry)
	}
	return list
}

// serverMechanisms returns what a listener offers to one client: what the
// configuration allows and what can work on this connection. The name of a user whose
// password is wrong, or who is not known, is left in tried.
func (r *Router) serverMechanisms(l *config.Listener, external string, tried *string) []sasl.ServerMechanism {
	allowed := func(name string) bool {
		if len(l.SASLMechanisms) == 0 {
			return true
		}
		for _, m := range l.SASLMechanisms {
			if m == name {
				return true
			}
		}
		return false
	}
	var mechs []sasl.ServerMechanism
	if external != "" && allowed(sasl.MechanismExternal) {
		mechs = append(mechs, &sasl.External{Identity: external})
	}
	if u := r.usersOf(l.SASLUsersFile); u != nil && allowed(sasl.MechanismPlain) {
		mechs = append(mechs, &sasl.Plain{Verify: func(user, password string) (string, bool, error) {
			identity, ok := u.Verify(user, password)
			if !ok {
				*tried = user[:min(len(user), maxTried)]
			}
			return identity, ok, nil
		}})
	}
	if !l.AuthenticatePeer && allowed(sasl.MechanismAnonymous) {
		mechs = append(mechs, &sasl.Anonymous{})
	}
	return mechs
}

// serve runs a connection until it has ended.
func (r *Router) serve(ctx context.Context, c *connection, limits *config.Limits, cfg transport.Config, peer listen.Peer, o driver.Options, onOpen func()) error {
	if t, ok := peer.Conn.(*net.TCPConn); ok {
		t.SetNoDelay(true)
	}
	_, c.ws = peer.Conn.(*websocket.Conn)
	c.tls, c.secured, c.started = peer.TLS != nil, peer.TLS, time.Now()
	r.mu.Lock()
	r.nextID++
	c.id = r.nextID
	r.mu.Unlock()
	r.total.Add(1)
	c.log = r.logs.Logger(logging.Server).With().Str("conn", fmt.Sprintf("C%d", c.id)).Str("peer", c.peer).Logger()
	if c.connector != nil {
		c.log = c.log.Sample(r.logs.Unless(logging.Server, c.connector.Quiet))
	}
	r.meshOpen(c, &cfg, limits)
	r.edgeOpen(c, &cfg, limits)
	cfg.Properties = r.openProperties(c)
	c.traced = limits.Trace
	cfg.Trace = r.traceOf(c)
	var cause *transport.CloseCause
	c.handler = admission.NewConnection(r.shared, linkLimits(limits, r.cfg.Router.ID), c.log, func(h *admission.Connection) {
		c.opened = true
		log := c.lines(r, "Connection Opened")
		e := log.Info().Str("dir", c.dir).Str("container", h.Container).Str("user", h.User).
			Str("sasl", h.Mechanism).Bool("tls", c.tls).Str("role", string(c.role))
		if c.ws {
			e.Bool("ws", true)
		}
		e.Msg("Connection Opened")
		if onOpen != nil {
			onOpen()
		}
	}, func(cc *transport.CloseCause) { cause = cc })
	c.handler.Trunk, c.handler.Uplink, c.handler.Edge = c.trunk, c.uplink, c.edge
	c.driver = driver.New(peer.Conn, peer.First, o, cfg, c.handler)
	r.mu.Lock()
	r.conns[c.id] = c
	r.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		c.driver.Close(amqp.Errorf(amqp.CondConnectionForced, "the router is shutting down"))
	})
	err := c.driver.Run()
	stop()
	r.mu.Lock()
	delete(r.conns, c.id)
	r.past.end(c, time.Now())
	r.mu.Unlock()
	return r.logEnd(c, cause, err)
}

// logEnd writes the one line that says what a connection did and why it ended. A
// peer that never sent a frame is a probe or a port scan, and not worth a line.
func (r *Router) logEnd(c *connection, cause *transport.CloseCause, err error) error {
	event := func() *zerolog.Event { // only one that is used counts
		switch {
		case !c.opened:
			return c.log.Debug()
		case joins(c.role) && r.Ready(): // another router is missed
			return c.log.Warn()
		}
		log := c.lines(r, "Connection Closed")
		return log.Info()
	}
	switch {
	case errors.Is(err, io.EOF):
		c.account(event()).Msg("Connection Closed: the peer closed the socket without a close")
		return err
	case cause != nil && cause.Err != nil:
		kind := "Connection Closed with an error"
		if cause.Err.Condition == amqp.CondUnauthorizedAccess {
			kind = "authentication failed"
		}
		log := c.log
		if c.connector == nil { // which have pauses, and times when they are quiet
			log = c.log.Sample(r.logs.Throttle(logging.Server, kind))
		}
		switch {
		case cause.Err.Condition == amqp.CondConnectionForced && !cause.Remote && err == nil:
			// On our own account: a shutdown.
			log = c.lines(r, "Connection Closed")
			event = func() *zerolog.Event { return log.Info() }
		case c.driver.Conn().FramesIn > 0 || cause.Err.Condition == amqp.CondUnauthorizedAccess:
			event = func() *zerolog.Event { return log.Warn() }
		}
		by := "router"
		if cause.Remote {
			by = "peer"
		}
		e := c.account(event())
		if c.tried != nil && *c.tried != "" {
			e.Str("tried", strings.ToValidUTF8(*c.tried, "\uFFFD"))
		}
		e.Str("condition", string(cause.Err.Condition)).Str("by", by).Msg("Connection Closed: " + cause.Err.Description)
		return cause.Err
	case err != nil:
		c.account(event()).Err(err).Msg("Connection Closed")
		return err
	}
	c.account(event()).Msg("Connection Closed")
	return nil
}

// lines is the log for lines of one kind that each connection has. Clients can
// provoke many of them; routers, and those that this router has connected to, are
// few, and each of their lines matters.
func (c *connection) lines(r *Router, kind string) zerolog.Logger {
	if c.dir == "out" || joins(c.role) {
		return c.log
	}
	return c.log.Sample(r.logs.Throttle(logging.Server, kind))
}

// account adds what a connection that has ended has done: whose it was, for how
// long, and the bytes of its socket and the messages that it has carried.
func (c *connection) account(e *zerolog.Event) *zerolog.Event {
	e.Str("for", time.Since(c.started).Round(time.Millisecond).String())
	if !c.opened {
		return e
	}
	t := c.gone()
	return e.Str("container", c.handler.Container).Str("user", c.handler.User).
		Uint64("bytesIn", c.driver.BytesIn.Load()).Uint64("bytesOut", c.driver.BytesOut.Load()).
		Uint64("messagesIn", t.in.Deliveries).Uint64("messagesOut", t.out.Deliveries)
}

// tracer returns a function that logs every frame. With always it does so
// whatever the module's level is.
func (r *Router) tracer(id uint64, log zerolog.Logger, always bool) func(bool, uint16, []byte) {
	return func(out bool, channel uint16, body []byte) {
		arrow := "<-"
		if out {
			arrow = "->"
		}
		e := log.Trace()
		if always {
			e = log.Info()
		}
		e.Msgf("[C%d]:FRAME: %d %s %s", id, channel, arrow, frames.Format(channel, body))
	}
}
