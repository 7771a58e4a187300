package router

import (
	"context"
	"time"

	"sluice/router/forward"
)

// sweepInterval is how often addresses are looked at for what has waited too
// long: ttl, unsettled time-outs, the patience of multicast.
const sweepInterval = time.Second

// sweep is a control goroutine; it is never on the message path.
func (r *Router) sweep(ctx context.Context) {
	t := time.NewTicker(sweepInterval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			r.shared.Table.All(func(a *forward.Address) { a.Sweep(now.UnixNano()) })
		}
	}
}
