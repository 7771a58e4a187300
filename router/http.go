package router

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/rs/zerolog"

	"sluice/amqp/driver"
	"sluice/router/control/config"
	"sluice/router/control/logging"
	"sluice/router/control/tlsprofile"
	"sluice/router/control/web"
	"sluice/router/listen"
	"sluice/router/listen/websocket"
)

// An httpListener serves health, metrics, files, and AMQP over WebSockets. TLS is
// told from clear text as on any other listener.
type httpListener struct {
	listener
	router  *Router
	profile *tlsprofile.Profile // nil for none
	queue   *web.Queue          // from the listener to the server
	log     zerolog.Logger
	sockets sync.WaitGroup // WebSockets that are served
	stop    func()         // once it runs
}

func (r *Router) listenHTTP(cfg config.Listener) (*httpListener, error) {
	p, err := r.profile(cfg.SSLProfile)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", cfg.Pos, err)
	}
	h := &httpListener{listener: listener{cfg: cfg}, router: r, profile: p, log: r.logs.Logger(logging.HTTP)}
	h.Name, h.Log = listenerName(&cfg), h.log
	h.FailureLines = r.logs.Throttle(logging.HTTP, "TLS handshake failed")
	h.ClientCert = asksFor(cfg.ClientAuth())
	h.Handshake = cfg.HandshakeTimeout
	if h.Handshake == 0 {
		h.Handshake = driver.DefaultHandshakeTimeout
	}
	if p != nil {
		h.TLS = func() *tls.Config { return p.Server(cfg.ClientAuth()) }
	}
	h.Serve = func(_ context.Context, peer listen.Peer) {
		if peer.TLS != nil {
			h.queue.Put(peer.Socket())
		} else {
			h.queue.Put(web.NoAMQP(peer.Socket()))
		}
	}
	if err := h.Listen(cfg.Network(), cfg.Address()); err != nil {
		return nil, listenError(cfg, r.holder(&cfg), err)
	}
	h.queue = web.NewQueue(h.Addr())
	r.mu.Lock()
	r.http = append(r.http, h)
	r.mu.Unlock()
	logging.Notice(&h.log).Msgf("Listening for HTTP on %s", h.Addr())
	return h, nil
}

// run serves until ctx is done and all WebSockets have ended.
func (h *httpListener) run(ctx context.Context) {
	o := web.Options{
		Name:       h.router.cfg.Router.ID,
		Healthz:    h.cfg.Healthz,
		Ready:      h.router.readiness,
		Root:       h.cfg.HTTPRootDir,
		RequireTLS: h.cfg.RequireSSL || h.cfg.RequireEncrypted,
		Auth:       h.auth(),
	}
	if h.cfg.Metrics {
		o.Metrics = h.router.metrics
	}
	if h.cfg.WebSockets {
		o.AMQP = func(w http.ResponseWriter, r *http.Request) { h.webSocket(ctx, w, r) }
	}
	h.sockets.Go(func() { h.Run(ctx) })
	log := h.log.Sample(h.router.logs.Throttle(logging.HTTP, "HTTP connection failed"))
	web.Serve(ctx, h.queue, web.Handler(o), log)
	h.sockets.Wait()
}

// auth says who may ask for the resources.
func (h *httpListener) auth() *web.Auth {
	if !h.cfg.AuthenticatePeer {
		return nil
	}
	a := new(web.Auth)
	if h.cfg.TakesPasswords() {
		a.Verify = func(user, password string) bool {
			users := h.router.usersOf(h.cfg.SASLUsersFile)
			if users == nil {
				return false
			}
			_, ok := users.Verify(user, password)
			return ok
		}
	}
	return a
}

// webSocket serves the AMQP connection that a request becomes.
func (h *httpListener) webSocket(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	if !h.router.Ready() {
		http.Error(w, "the router is starting or shutting down", http.StatusServiceUnavailable)
		return
	}
	c, err := websocket.Accept(w, r, websocket.Options{Origins: h.cfg.WebSocketOrigins})
	if err != nil {
		e := h.log.Debug()
		var origin *websocket.OriginError
		if errors.As(err, &origin) {
			log := h.log.Sample(h.router.logs.Throttle(logging.HTTP, "WebSocket refused"))
			e = log.Warn()
		}
		e.Str("peer", r.RemoteAddr).Str("listener", h.Name).
			Str("subprotocols", r.Header.Get("Sec-WebSocket-Protocol")).Msg("WebSocket refused: " + err.Error())
		return
	}
	h.sockets.Add(1)
	defer h.sockets.Done()
	defer c.Finish()
	h.router.serveAccepted(ctx, &h.listener, h.profile, listen.Peer{Conn: c, TLS: r.TLS})
}

func (h *httpListener) close() { h.Close() }

// HTTPAddrs returns the addresses on which HTTP is listened for.
func (r *Router) HTTPAddrs() []net.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	var addrs []net.Addr
	for _, h := range r.http {
		addrs = append(addrs, h.Addr())
	}
	return addrs
}

// readiness says what the router waits for before it serves.
func (r *Router) readiness() string {
	if !r.Ready() {
		return "starting or shutting down"
	}
	if why := r.linking(); why != "" {
		return why
	}
	return r.joining()
}
