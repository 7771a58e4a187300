package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

// Options say what a server offers.
type Options struct {
	Healthz, Metrics bool
	// Ready returns "" when the router serves, or what it waits for.
	Ready func() string
	// Snapshot returns what the router measures.
	Snapshot func() Snapshot
	Log      zerolog.Logger
}

// Handler returns the resources.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	if o.Healthz {
		mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, "OK\n")
		})
		mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			if why := o.Ready(); why != "" {
				w.WriteHeader(http.StatusServiceUnavailable)
				io.WriteString(w, why+"\n")
				return
			}
			io.WriteString(w, "OK\n")
		})
	}
	if o.Metrics {
		reg := prometheus.NewRegistry()
		reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &collector{o.Snapshot})
		mux.Handle("/metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	}
	return mux
}

// Deadlines of HTTP requests: what is served is small, and nobody may hold a
// connection by sending or reading slowly.
const (
	headerTimeout = 5 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 60 * time.Second
)

// complaints logs what net/http says of single connections.
type complaints struct{ log zerolog.Logger }

func (c complaints) Write(line []byte) (int, error) {
	n := len(line)
	line = bytes.TrimSpace(line)
	if bytes.HasSuffix(line, []byte(": EOF")) { // a probe of the port
		c.log.Debug().Msg(string(line))
	} else {
		c.log.Warn().Msg(string(line))
	}
	return n, nil
}

// Serve serves on l until ctx is done, with TLS if tlsConfig is not nil.
func Serve(ctx context.Context, l net.Listener, tlsConfig *tls.Config, h http.Handler, log zerolog.Logger) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          stdlog.New(complaints{log}, "", 0),
	}
	if tlsConfig != nil {
		l = tls.NewListener(l, tlsConfig)
	}
	stop := context.AfterFunc(ctx, func() {
		sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if srv.Shutdown(sctx) != nil {
			srv.Close()
		}
	})
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		log.Error().Err(err).Msg("the HTTP listener failed")
		return err
	}
	return nil
}
