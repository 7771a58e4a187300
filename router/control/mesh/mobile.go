package mesh

import (
	"slices"
	"strings"
	"time"
)

// remoteAddresses is what another router has told of its mobile addresses.
//
// The data plane hears of them only while they are exposed: there is a path, and after the path was found the router has
// confirmed that they are current. What was learnt before is kept meanwhile.
type remoteAddresses struct {
	keys map[string]int // treatment by key
	seq  int64          // mobile_seq up to which keys is complete
	told int64          // highest mobile_seq that it has mentioned

	confirmed  time.Time // when the router last said that seq is its last; zero: not since there was no path
	exposed    bool
	deltasFrom time.Time // until then only an absolute MAU is believed
}

// mau takes a MAU of r.
func (e *Engine) mau(r *router, m *MAU, from uint64) {
	e.heard(r)
	a := &r.mobile
	switch {
	case m.MobileSeq < a.seq, m.MobileSeq == a.seq && !m.Absolute:
		return // an old one
	case m.Absolute:
		e.replace(r, m, from)
		a.deltasFrom = time.Time{}
	case m.MobileSeq == a.seq+1 && !e.now.Before(a.deltasFrom):
		for _, key := range m.Del {
			e.removeKey(r, key)
		}
		e.addKeys(r, m.Add, m, from)
	default:
		// A gap: what came between may never come. Nothing is applied, since a later number would hide the loss.
		if !r.mar.want {
			r.mar.news(e.now)
		}
		a.told = max(a.told, m.MobileSeq)
		return
	}
	a.seq = m.MobileSeq
	a.told = max(a.told, a.seq)
	if a.seq >= a.told {
		r.mar.want = false
		e.current(r)
	}
}

// replace makes the keys of r those that an absolute MAU lists.
func (e *Engine) replace(r *router, m *MAU, from uint64) {
	listed := make(map[string]struct{}, len(m.Exist))
	for _, key := range m.Exist {
		listed[key] = struct{}{}
	}
	var gone []string
	for key := range r.mobile.keys {
		if _, still := listed[key]; !still {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	for _, key := range gone {
		e.removeKey(r, key)
	}
	e.addKeys(r, m.Exist, m, from)
}

// addKeys adds the keys of a MAU.
func (e *Engine) addKeys(r *router, keys []string, m *MAU, from uint64) {
	a := &r.mobile
	if a.keys == nil {
		a.keys = map[string]int{}
	}
	left := 0
	for i, key := range keys {
		_, known := a.keys[key]
		if !known && (key == "" || len(key) > e.cfg.MaxKey || len(a.keys) >= e.cfg.MaxAddresses || e.keys >= e.cfg.MaxKeys) {
			left++
			continue
		}
		if !known {
			e.keys++
		}
		a.keys[key] = m.Hint(i)
		if !known && a.exposed {
			e.emit(RemoteAdd{Router: r.id, Key: key, Treatment: m.Hint(i)})
		}
	}
	if left > 0 {
		e.notice(NoticeLimit, r.id, from, "%d addresses of router %q are left out: it has %d and all have %d; %d are possible for one and %d for all, of 1 to %d bytes",
			left, r.id, len(a.keys), e.keys, e.cfg.MaxAddresses, e.cfg.MaxKeys, e.cfg.MaxKey)
	}
}

func (e *Engine) removeKey(r *router, key string) {
	if _, known := r.mobile.keys[key]; !known {
		return
	}
	delete(r.mobile.keys, key)
	e.keys--
	if r.mobile.exposed {
		e.emit(RemoteRemove{Router: r.id, Key: key})
	}
}

// current notes that what is known of the addresses of r is what r has, and shows them to the data plane.
func (e *Engine) current(r *router) {
	a := &r.mobile
	a.confirmed = e.now
	if a.exposed || !r.reachable {
		return
	}
	a.exposed = true
	for _, key := range sortedKeys(a.keys) {
		e.emit(RemoteAdd{Router: r.id, Key: key, Treatment: a.keys[key]})
	}
}

// hide takes the addresses of r away from the data plane.
func (e *Engine) hide(r *router) {
	a := &r.mobile
	if a.exposed {
		for _, key := range sortedKeys(a.keys) {
			e.emit(RemoteRemove{Router: r.id, Key: key})
		}
	}
	a.exposed, a.confirmed = false, time.Time{}
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// mar answers a MAR of r that came on l: with all addresses, or with an RA if the asker knows them, so that it need not
// wait for the next one to be sure.
func (e *Engine) mar(r *router, m *MAR, l *link) {
	e.heard(r)
	switch {
	case m.HaveSeq >= e.mobile.seq:
		e.sendTo(r.id, routingEndpoint, e.ownRA(), l)
		return
	case r.answered == e.mobile.seq && e.now.Before(r.answeredAt.Add(answerSpacing)):
		return
	}
	r.answered, r.answeredAt = e.mobile.seq, e.now
	keys, hints := e.mobile.list()
	e.sendTo(r.id, mobileEndpoint, &MAU{ID: e.cfg.ID, MobileSeq: e.mobile.seq, Absolute: true, Exist: keys, Hints: hints}, l)
}

// announcedClasses are the first letters of the keys that are told to other routers.
const announcedClasses = "MCDEFH"

func announced(key string) bool { return key != "" && strings.IndexByte(announcedClasses, key[0]) >= 0 }
