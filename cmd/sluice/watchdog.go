package main

import (
	"context"
	"sync/atomic"
	"time"
)

// watch calls expired once n has not changed for timeout, unless ctx is done
// before.
func watch(ctx context.Context, timeout time.Duration, n *atomic.Uint64, expired func()) {
	// Looking ten times in the period makes it at most a tenth too long.
	ticker := time.NewTicker(max(timeout/10, time.Millisecond))
	defer ticker.Stop()
	last, since := n.Load(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if current := n.Load(); current != last {
				last, since = current, now
			} else if now.Sub(since) >= timeout {
				expired()
				return
			}
		}
	}
}
