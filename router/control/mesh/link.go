package mesh

import (
	"slices"
	"time"

	"sluice/amqp"
)

// A link is the pair of control links on one connection, and what was heard on it.
type link struct {
	id       uint64
	cost     int
	slow     bool
	helloDue time.Time
	refused  bool // for good

	peer     string    // id of the router at the other end; empty until it has said HELLO
	instance int64     // and which life of it
	first    time.Time // first HELLO of that life
	heard    time.Time // last HELLO
	sees     bool      // the last HELLO named this router
	waiting  bool      // another life of peer was heard on another link, which is not silent yet

	// confirmed is when the peer last said that it hears this router, or zero when that is too long ago. Both ends can use
	// the link then.
	confirmed time.Time
}

func (l *link) usable() bool { return !l.refused && !l.waiting && !l.confirmed.IsZero() }

// otherLife reports whether a and b lead to different lives of one id: a router that has restarted, or two routers with
// the same id.
func otherLife(a, b *link) bool {
	return a != b && a.peer == b.peer && a.peer != "" && !a.refused && !b.refused &&
		a.instance != b.instance && a.instance != 0 && b.instance != 0
}

func (a *link) older(b *link) bool {
	return a.first.Before(b.first) || a.first.Equal(b.first) && a.id < b.id
}

func (e *Engine) linkUp(ev LinkUp) {
	e.linkDown(ev.Link)
	l := &link{id: ev.Link, cost: max(ev.Cost, 1), slow: ev.Slow, helloDue: e.now}
	e.links[l.id] = l
	i, _ := slices.BinarySearchFunc(e.order, l.id, func(l *link, id uint64) int {
		if l.id < id {
			return -1
		}
		return 1
	})
	e.order = slices.Insert(e.order, i, l)
}

func (e *Engine) linkDown(id uint64) {
	l := e.links[id]
	if l == nil {
		return
	}
	delete(e.links, id)
	e.order = slices.DeleteFunc(e.order, func(o *link) bool { return o == l })
	e.linksChanged()
}

// busyFactor is for how many times HelloMaxAge a neighbour without HELLO that sends other things is believed to be busy. It
// is bounded because a router whose control plane has died is none, whatever else it does.
const busyFactor = 4

// busy keeps a neighbour whose connection is not silent.
func (e *Engine) busy(id uint64) {
	if l := e.links[id]; l != nil && !l.confirmed.IsZero() && e.now.Before(l.heard.Add(busyFactor*e.cfg.HelloMaxAge)) {
		l.confirmed = e.now
	}
}

// refuse ends a link for good. The caller then calls linksChanged.
func (e *Engine) refuse(l *link, format string, args ...any) {
	l.refused, l.waiting = true, false
	e.emit(Refuse{Link: l.id, Error: amqp.Errorf(amqp.CondNotAllowed, format, args...)})
}

// hello takes a HELLO, which only ever comes from the other end of the link.
func (e *Engine) hello(l *link, h *Hello) {
	if h.ID == e.cfg.ID {
		// Both ends see the same and do the same.
		if h.Instance == e.cfg.Instance {
			e.refuse(l, "router %q is connected to itself", h.ID)
		} else {
			e.refuse(l, "router id %q is that of both ends of the connection (instances %d and %d): each router needs its own",
				h.ID, min(h.Instance, e.cfg.Instance), max(h.Instance, e.cfg.Instance))
		}
		e.linksChanged()
		return
	}
	if e.know(h.ID, l.id) == nil {
		return
	}
	if l.peer != h.ID || l.instance != h.Instance {
		l.peer, l.instance, l.first, l.confirmed = h.ID, h.Instance, e.now, time.Time{}
	}
	l.heard, l.sees = e.now, slices.Contains(h.Seen, e.cfg.ID)
	for _, o := range e.order {
		// A life that still says HELLO some time after another has begun to is another router. A HELLO from just before
		// may have been under way.
		if otherLife(l, o) && l.older(o) && e.now.Sub(o.first) >= e.cfg.HelloInterval/4 {
			e.notice(NoticeDuplicate, l.peer, o.id, "links %d and %d lead to two routers with the id %q", l.id, o.id, l.peer)
			e.refuse(o, "router id %q is in use by another router of the mesh (instance %d, this one has %d): each router needs its own",
				l.peer, l.instance, o.instance)
		}
	}
	if _, known := e.seen[h.ID]; !known {
		l.helloDue = e.now // so that it learns at once that it is heard
	}
	e.seen[h.ID] = e.now
	if l.waiting = e.rival(l) != nil; l.waiting {
		e.linksChanged()
	} else {
		e.accept(l)
	}
}

// rival returns an older link to another life of the router at the end of l, on which that was heard of late.
func (e *Engine) rival(l *link) *link {
	for _, o := range e.order {
		if otherLife(l, o) && o.older(l) && e.now.Before(o.heard.Add(e.cfg.silence())) {
			return o
		}
	}
	return nil
}

// accept believes the last HELLO of a link.
func (e *Engine) accept(l *link) {
	l.waiting = false
	for _, o := range e.order {
		if otherLife(l, o) {
			o.confirmed = time.Time{}
		}
	}
	if r := e.know(l.peer, l.id); r != nil {
		e.admit(r, l.instance, true)
		e.heard(r)
		if l.sees {
			l.confirmed = l.heard
		}
	}
	e.linksChanged()
}

// expireLinks ends what was not confirmed for too long, and the wait for other lives to fall silent.
func (e *Engine) expireLinks() {
	for _, l := range e.order {
		if l.waiting && e.rival(l) == nil {
			e.accept(l)
		}
		if !l.confirmed.IsZero() && due(l.confirmed.Add(e.cfg.HelloMaxAge), e.now) {
			l.confirmed = time.Time{}
			e.linksChanged()
		}
	}
}

func (e *Engine) linkDeadline(l *link) (t time.Time) {
	if l.refused {
		return t
	}
	t = l.helloDue
	if !l.confirmed.IsZero() {
		earliest(&t, l.confirmed.Add(e.cfg.HelloMaxAge))
	}
	if l.waiting {
		if o := e.rival(l); o != nil {
			earliest(&t, o.heard.Add(e.cfg.silence()))
		} else {
			earliest(&t, e.now)
		}
	}
	return t
}

// sendHellos says HELLO on each link on which it is due.
func (e *Engine) sendHellos() {
	var m *Message
	for _, l := range e.order {
		if l.refused || !due(l.helloDue, e.now) {
			continue
		}
		if m == nil {
			m = NewMessage(e.cfg.ID, helloAddress, &Hello{ID: e.cfg.ID, Instance: e.cfg.Instance, Seen: e.heardOf()})
		}
		l.helloDue = e.now.Add(e.cfg.HelloInterval)
		e.send(l, m)
	}
}

// heardOf returns the ids heard on any link of late.
func (e *Engine) heardOf() []string {
	ids := []string{}
	for id, at := range e.seen {
		if due(at.Add(e.cfg.HelloMaxAge), e.now) {
			delete(e.seen, id)
		} else {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
