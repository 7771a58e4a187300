package mesh

import (
	"slices"
	"strings"
	"time"
)

// Engine is one router's part in the routing protocol. It has no goroutine, clock or socket: events and the time go in,
// outputs come out, and the same events at the same times give the same outputs. It is not safe for concurrent use.
//
// The time must not go backwards. It is that of the caller; nothing of it goes to other routers.
type Engine struct {
	cfg   Config
	now   time.Time // of the call in progress
	start time.Time
	out   []Output

	links map[uint64]*link
	order []*link // all links, by number
	seen  map[string]time.Time

	routers map[string]*router
	sorted  []*router // all routers, by id
	numbers []bool    // taken; SelfNumber always is

	self      linkState // own: Seq goes up with each change of the peers
	tellDue   time.Time // when the own link state is to be told; zero: it was
	told      time.Time // when it was told last
	newcomers []string  // neighbours that are to be told of all others then
	raDue     time.Time
	flux      time.Time // end of the time after a change in which RAs are more frequent

	mobile localAddresses

	pathsDirty bool      // link states have changed since paths were calculated
	pathsAt    time.Time // when they may be again
	paths      pathsState

	routesDirty bool      // and since Routes was begun
	routesAt    time.Time // when it may be again
	building    *building // Routes in the making
	routes      *Routes
	gone        []goneRouter // to be told behind Routes without them

	edges int // peers in the link states of all others
	keys  int // mobile keys of all others

	floods floodMemory // of messages that are not understood
}

// New returns an Engine for a router without links.
func New(c Config, now time.Time) (*Engine, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	e := &Engine{
		cfg: c, now: now, start: now, raDue: now.Add(c.RAInterval),
		links: map[uint64]*link{}, seen: map[string]time.Time{}, routers: map[string]*router{}, numbers: []bool{true},
		// Not 0: a peer takes a link state only when its number is above the one it has, which is 0 when it has none.
		self:       linkState{seq: 1},
		pathsDirty: true, routesDirty: true, routesAt: now,
	}
	e.mobile.init()
	return e, nil
}

// Step takes an event.
func (e *Engine) Step(now time.Time, ev Event) {
	e.now = now
	switch ev := ev.(type) {
	case LinkUp:
		e.linkUp(ev)
	case LinkDown:
		e.linkDown(ev.Link)
	case Alive:
		e.busy(ev.Link)
	case Received:
		if l := e.links[ev.Link]; l != nil && !l.refused {
			e.received(l, ev.Message)
		}
	case LocalAdd:
		e.localAdd(ev.Key, ev.Treatment)
	case LocalRemove:
		e.localRemove(ev.Key)
	}
	e.run()
}

// Tick lets time pass. It is wanted at Next, and harmless at any other time.
func (e *Engine) Tick(now time.Time) {
	e.now = now
	e.run()
}

// Ready returns what is to be done, and forgets it.
func (e *Engine) Ready() []Output {
	out := e.out
	e.out = nil
	return out
}

func (e *Engine) emit(o Output) { e.out = append(e.out, o) }

// run does all that is due.
func (e *Engine) run() {
	e.expireLinks()
	e.expireRouters()
	e.calculateIfDue()
	e.sendHellos()
	if due(e.tellDue, e.now) {
		e.tellLinkState()
	}
	if due(e.mobile.due, e.now) {
		e.tellMobile()
	}
	if due(e.raDue, e.now) {
		e.advertise()
	}
	e.sendRequests()
	// Whoever was found by a link state that was told just now.
	e.calculateIfDue()
}

// due reports whether the time t has come; the zero time never does.
func due(t, now time.Time) bool { return !t.IsZero() && !t.After(now) }

// earliest keeps the earlier of two times, of which zero means never.
func earliest(a *time.Time, b time.Time) {
	if !b.IsZero() && (a.IsZero() || b.Before(*a)) {
		*a = b
	}
}

// Next returns when Tick is wanted; never zero once there is a link.
func (e *Engine) Next() time.Time {
	next := e.raDue
	earliest(&next, e.tellDue)
	earliest(&next, e.mobile.due)
	switch {
	case e.building != nil:
		earliest(&next, e.now)
	case e.pathsDirty && e.pathsAt.After(e.routesAt):
		earliest(&next, e.pathsAt)
	case e.pathsDirty, e.routesDirty:
		earliest(&next, e.routesAt)
	}
	for _, l := range e.order {
		earliest(&next, e.linkDeadline(l))
	}
	for _, r := range e.sorted {
		earliest(&next, e.routerDeadline(r))
	}
	return next
}

// send puts a message on a link.
func (e *Engine) send(l *link, m *Message) { e.emit(Send{Link: l.id, Message: m}) }

// sendTo sends a message of the own router to another. If it has no path, via is taken, which may be nil.
func (e *Engine) sendTo(id, endpoint string, body Body, via *link) {
	if via == nil || via.peer != id {
		if l := e.linkTo(id); l != nil {
			via = l
		}
	}
	if via != nil {
		e.send(via, NewMessage(e.cfg.ID, routerAddress(id, endpoint), body))
	}
}

// compareIDs orders ids byte by byte.
func compareIDs(a, b string) int { return strings.Compare(a, b) }

// insertRouter keeps e.sorted sorted.
func (e *Engine) insertRouter(r *router) {
	i, _ := slices.BinarySearchFunc(e.sorted, r.id, func(r *router, id string) int { return compareIDs(r.id, id) })
	e.sorted = slices.Insert(e.sorted, i, r)
	e.routers[r.id] = r
}
