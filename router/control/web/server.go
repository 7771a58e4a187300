package web

import (
	"bytes"
	"context"
	"errors"
	stdlog "log"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"
)

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

// Serve serves on l until ctx is done, and returns when no request is being
// answered any more. Connections that were made a WebSocket are not waited for.
func Serve(ctx context.Context, l net.Listener, h http.Handler, log zerolog.Logger) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          stdlog.New(complaints{log}, "", 0),
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if srv.Shutdown(sctx) != nil {
			srv.Close()
		}
	})
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		log.Error().Err(err).Msg("the HTTP listener failed")
		if stop() {
			srv.Close()
			return err
		}
	}
	<-closed
	return nil
}
