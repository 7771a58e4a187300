package bubble

import (
	"context"
	"io"
	"net"
	"sync"
	"testing/synctest"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/amqp/amqptest"
	"sluice/amqp/driver"
	"sluice/amqp/encoding"
	"sluice/amqp/transport"
	"sluice/router/address"
	"sluice/router/admission"
	"sluice/router/control/edge"
	"sluice/router/edges"
	"sluice/router/trunk"
	"sluice/router/uplink"
)

// An Edge is an edge router in a test's bubble.
type Edge struct {
	*Router
	ID       string
	Instance uint64
	Agent    *edge.Agent

	uplinks *uplink.Shared
	cables  []*Cable
	nextID  uint64
}

// NewEdge makes a router an edge router without an uplink.
func NewEdge(r *Router, id string) *Edge {
	r.shared.Identity = address.Identity{ID: id, Edge: true}
	r.limits.Router = "0/" + id
	e := &Edge{Router: r, ID: id, uplinks: uplink.NewShared(r.shared.Identity, r.Table)}
	e.Agent = edge.NewAgent(e.uplinks, zerolog.New(io.Discard))
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { e.Agent.Run(ctx) })
	r.T.Cleanup(func() {
		for _, p := range r.peers {
			p.End.Close()
		}
		synctest.Wait()
		for _, c := range e.cables {
			c.Cut()
		}
		stop()
		running.Wait()
	})
	return e
}

// AddEdge returns another edge router of the network, without an uplink.
func (m *Mesh) AddEdge(o Options, id string) *Edge {
	r := newRouter(m.T, o)
	r.base = -1
	m.T.Cleanup(r.finish)
	return NewEdge(r, id)
}

// Edges are the edge routers of an interior router.
func (r *Router) Edges() *edges.Edges {
	if r.edges == nil {
		r.edges = &edges.Edges{Table: r.Table}
	}
	return r.edges
}

// capabilities are what routers offer each other on an uplink.
func capabilities(c *transport.Config) {
	c.OfferedCapabilities = []amqp.Symbol{"ANONYMOUS-RELAY", trunk.CapStreaming}
	c.ChannelMax = 1000
}

// interior returns the driver of an interior router's end of an uplink.
func (r *Router) interior(id uint64, end *amqptest.End) *driver.Driver {
	h := handler{r: r}
	h.Connection = admission.NewConnection(r.shared, r.limits, zerolog.New(io.Discard), nil, func(c *transport.CloseCause) {
		r.mu.Lock()
		r.Causes = append(r.Causes, c)
		r.mu.Unlock()
	})
	h.Connection.Edge = &edges.Edge{ID: id, Peer: "edge", Edges: r.Edges(), Limits: r.limits}
	cfg := r.o.Transport
	cfg.ContainerID = r.shared.Identity.ID
	capabilities(&cfg)
	return driver.New(end, nil, r.o.Driver, cfg, h)
}

// up returns the driver of the edge router's end of an uplink.
func (e *Edge) up(end *amqptest.End) *driver.Driver {
	e.nextID++
	l := e.limits
	h := handler{r: e.Router}
	h.Connection = admission.NewConnection(e.shared, l, zerolog.New(io.Discard), nil, func(c *transport.CloseCause) {
		e.mu.Lock()
		e.Causes = append(e.Causes, c)
		e.mu.Unlock()
	})
	h.Connection.Uplink = &uplink.Uplink{Shared: e.uplinks, ID: e.nextID, Limits: l}
	cfg := e.o.Transport
	cfg.ContainerID, cfg.Client = e.ID, true
	if e.Instance != 0 {
		cfg.Properties, _ = encoding.AppendAny(nil, encoding.Map{{Key: uplink.PropInstance, Value: e.Instance}})
	}
	capabilities(&cfg)
	return driver.New(end, nil, e.o.Driver, cfg, h)
}

// Join connects the edge router to an interior one.
func (e *Edge) Join(to *Router) *Cable {
	a, b := amqptest.NewPipe(1 << 20)
	c := &Cable{a: a, b: b, done: make(chan struct{})}
	c.ends = [2]*driver.Driver{to.interior(1000+e.nextID, a), e.up(b)}
	var running sync.WaitGroup
	for i, d := range c.ends {
		c.conns[i] = d.Conn()
		running.Go(func() { d.Run() })
	}
	go func() {
		running.Wait()
		close(c.done)
	}()
	e.cables = append(e.cables, c)
	synctest.Wait()
	return c
}

// DialUplink returns a peer that plays the interior router of an uplink.
func (e *Edge) DialUplink() *amqptest.Peer {
	a, b := amqptest.NewPipe(e.o.PipeBytes)
	return e.serve(a, e.up(b))
}

// DialEdge returns a peer that plays an edge router.
func (r *Router) DialEdge() *amqptest.Peer {
	a, b := amqptest.NewPipe(r.o.PipeBytes)
	r.nextEdge++
	return r.serve(a, r.interior(r.nextEdge, b))
}

// serve runs a driver, whose peer is at the other end.
func (r *Router) serve(end *amqptest.End, d *driver.Driver) *amqptest.Peer {
	p := amqptest.NewPeer(r.T, end)
	r.peers = append(r.peers, p)
	r.drivers = append(r.drivers, d)
	r.running++
	go func() { r.done <- d.Run() }()
	synctest.Wait()
	return p
}

// SetID gives a router another id than "router".
func (r *Router) SetID(id string) { r.shared.Identity.ID = id }

// Services starts what an interior router has for edge routers of the existing
// family; stop ends it.
func (r *Router) Services() (stop func()) {
	serve := func(c net.Conn) {
		l := r.limits
		l.Private = true
		h := admission.NewConnection(r.shared, l, zerolog.New(io.Discard), nil, nil)
		driver.New(c, nil, r.o.Driver, r.o.Transport, h).Run()
	}
	s := edge.NewServices(r.shared.Identity, r.Table, serve, zerolog.New(io.Discard))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		s.Run(ctx)
		close(done)
	}()
	synctest.Wait()
	return func() {
		cancel()
		<-done
	}
}
