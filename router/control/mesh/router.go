package mesh

import (
	"slices"
	"time"
)

// A router is what is known of another router.
type router struct {
	id     string
	number int

	heard     time.Time // last message that it made
	forgotten bool      // that was too long ago, and nothing is left but that others mention it

	instance int64     // its life; 0 when not said
	since    time.Time // when that was learnt
	previous int64     // the life before; 0 when there was none
	other    int64     // a life told from afar while a neighbour says HELLO with instance; 0 when there is none
	otherAt  time.Time // when that was first told
	back     time.Time // when its numbers were first told to be lower than before, or zero

	hasLS bool
	ls    remoteLinkState
	lsr   request

	mobile remoteAddresses
	mar    request

	answered   int64 // mobile_seq of the last absolute MAU for it
	answeredAt time.Time

	reachable bool
	cost      int64
	hops      int
	nextHop   string
	probeAt   time.Time // when to ask it whether what is known is current; zero: never

	advertised *Message // the RA that was believed last, if it was one to all
	floods     floodMemory
}

// A request is a question that is repeated until it is answered.
type request struct {
	want  bool
	due   time.Time
	sent  time.Time
	tries int
}

// requestSpacing is the least time between two of the same kind to the same router.
const requestSpacing = 100 * time.Millisecond

// news makes the request due at once, or as soon as the last one is not just under way.
func (q *request) news(now time.Time) {
	at := now
	if !q.sent.IsZero() && q.sent.Add(requestSpacing).After(now) {
		at = q.sent.Add(requestSpacing)
	}
	if !q.want || at.Before(q.due) {
		q.due = at
	}
	q.want, q.tries = true, 0
}

// asked notes that it was sent, and when to repeat it.
func (q *request) asked(now time.Time, timeout time.Duration) {
	q.sent = now
	q.due = now.Add(timeout << min(max(q.tries-7, 0), 5))
	q.tries++
}

// know returns the router with an id, which becomes known if it was not. It is nil for the own one and for ids beyond the
// limits.
func (e *Engine) know(id string, from uint64) *router {
	if r := e.routers[id]; r != nil {
		return r
	}
	switch {
	case id == e.cfg.ID || id == "" || id == "all":
		return nil
	case len(id) > e.cfg.MaxID:
		e.notice(NoticeLimit, clip(id), from, "router id of %d bytes, at most %d are accepted", len(id), e.cfg.MaxID)
		return nil
	case len(e.routers) >= e.cfg.MaxRouters:
		e.notice(NoticeLimit, id, from, "more than %d routers: %q is left out", e.cfg.MaxRouters, id)
		return nil
	}
	r := &router{id: id, number: e.takeNumber(id), heard: e.now}
	e.insertRouter(r)
	e.pathsDirty = true
	return r
}

// takeNumber returns the lowest free number. A router that comes back before it was said to be gone keeps its own.
func (e *Engine) takeNumber(id string) int {
	if i := slices.IndexFunc(e.gone, func(g goneRouter) bool { return g.Router == id }); i >= 0 {
		n := e.gone[i].Number
		e.gone = slices.Delete(e.gone, i, i+1)
		return n
	}
	n := slices.Index(e.numbers, false)
	if n < 0 {
		n = len(e.numbers)
		e.numbers = append(e.numbers, false)
	}
	e.numbers[n] = true
	return n
}

// believes reports whether an RA says what is known of r to be the latest.
func (r *router) believes(m *RA) bool {
	return m.Instance == r.instance && m.LSSeq >= max(r.ls.seq, r.ls.told) && m.MobileSeq >= max(r.mobile.seq, r.mobile.told)
}

func (e *Engine) heard(r *router) { r.heard, r.forgotten = e.now, false }

// admit reports whether a message may be believed that came from the given life of r. A new life makes all that was known
// of the old one void. direct says that it was a HELLO.
func (e *Engine) admit(r *router, instance int64, direct bool) bool {
	if instance == 0 || instance == r.instance {
		return true
	}
	if r.instance == 0 {
		r.instance, r.since = instance, e.now
		return true
	}
	late := instance == r.previous && e.now.Before(r.since.Add(e.cfg.LateCopy))
	if !direct && late {
		return false
	}
	if !direct && e.alive(r) != nil {
		// Its own HELLOs are the better witness. If they cease, it has restarted elsewhere.
		if r.other != instance {
			r.other, r.otherAt = instance, e.now
		} else if due(r.otherAt.Add(e.cfg.LateCopy), e.now) {
			e.duplicate(r, instance)
		}
		return false
	}
	if instance == r.previous {
		e.duplicate(r, instance)
	}
	e.restart(r, instance)
	return true
}

func (e *Engine) duplicate(r *router, instance int64) {
	e.notice(NoticeDuplicate, r.id, 0, "there seem to be two routers with the id %q (instances %d and %d)", r.id,
		min(instance, r.instance), max(instance, r.instance))
}

// alive returns the link on which the known life of r was last heard, if that is not too long ago.
func (e *Engine) alive(r *router) (alive *link) {
	for _, l := range e.order {
		if l.peer == r.id && l.instance == r.instance && !l.refused && e.now.Before(l.heard.Add(e.cfg.silence())) &&
			(alive == nil || alive.heard.Before(l.heard)) {
			alive = l
		}
	}
	return alive
}

// restart forgets all that r has told, since another life of it has begun.
func (e *Engine) restart(r *router, instance int64) {
	e.forget(r)
	if instance == r.instance {
		e.notice(NoticeRestart, r.id, 0, "router %q counts anew (instance %d)", r.id, instance)
	} else {
		e.notice(NoticeRestart, r.id, 0, "router %q has restarted (instance %d, before %d)", r.id, instance, r.instance)
		r.previous, r.instance, r.since = r.instance, instance, e.now
	}
	// A late delta of the old life would fit where the new one begins, too.
	r.mobile.deltasFrom = e.now.Add(e.cfg.LateCopy)
	r.lsr.news(e.now)
	if r.reachable {
		r.probeAt = e.now.Add(probeDelay)
	}
	if _, ok := findNeighbor(e.self.neighbors, r.id); ok {
		e.scheduleTell() // it knows nothing
	}
}

// forget makes r as if it had never said anything.
func (e *Engine) forget(r *router) {
	if r.hasLS {
		e.topologyChanged()
	}
	e.hide(r)
	e.edges -= len(r.ls.peers)
	e.keys -= len(r.mobile.keys)
	r.hasLS, r.ls, r.mobile = false, remoteLinkState{}, remoteAddresses{}
	r.lsr, r.mar = request{}, request{}
	r.other, r.back, r.answeredAt = 0, time.Time{}, time.Time{}
	r.advertised, r.floods = nil, floodMemory{}
	e.pathsDirty = true
}

// expireRouters forgets what was not heard for too long, and takes the lives that were told from afar for those that have
// fallen silent.
func (e *Engine) expireRouters() {
	for _, r := range e.sorted {
		if r.other != 0 && e.alive(r) == nil {
			for _, l := range e.order {
				if l.peer == r.id && l.instance == r.instance {
					l.confirmed = time.Time{}
				}
			}
			e.restart(r, r.other)
			e.linksChanged()
		}
		if !r.forgotten && due(r.heard.Add(e.cfg.RemoteLSMaxAge), e.now) {
			e.forget(r)
			r.forgotten, r.instance, r.previous = true, 0, 0
			if r.reachable {
				r.lsr.news(e.now)
			}
		}
	}
}

func (e *Engine) routerDeadline(r *router) (t time.Time) {
	if !r.forgotten {
		t = r.heard.Add(e.cfg.RemoteLSMaxAge)
	}
	if r.other != 0 {
		if l := e.alive(r); l != nil {
			earliest(&t, l.heard.Add(e.cfg.silence()))
		} else {
			earliest(&t, e.now)
		}
	}
	if r.reachable {
		earliest(&t, r.probeAt)
		if r.lsr.want {
			earliest(&t, r.lsr.due)
		}
		if r.mar.want {
			earliest(&t, r.mar.due)
		}
	}
	return t
}

// A goneRouter is to be told of when no Routes is in use that has its number.
type goneRouter struct {
	RouterGone
	left bool // the Routes in the making is without it
}

// remove drops a router that nothing is known of any more.
func (e *Engine) remove(r *router) {
	delete(e.routers, r.id)
	e.sorted = slices.DeleteFunc(e.sorted, func(o *router) bool { return o == r })
	e.gone = append(e.gone, goneRouter{RouterGone: RouterGone{Router: r.id, Number: r.number}})
}

// sendRequests asks those who can be reached for what is missing.
func (e *Engine) sendRequests() {
	e.findPaths()
	for _, r := range e.sorted {
		if r.reachable && due(r.probeAt, e.now) {
			r.probeAt = time.Time{}
			if !r.mobile.exposed {
				r.mar.news(e.now)
			}
		}
		if r.reachable && r.lsr.want && due(r.lsr.due, e.now) {
			r.lsr.asked(e.now, e.cfg.RequestTimeout)
			e.sendTo(r.id, routingEndpoint, &LSR{ID: e.cfg.ID}, nil)
		}
		if r.reachable && r.mar.want && due(r.mar.due, e.now) {
			timeout := e.cfg.RequestTimeout
			if r.mar.tries > 0 {
				timeout *= 2 // the answer may be large, and on its way
			}
			r.mar.asked(e.now, timeout)
			e.sendTo(r.id, mobileEndpoint, &MAR{ID: e.cfg.ID, HaveSeq: r.mobile.seq}, nil)
		}
	}
}
