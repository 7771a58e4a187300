package router

import (
	"context"
	"math"
	"runtime/debug"
	"time"

	"sluice/amqp/transport"
	"sluice/buffers"
	"sluice/links"
	"sluice/router/forward"
)

// sweepInterval is how often addresses are looked at for what has waited too
// long: ttl, unsettled time-outs, the patience of multicast.
const sweepInterval = time.Second

// relieveInterval is how soon after memory was short peers are asked for more.
const relieveInterval = 20 * time.Millisecond

// memoryShare is the part of the process's memory that buffers may take before
// peers are asked for nothing more; the rest is for everything else.
const memoryShare = 2

// budgetMemory sets the process-wide budget from the memory limit: the
// configured one, or what the runtime was told (GOMEMLIMIT, the container).
func (r *Router) budgetMemory() {
	n := r.limit
	if n == 0 {
		if n = debug.SetMemoryLimit(-1); n == math.MaxInt64 {
			n = 0
		}
	}
	buffers.SetLimit(n / memoryShare)
}

// relieve opens windows and grants credit that were held back.
func (r *Router) relieve() {
	for _, c := range r.connections() {
		c.driver.Do(relieve)
	}
	r.manager.relieve()
}

func relieve(tc *transport.Conn) {
	tc.Sessions(func(s *transport.Session) {
		s.Relieve()
		s.Links(func(l transport.Link) {
			if in, ok := l.(*links.Receiver); ok {
				in.Relieve()
			}
		})
	})
}

// sweep is a control goroutine; it is never on the message path.
func (r *Router) sweep(ctx context.Context) {
	t := time.NewTicker(sweepInterval)
	defer t.Stop()
	memory := time.NewTicker(relieveInterval)
	defer memory.Stop()
	var after trimmer
	for {
		select {
		case <-ctx.Done():
			return
		case <-memory.C:
			if buffers.Relieved() {
				r.relieve()
			}
		case now := <-t.C:
			r.shared.Table.All(func(a *forward.Address) { a.Sweep(now.UnixNano(), r.warnStuck) })
			r.trimStreams(now)
			r.manager.watch(now)
			r.lookForStuck(now)
			r.sweepEdges(now)
			if n := r.occupied(); after.due(n, n+buffers.Pooled()) {
				trim()
			}
		}
	}
}

// warnStuck names a receiver that did not settle in time.
func (r *Router) warnStuck(s *links.Sender, n int) {
	e := r.log.Warn()
	for _, c := range r.connections() {
		if c.driver.Conn() == s.Conn() {
			e = c.log.Warn().Str("user", c.handler.User)
		}
	}
	e.Str("container", s.Conn().Remote().ContainerID).Str("link", s.Endpoint().Name()).
		Str("address", s.Info().Address).Int("deliveries", n).
		Msg("the receiver has not settled deliveries in time; their senders were told modified, delivery-failed")
}
