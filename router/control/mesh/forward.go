package mesh

import (
	"errors"
	"hash/fnv"
	"slices"
	"time"
)

// received takes a message that came in on a link: handles what is for this router, and passes on what is for others.
func (e *Engine) received(l *link, m *Message) {
	scope, id, _ := destination(m.To)
	if scope != scopeLink && l.waiting {
		// Whoever uses the id of a router that is there has nothing to say to the mesh. If it is another life of that
		// one, it will say it again.
		return
	}
	if scope != scopeLink && m.passed(e.cfg.ID) {
		// A copy that went in a circle, or one from another router with the own id.
		if m.Body != nil && m.Body.Origin() == e.cfg.ID {
			e.fromOwnID(l, m.Body)
		}
		return
	}
	if limit := e.paths.radius + 1 + traceMargin; len(m.Trace) > limit {
		e.notice(NoticeTrace, "", l.id, "message for %q has passed %d routers, at most %d are believed", clip(m.To), len(m.Trace), limit)
		return
	}
	switch scope {
	case scopeNone:
		e.notice(NoticeAddress, l.peer, l.id, "control message for %q", clip(m.To))
	case scopeLink:
		e.handle(l, m)
	case scopeRouter:
		if id == e.cfg.ID {
			e.handle(l, m)
		} else {
			e.passTo(l, m, id)
		}
	case scopeAll:
		e.handle(l, m)
		if e.firstCopy(m) {
			e.flood(m.Passed(e.cfg.ID), l)
		}
	}
}

// handle acts upon a message for this router.
func (e *Engine) handle(l *link, m *Message) {
	if m.Body == nil {
		e.problem(l, m.Problem)
		return
	}
	if h, ok := m.Body.(*Hello); ok {
		if scope, _, _ := destination(m.To); scope != scopeLink {
			e.notice(NoticeMalformed, clip(h.ID), l.id, "HELLO for %q", clip(m.To))
			return
		}
		e.hello(l, h)
		return
	}
	if m.Body.Origin() == e.cfg.ID {
		e.fromOwnID(l, m.Body)
		return
	}
	r := e.know(m.Body.Origin(), l.id)
	if r == nil {
		return
	}
	switch b := m.Body.(type) {
	case *RA:
		if e.ra(r, b); r.believes(b) {
			r.advertised = m
		}
	case *LSU:
		e.lsu(r, b, l.id)
	case *LSR:
		e.lsr(r, l)
	case *MAU:
		e.mau(r, b, l.id)
	case *MAR:
		e.mar(r, b, l)
	}
}

// problem tells of a message that was not understood.
func (e *Engine) problem(l *link, err error) {
	var version *VersionError
	var opcode *OpcodeError
	switch {
	case errors.As(err, &version):
		e.notice(NoticeVersion, version.ID, l.id, "%v", err)
	case errors.As(err, &opcode):
		e.notice(NoticeOpcode, l.peer, l.id, "%v", err)
	default:
		e.notice(NoticeMalformed, l.peer, l.id, "%v", err)
	}
}

// fromOwnID takes a message that a router with the own id has made, but not this one, or not in this life. Some from the
// life before may still be under way after a start.
func (e *Engine) fromOwnID(l *link, b Body) {
	var instance int64
	switch b := b.(type) {
	case *RA:
		instance = b.Instance
	case *LSU:
		instance = b.Instance
	}
	if instance == 0 || instance == e.cfg.Instance || e.now.Before(e.start.Add(e.cfg.LateCopy)) {
		return
	}
	e.notice(NoticeDuplicate, e.cfg.ID, l.id, "there is another router with the id of this one, %q (instances %d and %d)", e.cfg.ID,
		min(instance, e.cfg.Instance), max(instance, e.cfg.Instance))
}

// passTo sends a message on its way to another router.
func (e *Engine) passTo(l *link, m *Message, id string) {
	next := e.linkTo(id)
	switch {
	case next == nil:
		e.notice(NoticeNoPath, clip(id), l.id, "no path for a control message to %q", clip(id))
	case next.peer == l.peer || m.passed(next.peer):
		// Routers disagree for a moment. Its sender repeats what is not answered.
		e.notice(NoticeNoPath, clip(id), l.id, "a control message to %q has already passed %q", clip(id), next.peer)
	default:
		e.send(next, m.Passed(e.cfg.ID))
	}
}

// flood sends a message to each neighbour that it has not passed. It goes along all links and not along a tree, so that
// it reaches everybody even while routers disagree about the trees.
func (e *Engine) flood(m *Message, from *link) {
	for _, n := range e.self.neighbors {
		if from != nil && n.id == from.peer || m.passed(n.id) {
			continue
		}
		e.send(n.links[0], m)
	}
}

// floodMemory knows the messages to all that were passed on of late, so that each is passed on once, whatever the graph.
type floodMemory struct{ entries []floodEntry }

type floodEntry struct {
	key  floodKey
	at   time.Time
	hops int // length of the trace of the copy that was passed on last
}

// floodKey is what makes two messages of one router copies of the same.
type floodKey struct {
	opcode   Opcode
	instance int64
	a, b     int64
}

// maxFloods is how many messages of one router are remembered, at 64 bytes each. It is more than the deltas of
// the most addresses that there can be; if it is too few, copies are passed on more than once, until they are in their
// own trace.
const maxFloods = 256

// firstCopy reports whether a message to all is to be passed on, and remembers it.
func (e *Engine) firstCopy(m *Message) bool {
	memory, key := &e.floods, floodKey{}
	switch b := m.Body.(type) {
	case *RA:
		key = floodKey{OpcodeRA, b.Instance, b.LSSeq, b.MobileSeq}
	case *MAU:
		key = floodKey{opcode: OpcodeMAU, a: b.MobileSeq}
		if b.Absolute {
			key.b = 1
		}
	case nil:
		var version *VersionError
		var opcode *OpcodeError
		if !errors.As(m.Problem, &version) && !errors.As(m.Problem, &opcode) {
			return false // nobody can use it
		}
		h := fnv.New64a()
		h.Write(m.tail)
		key = floodKey{a: int64(h.Sum64())}
	default:
		return false // not for all, whatever its address says
	}
	if m.Body != nil {
		r := e.routers[m.Body.Origin()]
		if r == nil {
			return false
		}
		memory = &r.floods
	}
	return memory.first(key, len(m.Trace), e.now, e.cfg.LateCopy)
}

// detour is by how much shorter a later copy must be to be passed on, too. The first implementation drops what has passed
// more routers than its radius plus one. So if the first copy came by a long but fast way, those behind here would never
// get one that they accept. On links of like speed this does not happen.
const detour = 2 // routers

func (f *floodMemory) first(key floodKey, hops int, now time.Time, age time.Duration) bool {
	old := 0
	for old < len(f.entries) && due(f.entries[old].at.Add(age), now) {
		old++
	}
	if len(f.entries)-old >= maxFloods {
		old++
	}
	f.entries = slices.Delete(f.entries, 0, old)
	for i := range f.entries {
		if e := &f.entries[i]; e.key == key {
			if hops > e.hops-detour {
				return false
			}
			e.hops = hops
			return true
		}
	}
	f.entries = append(f.entries, floodEntry{key, now, hops})
	return true
}
