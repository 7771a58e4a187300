package router

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"

	"github.com/rs/zerolog"

	"sluice/router/control/config"
	"sluice/router/control/logging"
	"sluice/router/control/web"
)

// An httpListener serves health and metrics.
type httpListener struct {
	cfg     config.Listener
	l       net.Listener
	tls     *tls.Config // nil for none
	handler http.Handler
	router  *Router
	log     zerolog.Logger
}

func (r *Router) listenHTTP(cfg config.Listener) (*httpListener, error) {
	p, err := r.profile(cfg.SSLProfile)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", cfg.Pos, err)
	}
	l, err := net.Listen(cfg.Network(), cfg.Address())
	if err != nil {
		return nil, listenError(cfg, err)
	}
	h := &httpListener{cfg: cfg, l: l, router: r, log: r.logs.Logger(logging.HTTP)}
	if p != nil {
		h.log = h.log.With().Str("listener", listenerName(&cfg)).Str("clientCertificate", asksFor(cfg.ClientAuth())).Logger()
		h.tls = p.Server(cfg.ClientAuth())
	}
	h.handler = web.Handler(web.Options{
		Healthz:  cfg.Healthz,
		Metrics:  cfg.Metrics,
		Ready:    r.readiness,
		Snapshot: r.snapshot,
	})
	r.mu.Lock()
	r.http = append(r.http, h)
	r.mu.Unlock()
	log := r.logs.Logger(logging.HTTP)
	logging.Notice(&log).Msgf("Listening for HTTP on %s", l.Addr())
	return h, nil
}

func (h *httpListener) run(ctx context.Context) {
	log := h.log.Sample(h.router.logs.Throttle(logging.HTTP, "HTTP connection failed"))
	web.Serve(ctx, h.l, h.tls, h.handler, log)
}

func (h *httpListener) close() { h.l.Close() }

// HTTPAddrs returns the addresses on which HTTP is listened for.
func (r *Router) HTTPAddrs() []net.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	var addrs []net.Addr
	for _, h := range r.http {
		addrs = append(addrs, h.l.Addr())
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
