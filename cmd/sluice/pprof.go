package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"time"

	"github.com/rs/zerolog"
)

// How often waiting is sampled while profiles are served: one in mutexFraction
// waits for a lock, and about one wait for each blockRate nanoseconds waited.
// More would cost what it measures.
const (
	mutexFraction = 100
	blockRate     = 100_000
)

// serveProfiles serves Go profiles until ctx is done. Profiles show what is in
// memory, so that only this machine may ask for them.
func serveProfiles(ctx context.Context, addr string, log *zerolog.Logger) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return usagef("--pprof %s is no HOST:PORT", addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usagef("--pprof %s is not on loopback; use 127.0.0.1 or localhost", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("--pprof: %w", err)
	}
	runtime.SetMutexProfileFraction(mutexFraction)
	runtime.SetBlockProfileRate(blockRate)
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	go server.Serve(l)
	log.Info().Stringer("address", l.Addr()).Msg("serving profiles at /debug/pprof/")
	return nil
}
