package web

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"sluice/router/listen/websocket"
)

// Options say what a server offers.
type Options struct {
	Name    string // of the router
	Healthz bool
	Metrics *Metrics // nil where there are none
	// Ready returns "" when the router serves, or what it waits for.
	Ready func() string
	// Root is a directory of files to serve; empty for none.
	Root string
	// AMQP answers requests for a WebSocket; nil where there are none.
	AMQP http.HandlerFunc
	// RequireTLS refuses requests in clear text.
	RequireTLS bool
	// Auth says who may ask for anything but health; nil for everybody. WebSockets
	// look after themselves.
	Auth *Auth
}

// Handler returns the resources.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	guard := func(h http.Handler) http.Handler { return o.Auth.guard(h) }
	if o.Healthz {
		mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
			plain(w, http.StatusOK, "OK")
		})
		mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
			if why := o.Ready(); why != "" {
				plain(w, http.StatusServiceUnavailable, why)
				return
			}
			plain(w, http.StatusOK, "OK")
		})
	}
	if o.Metrics != nil {
		metrics := guard(o.Metrics.handler())
		mux.Handle("/metrics", metrics)
		mux.Handle("/metrics/", metrics)
	}
	if o.Root != "" {
		mux.Handle("/", guard(files(o.Root)))
	} else {
		mux.Handle("/", guard(http.HandlerFunc(o.index)))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		switch {
		case o.RequireTLS && r.TLS == nil:
			plain(w, http.StatusBadRequest, "this port takes HTTPS only, and the request came in clear text")
		case !websocket.Asked(r):
			mux.ServeHTTP(w, r)
		case o.AMQP == nil:
			plain(w, http.StatusForbidden, "AMQP over WebSocket is not enabled on this port (websockets: no)")
		default:
			o.AMQP(w, r)
		}
	})
}

// index says what is here.
func (o *Options) index(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" && r.URL.Path != "/index.html" {
		plain(w, http.StatusNotFound, "there is no "+r.URL.Path+" here; / says what is")
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "sluice, AMQP 1.0 router %s\n\n", o.Name)
	if o.Healthz {
		b.WriteString("/healthz   200 while the process is alive\n/readyz    200 when it serves, else 503 and the reason\n")
	}
	if o.Metrics != nil {
		b.WriteString("/metrics   Prometheus text\n")
	}
	if o.AMQP != nil {
		b.WriteString("ws         AMQP 1.0 over WebSocket, subprotocol amqp, on any path\n")
	}
	plain(w, http.StatusOK, strings.TrimSuffix(b.String(), "\n"))
}

// plain answers with a line of text.
func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	io.WriteString(w, text+"\n")
}
