package edge

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/amqp/transport"
	"sluice/router/address"
	"sluice/router/forward"
	"sluice/router/uplink"
)

// An Agent runs the Engine of an edge router. It is the uplink.Control of the
// router's uplinks, and hears from the table which addresses are in use.
type Agent struct {
	shared *uplink.Shared
	log    zerolog.Logger
	// Throttle bounds the lines about proxies that are refused; nil for no bound.
	Throttle zerolog.Sampler
	// Ending tells whether this router is shutting down, so that nobody misses its
	// uplink; nil for never.
	Ending func() bool

	wake   chan struct{} // one slot
	status atomic.Pointer[Status]

	mu    sync.Mutex // a leaf lock; guards the fields below
	inbox []news
	local map[uplink.Proxy]bool // who is here, since it was last looked at

	// Owned by Run.
	engine  *Engine
	uplinks map[uint64]*uplink.Uplink
	beyond  *forward.Address // what leads to the network, while there is one
}

// news is an event, and the uplink if it is new.
type news struct {
	event Event
	up    *uplink.Uplink
}

// NewAgent returns the agent of a router whose uplinks have shared in common. It
// takes the hooks of the table, so that it must come before the first link.
func NewAgent(shared *uplink.Shared, log zerolog.Logger) *Agent {
	a := &Agent{
		shared:  shared,
		log:     log,
		wake:    make(chan struct{}, 1),
		local:   make(map[uplink.Proxy]bool),
		engine:  NewEngine(time.Now()),
		uplinks: make(map[uint64]*uplink.Uplink),
	}
	a.status.Store(new(Status))
	shared.Control = a
	shared.Table.Near = func(at *forward.Address, has bool) { a.used(at, uplink.In, has) }
	shared.Table.Fed = func(at *forward.Address, has bool) { a.used(at, uplink.Out, has) }
	shared.Table.Beyond = shared.Hop
	return a
}

// used notes whether an address has consumers or producers here. Only the last
// of what happens before the agent looks counts.
func (a *Agent) used(at *forward.Address, d uplink.Direction, has bool) {
	if address.Class(at.Key[0]) != address.Mobile {
		return
	}
	a.mu.Lock()
	a.local[uplink.Proxy{Key: at.Key, Direction: d}] = has
	a.mu.Unlock()
	a.poke()
}

// Up implements uplink.Control.
func (a *Agent) Up(u *uplink.Uplink) { a.tell(news{Up{u.ID}, u}) }

// Down implements uplink.Control.
func (a *Agent) Down(u *uplink.Uplink) { a.tell(news{event: Down{u.ID}}) }

// Ready implements uplink.Control.
func (a *Agent) Ready(u *uplink.Uplink) { a.tell(news{event: Usable{u.ID}}) }

// Tracked implements uplink.Control.
func (a *Agent) Tracked(u *uplink.Uplink, key string, has bool) {
	a.tell(news{event: Tracked{u.ID, key, has}})
}

// Answered implements uplink.Control.
func (a *Agent) Answered(u *uplink.Uplink, p uplink.Proxy) { a.tell(news{event: Answered{u.ID, p}}) }

// Lost implements uplink.Control.
func (a *Agent) Lost(u *uplink.Uplink, p uplink.Proxy, err *amqp.Error) {
	log := a.log
	if a.Throttle != nil {
		log = log.Sample(a.Throttle)
	}
	e := log.Info()
	if err != nil {
		e = e.Str("condition", string(err.Condition)).Str("description", err.Description)
	}
	e.Uint64("conn", u.ID).Str("address", p.Key[2:]).Stringer("dir", p.Direction).Msg("the interior router does not have the proxy of an address")
	a.tell(news{event: Lost{u.ID, p}})
}

func (a *Agent) tell(n news) {
	a.mu.Lock()
	a.inbox = append(a.inbox, n)
	a.mu.Unlock()
	a.poke()
}

func (a *Agent) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Run serves until ctx is done.
func (a *Agent) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			if a.beyond != nil {
				a.beyond.DropFar(a.shared.Hop)
			}
			return
		case <-a.wake:
		case <-timer.C:
		}
		a.take(time.Now())
		for {
			now := time.Now()
			a.engine.Tick(now)
			actions := a.engine.Ready()
			if len(actions) == 0 {
				break
			}
			a.act(now, actions)
			a.take(now)
		}
		a.report()
		if next := a.engine.Next(); !next.IsZero() {
			timer.Reset(max(time.Until(next), time.Millisecond))
		}
	}
}

// take steps the news.
func (a *Agent) take(now time.Time) {
	a.mu.Lock()
	inbox, local := a.inbox, a.local
	a.inbox = nil
	if len(local) > 0 {
		a.local = make(map[uplink.Proxy]bool)
	} else {
		local = nil
	}
	a.mu.Unlock()
	for p, has := range local {
		a.engine.Step(now, Local{p, has})
	}
	for _, n := range inbox {
		if n.up != nil {
			a.uplinks[n.up.ID] = n.up
		}
		if d, ok := n.event.(Down); ok {
			delete(a.uplinks, d.Uplink)
		}
		a.engine.Step(now, n.event)
	}
}

// act does what the engine wants done: what concerns one uplink, of which only
// one is used at a time, under one hold of its lock.
func (a *Agent) act(now time.Time, actions []Action) {
	for len(actions) > 0 {
		id := a.on(actions[0])
		n := 1
		for n < len(actions) && a.on(actions[n]) == id {
			n++
		}
		if u := a.uplinks[id]; u != nil {
			u.Conn.Owner().(transport.Locker).Do(func(*transport.Conn) {
				for _, o := range actions[:n] {
					a.actOn(now, u, o)
				}
			})
		} else {
			for _, o := range actions[:n] {
				a.actHere(o)
			}
		}
		actions = actions[n:]
	}
}

// on is the uplink that an action concerns; 0 for none.
func (a *Agent) on(o Action) uint64 {
	switch o := o.(type) {
	case Activate:
		return o.Uplink
	case Add:
		return o.Uplink
	case Remove:
		return o.Uplink
	case Join:
		return o.Uplink
	case Leave:
		return o.Uplink
	case Beat:
		return o.Uplink
	}
	return 0
}

func (a *Agent) actOn(now time.Time, u *uplink.Uplink, o Action) {
	switch o := o.(type) {
	case Activate:
		a.log.Info().Uint64("conn", u.ID).Str("interior", u.Conn.Remote().ContainerID).Msg("edge: uplink activated")
		if err := u.Activate(); err != nil {
			u.Conn.Close(amqp.Errorf(amqp.CondResourceLimitExceeded, "the links of an uplink cannot be attached: %v", err))
		}
	case Add:
		if err := u.Add(o.Proxy); err != nil {
			a.log.Warn().Err(err).Uint64("conn", u.ID).Str("address", o.Proxy.Key[2:]).Msg("a proxy cannot be attached")
			a.engine.Step(now, Lost{u.ID, o.Proxy})
		}
	case Remove:
		if u.Remove(o.Proxy) {
			a.engine.Step(now, Removed{u.ID, o.Proxy})
		} else {
			a.engine.Step(now, Busy{u.ID, o.Proxy})
		}
	case Join:
		u.Join(o.Key)
	case Leave:
		u.Leave(o.Key)
	case Beat:
		u.Heartbeat(o.N)
	}
}

func (a *Agent) actHere(o Action) {
	switch o := o.(type) {
	case Release:
		a.shared.Release(o.Key)
	case Open:
		if a.beyond == nil {
			a.beyond = a.shared.Table.Acquire(address.Uplink)
			a.beyond.SetFar(a.shared.Hop, 1, nil, nil)
		}
	case Shut:
		if a.Ending == nil || !a.Ending() {
			a.log.Warn().Msg("edge: there is no uplink; messages reach receivers of this router only")
		}
		if a.beyond != nil {
			a.beyond.DropFar(a.shared.Hop)
			a.beyond = nil
		}
	}
}
