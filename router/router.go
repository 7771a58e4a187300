package router

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/amqp/driver"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/admission"
	"sluice/router/control/auth"
	"sluice/router/control/config"
	"sluice/router/control/edge"
	"sluice/router/control/logging"
	"sluice/router/control/management"
	"sluice/router/control/network"
	"sluice/router/control/tlsprofile"
	"sluice/router/control/web"
	"sluice/router/edges"
	"sluice/router/forward"
	"sluice/router/listen"
	"sluice/router/table"
	"sluice/router/uplink"
)

// Options are what a Router is made from.
type Options struct {
	Config  *config.Config
	Logs    *logging.Logs
	Version string
}

// A Router is a running message router.
type Router struct {
	cfg     *config.Config // that the router was made from
	version string
	logs    *logging.Logs
	log     zerolog.Logger
	shared  *admission.Router
	started time.Time
	limit   int64 // bytes of memory that the process may use; 0 if not known

	reloaded *config.Config // the last one; Reload changes it, under mu

	// Guarded by mu: management changes them while the router runs.
	profiles   map[string]*profile
	users      map[string]*auth.Users
	listeners  []*listener
	connectors []*connector
	http       []*httpListener
	running    running

	treatments *treatments
	network    *network.Network // of an interior router
	trimmed    time.Time        // when links for streams were last looked at; belongs to sweep
	uplinks    *uplink.Shared   // of an edge router
	agent      *edge.Agent      // likewise
	edges      *edges.Edges     // of an interior router
	services   *edge.Services   // likewise
	manager    *manager

	edgesTrimmed time.Time // as trimmed, on connections of role edge

	mu     sync.Mutex // guards conns, and what is said above; a leaf lock
	conns  map[uint64]*connection
	past   past // of connections that have ended; likewise
	nextID uint64
	total  atomic.Uint64 // connections ever accepted or made

	metrics *web.Metrics
	stuck   stuck

	ready atomic.Bool
}

type listener struct {
	listen.Listener
	cfg config.Listener
}

// A connector is one and how it ends.
type connector struct {
	listen.Connector
	cfg  config.Connector
	stop func() // once it runs
}

// New makes a router and opens its listeners. Nothing is accepted before Run.
// What the configuration names and cannot be had, a port in use or a missing
// certificate, is an error, and nothing stays open then.
func New(o Options) (*Router, error) {
	r := &Router{
		cfg:      o.Config,
		reloaded: o.Config,
		version:  o.Version,
		logs:     o.Logs,
		log:      o.Logs.Logger(logging.Router),
		started:  time.Now(),
		limit:    o.Config.Router.MemoryLimit,
		profiles: make(map[string]*profile),
		users:    make(map[string]*auth.Users),
		conns:    make(map[uint64]*connection),
	}
	r.budgetMemory()
	r.treatments = newTreatments(o.Config)
	r.shared = &admission.Router{
		Identity:  address.Identity{ID: o.Config.Router.ID, Edge: o.Config.Router.Mode == config.EdgeMode},
		Treatment: r.treatments.of,
	}
	r.shared.RefusalLines = r.logs.Throttle(logging.Server, "attach refused")
	r.shared.Table = table.New(r.shared.Treatment)
	if err := r.joinMesh(); err != nil {
		return nil, err
	}
	r.joinEdge()
	r.manage()
	r.stuck.after(o.Config.Router.StuckDelivery)
	r.metrics = web.NewMetrics(o.Config.Router.MetricsSeries, r.measure)
	if err := r.prepare(); err != nil {
		r.closeListeners()
		return nil, err
	}
	return r, nil
}

func treatment(a *config.Address) forward.Treatment {
	d := map[config.Distribution]forward.Distribution{
		config.Balanced:    forward.Balanced,
		config.Closest:     forward.Closest,
		config.Multicast:   forward.Multicast,
		config.Unavailable: forward.Unavailable,
	}[a.Distribution]
	return forward.Treatment{
		Distribution:     d,
		Priority:         a.Priority,
		HighBytes:        a.WaitingHighBytes,
		LowBytes:         a.WaitingLowBytes,
		HighCount:        a.WaitingHighCount,
		LowCount:         a.WaitingLowCount,
		Redeliver:        a.Redeliver,
		UnsettledTimeout: int64(a.UnsettledTimeout),
		Patience:         int64(a.MulticastPatience),
	}
}

func (r *Router) prepare() error {
	for i := range r.cfg.SSLProfiles {
		if _, err := r.addProfile(r.cfg.SSLProfiles[i]); err != nil {
			return err
		}
	}
	for i := range r.cfg.Listeners {
		l := r.cfg.Listeners[i]
		if err := r.loadUsers(&l); err != nil {
			return err
		}
		var err error
		if l.HTTP {
			_, err = r.listenHTTP(l)
		} else {
			_, err = r.listenAMQP(l)
		}
		if err != nil {
			return err
		}
	}
	for i := range r.cfg.Connectors {
		r.addConnector(r.cfg.Connectors[i])
	}
	return nil
}

// loadUsers reads the users file of a listener, if it has one that is not known.
func (r *Router) loadUsers(l *config.Listener) error {
	f := l.SASLUsersFile
	if f == "" || r.usersOf(f) != nil {
		return nil
	}
	u, err := auth.LoadUsers(f)
	if err != nil {
		return fmt.Errorf("%v: saslUsersFile: %w", l.Pos, err)
	}
	r.mu.Lock()
	r.users[f] = u
	r.mu.Unlock()
	return nil
}

func (r *Router) usersOf(file string) *auth.Users {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.users[file]
}

func (r *Router) profile(name string) (*tlsprofile.Profile, error) {
	if name == "" {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.profiles[name]
	if p == nil {
		return nil, fmt.Errorf("there is no sslProfile named %q", name)
	}
	return p.Profile, nil
}

func (r *Router) listenAMQP(cfg config.Listener) (*listener, error) {
	p, err := r.profile(cfg.SSLProfile)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", cfg.Pos, err)
	}
	l := &listener{cfg: cfg}
	l.Name, l.Log = listenerName(&cfg), r.logs.Logger(logging.Server)
	l.FailureLines = r.logs.Throttle(logging.Server, "TLS handshake failed")
	l.RequireTLS = cfg.RequireSSL
	l.ClientCert = asksFor(cfg.ClientAuth())
	l.Handshake = cfg.HandshakeTimeout
	if l.Handshake == 0 {
		l.Handshake = driver.DefaultHandshakeTimeout
	}
	if p != nil {
		l.TLS = func() *tls.Config { return p.Server(cfg.ClientAuth()) }
	}
	l.Serve = func(ctx context.Context, peer listen.Peer) { r.serveAccepted(ctx, l, p, peer) }
	if err := l.Listen(cfg.Network(), cfg.Address()); err != nil {
		return nil, listenError(cfg, r.holder(&cfg), err)
	}
	r.mu.Lock()
	r.listeners = append(r.listeners, l)
	r.mu.Unlock()
	log := r.logs.Logger(logging.Server)
	logging.Notice(&log).Str("role", string(cfg.Role)).Bool("tls", p != nil).Msgf("Listening on %s", l.Addr())
	return l, nil
}

// listenerName names a listener in logs.
func listenerName(l *config.Listener) string {
	if l.Name != "" {
		return l.Name
	}
	return l.Address()
}

// asksFor says in a log what TLS asks of clients.
func asksFor(a tls.ClientAuthType) string {
	switch a {
	case tls.NoClientCert:
		return "not asked for"
	case tls.VerifyClientCertIfGiven:
		return "optional"
	}
	return "required"
}

// holder is the listener of this router that has a port already; empty if none
// has.
func (r *Router) holder(cfg *config.Listener) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	has := func(l *listener) bool {
		_, port, _ := net.SplitHostPort(l.Addr().String())
		_, wanted, _ := net.SplitHostPort(cfg.Address())
		return port == wanted
	}
	for _, l := range r.listeners {
		if has(l) {
			return listenerName(&l.cfg)
		}
	}
	for _, h := range r.http {
		if has(&h.listener) {
			return listenerName(&h.cfg)
		}
	}
	return ""
}

// listenError says why a listener cannot listen. Holder is the one of this router
// that has the port, if any.
func listenError(cfg config.Listener, holder string, err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE) && holder != "":
		hint = "; listener " + holder + " of this router has the port"
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "; is another process using the port?"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "; this host does not have that address"
	case errors.Is(err, syscall.EACCES):
		hint = "; ports below 1024 need a privilege (CAP_NET_BIND_SERVICE)"
	}
	if cfg.Pos.Line == 0 || cfg.Pos.Embedded() { // nobody wrote it into a file
		if cfg.HTTP {
			hint += "; --http HOST:PORT listens elsewhere, --http none nowhere"
		} else {
			hint += "; --listen HOST:PORT listens elsewhere"
		}
	}
	return fmt.Errorf("%v: cannot listen on %s: %w%s", cfg.Pos, cfg.Address(), err, hint)
}

func (r *Router) addConnector(cfg config.Connector) *connector {
	p, _ := r.profile(cfg.SSLProfile) // the configuration has been checked
	c := &connector{cfg: cfg}
	c.Name, c.Network, c.Log = cfg.Name, cfg.Network(), r.logs.Logger(logging.ConnMgr)
	c.Place = listen.Place{Scheme: "amqp", Host: cfg.Host, Address: cfg.Address()}
	if c.Name == "" {
		c.Name = management.UnnamedAs("connector", cfg.Host, cfg.Port)
	}
	if p != nil {
		c.TLS = func(at listen.Place) *tls.Config { return p.Client(at.Host, cfg.VerifyHostname) }
	}
	c.Serve = func(ctx context.Context, at listen.Place, peer listen.Peer) (bool, error) {
		return r.serveDialled(ctx, c, at, peer)
	}
	r.mu.Lock()
	r.connectors = append(r.connectors, c)
	r.mu.Unlock()
	return c
}

// Limits are the limits of links, from those of a listener or connector.
func linkLimits(l *config.Limits, id string) links.Limits {
	annotate := links.AnnotateAll
	if l.StripAnnotations.Out() {
		annotate = links.AnnotateNone
	}
	return links.Limits{
		Capacity:       uint32(l.LinkCapacity),
		LinkBytes:      l.LinkBytes,
		UnboundBytes:   l.UnboundBytes,
		OutgoingHigh:   l.OutgoingHigh,
		OutgoingLow:    l.OutgoingLow,
		MaxMessageSize: l.MaxMessageSize,
		StripIn:        l.StripAnnotations.In(),
		Annotate:       annotate,
		Router:         "0/" + id,
	}
}

// Run serves until ctx is done, then closes every connection in good order. It
// returns nil after an orderly end.
func (r *Router) Run(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	accepting, stopAccepting := context.WithCancel(serving)
	defer stopAccepting()
	var wg sync.WaitGroup
	r.running.begin(&wg, accepting, serving)
	for _, l := range r.listeners {
		r.running.start(accepting, func(ctx context.Context) { l.Run(ctx) })
	}
	for _, c := range r.connectors {
		c.stop, _ = r.running.start(accepting, func(ctx context.Context) { c.Run(ctx) })
	}
	for _, h := range r.http {
		h.stop, _ = r.running.start(serving, h.run)
	}
	for _, p := range r.profiles {
		p.stop, _ = r.running.start(serving, func(ctx context.Context) { p.Watch(ctx) })
	}
	wg.Go(func() { r.sweep(serving) })
	if r.network != nil {
		wg.Go(func() { r.network.Run(serving) })
	}
	if r.agent != nil {
		wg.Go(func() { r.agent.Run(serving) })
	}
	if r.services != nil {
		wg.Go(func() { r.services.Run(serving) })
	}
	wg.Go(func() { r.manager.agent.Run(serving) })
	r.mu.Lock()
	listeners := len(r.listeners) + len(r.http)
	r.mu.Unlock()
	r.ready.Store(true)
	logging.Notice(&r.log).Str("id", r.cfg.Router.ID).Str("mode", string(r.cfg.Router.Mode)).
		Str("version", r.version).Int("listeners", listeners).Msg("router ready")
	<-ctx.Done()
	r.ready.Store(false)
	r.shutdown(stopAccepting)
	stop()
	r.running.end()
	wg.Wait()
	logging.Notice(&r.log).Msg("Shut Down")
	return nil
}

// shutdown stops accepting, lets what is under way finish for a moment, and
// closes the connections.
func (r *Router) shutdown(stopAccepting func()) {
	deadline := time.Now().Add(r.cfg.Router.ShutdownTimeout)
	r.running.end() // nothing is made any more
	for _, l := range r.listening() {
		l.Close()
	}
	r.mu.Lock()
	for _, c := range r.connectors {
		c.End()
	}
	r.mu.Unlock()
	err := amqp.Errorf(amqp.CondConnectionForced, "the router is shutting down")
	for _, c := range r.connections() {
		c.driver.Close(err)
	}
	for time.Now().Before(deadline) && len(r.connections()) > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	for _, c := range r.connections() {
		c.driver.Abort()
	}
	stopAccepting()
}

func (r *Router) closeListeners() {
	for _, l := range r.listeners {
		l.Close()
	}
	for _, h := range r.http {
		h.close()
	}
}

func (r *Router) listening() []*listener {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.listeners)
}

// Addrs returns the addresses on which AMQP is listened for.
func (r *Router) Addrs() []net.Addr {
	var addrs []net.Addr
	for _, l := range r.listening() {
		addrs = append(addrs, l.Addr())
	}
	return addrs
}

// Ready tells whether the router serves.
func (r *Router) Ready() bool { return r.ready.Load() }

func (r *Router) connections() []*connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*connection, 0, len(r.conns))
	for _, c := range r.conns {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *connection) int { return int(a.id) - int(b.id) })
	return list
}
