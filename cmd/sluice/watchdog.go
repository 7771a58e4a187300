package main

import (
	"context"
	"time"
)

// watch calls expired once n has not changed for timeout, unless ctx is done
// before.
func watch(ctx context.Context, timeout time.Duration, n func() uint64, expired func()) {
	// Looking ten times in the period makes it at most a tenth too long.
	ticker := time.NewTicker(max(timeout/10, time.Millisecond))
	defer ticker.Stop()
	last, since := n(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if current := n(); current != last {
				last, since = current, now
			} else if now.Sub(since) >= timeout {
				expired()
				return
			}
		}
	}
}
