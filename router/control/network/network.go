package network

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/control/mesh"
	"sluice/router/forward"
	"sluice/router/table"
	"sluice/router/trunk"
)

// Config is what a Network is made from.
type Config struct {
	Engine mesh.Config
	Table  *table.Table
	// Treatment tells how an address is configured, and whether that is said of
	// it in particular.
	Treatment func(address.Address) (t forward.Treatment, explicit bool)
	// Marks give the high and low mark of what an address has under way to
	// another router.
	Marks links.Limits
	// Close closes the connection of a trunk because of an error.
	Close func(t *trunk.Trunk, err *amqp.Error)
	Log   zerolog.Logger
	// Ending tells whether this router is shutting down, so that nobody misses its
	// neighbours; nil for never.
	Ending func() bool
	// Throttle bounds the lines of one kind; nil for no bound.
	Throttle func(kind string) zerolog.Sampler
}

// A Network is the control plane of an interior router. It implements
// trunk.Network.
type Network struct {
	cfg     Config
	picture atomic.Pointer[trunk.Picture]
	status  atomic.Pointer[Status]
	wake    chan struct{} // one slot

	mu    sync.Mutex // a leaf lock; guards the fields below
	inbox []news
	near  map[string]nearness // of addresses by key

	// Owned by Run.
	listened time.Time
	engine   *mesh.Engine
	trunks   map[uint64]*peer
	routes   *mesh.Routes
	hops     map[string]*links.Hop
	reach    map[string]*reach   // by key
	fresh    map[string]struct{} // addresses that have come or gone somewhere
	dirty    map[string]struct{} // and those to which the way has changed
	told     []mesh.Output       // to be done when nothing is dirty
	held     time.Time           // since when they wait; zero if they do not
	backlog  backlog             // taken out of inbox and near, and not told the engine yet
	warned   map[string]struct{} // of other protocol versions
}

// peer is what Run knows of a trunk.
type peer struct {
	trunk    *trunk.Trunk
	since    time.Time
	heard    time.Time // the last HELLO
	frames   uint64    // that have come in
	sent     uint64
	received uint64
	lost     uint64
}

// news is what a trunk has to say: up, down, or a message.
type news struct {
	trunk   *trunk.Trunk
	kind    uint8
	message links.ControlMessage
}

const (
	trunkUp uint8 = iota
	trunkDown
	trunkMessage
)

type backlog struct {
	inbox []news
	near  map[string]nearness
}

type nearness struct {
	has       bool
	treatment int
}

// New returns a Network that does not run yet. It hears of the addresses of the
// table from now on, which must have none.
func New(c Config) (*Network, error) {
	e, err := mesh.New(c.Engine, time.Now())
	if err != nil {
		return nil, err
	}
	n := &Network{
		cfg:    c,
		wake:   make(chan struct{}, 1),
		near:   make(map[string]nearness),
		engine: e,
		trunks: make(map[uint64]*peer),
		hops:   make(map[string]*links.Hop),
		reach:  make(map[string]*reach),
		fresh:  make(map[string]struct{}),
		dirty:  make(map[string]struct{}),
		warned: make(map[string]struct{}),
	}
	n.picture.Store(&trunk.Picture{Numbers: map[string]uint32{mesh.NodeView(c.Engine.ID): mesh.SelfNumber}})
	n.status.Store(&Status{Self: c.Engine.ID})
	c.Table.Near = n.nearer
	return n, nil
}

// Picture is what the data plane reads.
func (n *Network) Picture() *atomic.Pointer[trunk.Picture] { return &n.picture }

// Up implements trunk.Network.
func (n *Network) Up(t *trunk.Trunk) { n.tell(news{trunk: t, kind: trunkUp}) }

// Down implements trunk.Network.
func (n *Network) Down(t *trunk.Trunk) { n.tell(news{trunk: t, kind: trunkDown}) }

// Received implements trunk.Network.
func (n *Network) Received(t *trunk.Trunk, m links.ControlMessage) {
	n.tell(news{trunk: t, kind: trunkMessage, message: m})
}

func (n *Network) tell(w news) {
	n.mu.Lock()
	n.inbox = append(n.inbox, w)
	n.mu.Unlock()
	n.poke()
}

func (n *Network) poke() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// nearer hears from an address, under its lock, that it has got destinations
// here, or none any more. Others are told of mobile addresses and of edge
// routers.
func (n *Network) nearer(a *forward.Address, has bool) {
	if c := address.Class(a.Key[0]); c != address.Mobile && c != address.Edge {
		return
	}
	n.mu.Lock()
	n.near[a.Key] = nearness{has, treatmentNumber(a.Distribution)}
	n.mu.Unlock()
	n.poke()
}

func treatmentNumber(d forward.Distribution) int {
	switch d {
	case forward.Multicast:
		return mesh.TreatmentMulticast
	case forward.Closest:
		return mesh.TreatmentClosest
	}
	return mesh.TreatmentBalanced
}

// Run runs the engine until ctx is done.
func (n *Network) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer n.discard()
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		case <-timer.C:
		}
		now := time.Now()
		n.listen(now)
		n.take(now)
		n.engine.Tick(now)
		n.act(now)
		if wait := time.Until(n.engine.Next()); wait > 0 {
			timer.Reset(wait)
		} else {
			timer.Reset(time.Millisecond)
		}
	}
}

// discard gives back the credit of what nobody will read.
func (n *Network) discard() {
	n.mu.Lock()
	inbox := append(n.backlog.inbox, n.inbox...)
	n.inbox, n.backlog.inbox = nil, nil
	n.mu.Unlock()
	for _, w := range inbox {
		if w.kind == trunkMessage {
			w.message.Done(messaging.Accepted)
		}
	}
}

// listen tells the engine, once a second, which connections are not silent.
func (n *Network) listen(now time.Time) {
	if now.Sub(n.listened) < time.Second {
		return
	}
	n.listened = now
	for id, p := range n.trunks {
		d, ok := p.trunk.Conn.Owner().(transport.Locker)
		if !ok {
			continue
		}
		var frames uint64
		d.Do(func(c *transport.Conn) { frames = c.FramesIn })
		if frames != p.frames {
			p.frames = frames
			n.engine.Step(now, mesh.Alive{Link: id})
		}
	}
}

// Bounds of what is done at a time: in between, HELLOs go out and those of others
// are heard. Either is some milliseconds of work.
const (
	takeBytes = 1 << 20 // of routing messages
	takeNear  = 4096    // addresses of this router
)

// take hands the engine what has come in, so far as the bounds go.
func (n *Network) take(now time.Time) {
	b := &n.backlog
	n.mu.Lock()
	b.inbox = append(b.inbox, n.inbox...)
	n.inbox = nil
	if len(b.near) == 0 && len(n.near) > 0 {
		b.near, n.near = n.near, make(map[string]nearness)
	}
	more := len(n.near) > 0
	n.mu.Unlock()
	left := takeNear
	for key, x := range b.near {
		if left--; left < 0 {
			break
		}
		delete(b.near, key)
		if x.has {
			n.engine.Step(now, mesh.LocalAdd{Key: key, Treatment: x.treatment})
		} else {
			n.engine.Step(now, mesh.LocalRemove{Key: key})
		}
	}
	left = takeBytes
	for len(b.inbox) > 0 && left > 0 {
		w := b.inbox[0]
		b.inbox[0] = news{}
		b.inbox = b.inbox[1:]
		left -= len(w.message.Bytes)
		n.hear(now, w)
	}
	if len(b.inbox) == 0 {
		b.inbox = nil
	}
	if more || len(b.near) > 0 || len(b.inbox) > 0 {
		n.poke()
	}
}

// hear hands the engine one of the news.
func (n *Network) hear(now time.Time, w news) {
	t := w.trunk
	switch w.kind {
	case trunkUp:
		n.trunks[t.ID] = &peer{trunk: t, since: now}
		n.engine.Step(now, mesh.LinkUp{Link: t.ID, Cost: t.Cost, Slow: t.Foreign()})
	case trunkDown:
		if n.trunks[t.ID] != nil {
			delete(n.trunks, t.ID)
			n.engine.Step(now, mesh.LinkDown{Link: t.ID})
		}
	case trunkMessage:
		if p := n.trunks[t.ID]; p != nil {
			p.received++
			n.read(now, p, w.message.Bytes)
		}
		w.message.Done(messaging.Accepted)
	}
}

// read takes a routing message apart.
func (n *Network) read(now time.Time, p *peer, b []byte) {
	m, err := mesh.Decode(b)
	if err != nil {
		log := n.log("malformed")
		log.Warn().Err(err).Uint64("conn", p.trunk.ID).Msg("a routing message was not understood")
		return
	}
	if _, ok := m.Body.(*mesh.Hello); ok {
		p.heard = now
	}
	n.engine.Step(now, mesh.Received{Link: p.trunk.ID, Message: m})
}

func (n *Network) log(kind string) zerolog.Logger {
	if n.cfg.Throttle == nil {
		return n.cfg.Log
	}
	return n.cfg.Log.Sample(n.cfg.Throttle(kind))
}
