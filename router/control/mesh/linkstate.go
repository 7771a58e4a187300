package mesh

import (
	"slices"
	"time"
)

// linkState is the own link state.
type linkState struct {
	seq       int64 // ls_seq
	peers     []Peer
	neighbors []neighbor
}

// remoteLinkState is that of another router.
type remoteLinkState struct {
	seq   int64  // ls_seq
	peers []Peer // by id, each once
	told  int64  // highest ls_seq that it has advertised
}

// topologyChanged makes RAs more frequent for a while, to repair what may get lost meanwhile. Whoever made the change tells
// it at once; all others have no news.
func (e *Engine) topologyChanged() {
	e.flux = e.now.Add(2 * e.cfg.RAIntervalFlux)
	e.advertiseAt(e.now.Add(e.cfg.RAIntervalFlux))
}

// advertiseAt makes the next RA due at t, or at once if that has passed.
func (e *Engine) advertiseAt(t time.Time) {
	if t.Before(e.now) {
		t = e.now
	}
	earliest(&e.raDue, t)
}

// scheduleTell makes the own link state be told after the usual delay.
func (e *Engine) scheduleTell() {
	at := e.now.Add(e.cfg.LinkStateDelay)
	if spaced := e.told.Add(tellSpacing); !e.told.IsZero() && spaced.After(at) {
		at = spaced
	}
	earliest(&e.tellDue, at)
}

// tellLinkState sends the own link state to every router that can be reached, nearest first: those on the way know
// about a change before what is for those behind them passes. The RA that follows makes others ask.
func (e *Engine) tellLinkState() {
	e.tellDue, e.told = time.Time{}, e.now
	e.findPaths()
	body := e.ownLSU()
	for _, r := range e.reachableRouters() {
		e.sendTo(r.id, routingEndpoint, body, nil)
	}
	e.advertise()
	// Behind the others' news of them, so that these can answer what they ask.
	e.introduce()
}

func (e *Engine) ownLSU() *LSU {
	return &LSU{ID: e.cfg.ID, Instance: e.cfg.Instance, LSSeq: e.self.seq, Peers: e.self.peers}
}

// advertise sends an RA to all.
func (e *Engine) advertise() {
	e.raDue = e.now.Add(e.cfg.RAInterval)
	if e.now.Before(e.flux) {
		e.raDue = e.now.Add(e.cfg.RAIntervalFlux)
	}
	e.flood(NewMessage(e.cfg.ID, allAddress, e.ownRA()), nil)
}

func (e *Engine) ownRA() *RA {
	return &RA{ID: e.cfg.ID, Instance: e.cfg.Instance, LSSeq: e.self.seq, MobileSeq: e.mobile.seq}
}

// ra takes an RA of r.
func (e *Engine) ra(r *router, m *RA) {
	if !e.admit(r, m.Instance, false) {
		return
	}
	e.heard(r)
	if m.LSSeq < max(r.ls.seq, r.ls.told) || m.MobileSeq < max(r.mobile.seq, r.mobile.told) {
		// Either an old RA on a longer path, or a router that counts anew without saying so. Only the latter goes on.
		if r.back.IsZero() {
			r.back = e.now
		}
		if e.now.Before(r.back.Add(e.cfg.LateCopy)) {
			return
		}
		e.restart(r, r.instance)
	}
	r.back = time.Time{}
	if !r.hasLS || m.LSSeq > r.ls.seq {
		if m.LSSeq > r.ls.told || !r.lsr.want {
			r.lsr.news(e.now)
		}
		r.ls.told = m.LSSeq
	}
	if m.MobileSeq > r.mobile.seq {
		if m.MobileSeq > r.mobile.told || !r.mar.want {
			r.mar.news(e.now)
		}
		r.mobile.told = m.MobileSeq
		return
	}
	r.mar.want = false
	e.current(r)
}

// lsu takes an LSU of r.
func (e *Engine) lsu(r *router, m *LSU, from uint64) {
	if !e.admit(r, m.Instance, false) {
		return
	}
	e.heard(r)
	if len(m.Peers) > e.cfg.MaxPeers {
		e.notice(NoticeLimit, r.id, from, "link state of %q has %d peers, at most %d are accepted", r.id, len(m.Peers), e.cfg.MaxPeers)
		return
	}
	if e.edges-len(r.ls.peers)+len(m.Peers) > e.cfg.MaxLinks {
		e.notice(NoticeLimit, r.id, from, "link state of %q has %d peers and others have %d, at most %d are accepted together",
			r.id, len(m.Peers), e.edges-len(r.ls.peers), e.cfg.MaxLinks)
		return
	}
	if m.LSSeq >= r.ls.told {
		r.lsr.want = false
	}
	if r.hasLS && m.LSSeq <= r.ls.seq {
		return
	}
	peers := slices.Clone(m.Peers)
	slices.SortStableFunc(peers, func(a, b Peer) int { return compareIDs(a.ID, b.ID) })
	peers = slices.CompactFunc(peers, func(a, b Peer) bool { return a.ID == b.ID })
	for i := range peers {
		peers[i].Cost = max(peers[i].Cost, 1)
		e.know(peers[i].ID, from)
	}
	changed := !r.hasLS || !slices.Equal(peers, r.ls.peers)
	e.edges += len(peers) - len(r.ls.peers)
	r.hasLS, r.ls.seq, r.ls.peers = true, m.LSSeq, peers
	if changed {
		e.pathsDirty = true
		e.topologyChanged()
	}
}

// lsr answers an LSR that came on l.
func (e *Engine) lsr(r *router, l *link) {
	e.heard(r)
	e.sendTo(r.id, routingEndpoint, e.ownLSU(), l)
}
