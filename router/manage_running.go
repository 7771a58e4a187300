package router

import (
	"context"
	"sync"
)

// running is what Run waits for besides its own goroutines: listeners,
// connectors and TLS profiles, of which management may make more while it runs.
type running struct {
	mu                 sync.Mutex // a leaf lock; guards the fields below
	wg                 *sync.WaitGroup
	accepting, serving context.Context // of what makes connections, and of the rest
	ended              bool
}

// begin lets things be started; Run waits for wg after end.
func (g *running) begin(wg *sync.WaitGroup, accepting, serving context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wg, g.accepting, g.serving = wg, accepting, serving
}

// end lets nothing be started any more.
func (g *running) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
}

// contexts are those that begin has been given.
func (g *running) contexts() (accepting, serving context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.accepting, g.serving
}

// start runs f, until it returns. It returns what ends f's context; false if the
// router does not run.
func (g *running) start(ctx context.Context, f func(context.Context)) (stop func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended || g.wg == nil {
		return nil, false
	}
	ctx, stop = context.WithCancel(ctx)
	g.wg.Go(func() {
		defer stop()
		f(ctx)
	})
	return stop, true
}
