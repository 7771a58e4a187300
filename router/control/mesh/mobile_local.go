package mesh

import (
	"time"
)

// localAddresses is what this router tells of its own mobile addresses.
type localAddresses struct {
	seq   int64          // mobile_seq
	keys  map[string]int // treatment of what was told
	bytes int            // of what is and will be told, as in an absolute MAU

	// What is to be told at due. No key is in both; an added one is not in keys, a removed one is.
	add  map[string]int
	del  map[string]int
	due  time.Time
	hold time.Time // not before

	// An absolute MAU of seq, when one was asked for.
	exist []string
	hints []int
}

func (a *localAddresses) init() {
	a.keys, a.add, a.del = map[string]int{}, map[string]int{}, map[string]int{}
}

// encodedKey is the size of a key and its hint in an absolute MAU.
func encodedKey(key string) int { return len(key) + 5 + 2 }

// envelopeSize is room for all else in a MAU.
const envelopeSize = 4096 // bytes

func (e *Engine) localAdd(key string, treatment int) {
	a := &e.mobile
	if treatment < TreatmentFlood || treatment > TreatmentUnavailable {
		treatment = TreatmentBalanced // what addresses have that nobody has configured
	}
	if _, leaving := a.del[key]; leaving {
		delete(a.del, key) // it has come back before anybody was told
		a.keys[key], a.exist = treatment, nil
		return
	}
	_, told := a.keys[key]
	_, coming := a.add[key]
	switch {
	case told:
		a.keys[key], a.exist = treatment, nil
		return
	case coming:
		a.add[key] = treatment
		return
	case !announced(key) || len(key) > e.cfg.MaxKey:
		e.notice(NoticeLimit, e.cfg.ID, 0, "address %q of %d bytes cannot be announced: its class is none of %s, or it is longer than %d bytes",
			clip(key), len(key), announcedClasses, e.cfg.MaxKey)
		return
	case len(a.keys)+len(a.add)-len(a.del) >= e.cfg.MaxAddresses || a.bytes+encodedKey(key) > e.cfg.MaxMessage-envelopeSize:
		e.notice(NoticeLimit, e.cfg.ID, 0, "address %q is not announced: there are %d of %d bytes already",
			clip(key), len(a.keys)+len(a.add), a.bytes)
		return
	}
	a.add[key] = treatment
	a.bytes += encodedKey(key)
	e.scheduleMobile()
}

func (e *Engine) localRemove(key string) {
	a := &e.mobile
	if _, coming := a.add[key]; coming {
		delete(a.add, key) // it has gone before anybody was told
		a.bytes -= encodedKey(key)
		return
	}
	treatment, told := a.keys[key]
	if _, leaving := a.del[key]; !told || leaving {
		return
	}
	// It goes on counting until it was told: an absolute MAU still lists it.
	a.del[key] = treatment
	e.scheduleMobile()
}

func (e *Engine) scheduleMobile() {
	at := e.now.Add(e.cfg.MobileDelay)
	if at.Before(e.mobile.hold) {
		at = e.mobile.hold
	}
	earliest(&e.mobile.due, at)
}

// holdMobile lets changes wait until a new neighbour that calculates paths in steps has one to here. It would take them at
// once otherwise, let its senders go ahead, and release all that they send, for want of a path. What it is told by an
// absolute MAU comes late enough by itself: it asks when it has the path.
func (e *Engine) holdMobile() {
	a := &e.mobile
	a.hold = e.now.Add(pathStep)
	if !a.due.IsZero() {
		a.due = a.hold
	}
}

// tellMobile sends the changes since the last time to all, in deltas of bounded size, and then an RA with the last number
// for those whom they did not reach.
func (e *Engine) tellMobile() {
	a := &e.mobile
	a.due = time.Time{}
	if len(a.add) == 0 && len(a.del) == 0 {
		return
	}
	del, add := sortedKeys(a.del), sortedKeys(a.add)
	for len(del) > 0 || len(add) > 0 {
		m := &MAU{ID: e.cfg.ID, Add: []string{}, Del: []string{}, Hints: []int{}}
		keys, bytes := 0, 0
		fits := func(key string) bool {
			keys, bytes = keys+1, bytes+len(key)
			return keys == 1 || keys <= e.cfg.KeysPerDelta && bytes <= e.cfg.BytesPerDelta
		}
		for len(del) > 0 && fits(del[0]) {
			m.Del = append(m.Del, del[0])
			delete(a.keys, del[0])
			a.bytes -= encodedKey(del[0])
			del = del[1:]
		}
		for len(del) == 0 && len(add) > 0 && fits(add[0]) {
			m.Add, m.Hints = append(m.Add, add[0]), append(m.Hints, a.add[add[0]])
			a.keys[add[0]] = a.add[add[0]]
			add = add[1:]
		}
		a.seq++
		m.MobileSeq = a.seq
		e.flood(NewMessage(e.cfg.ID, mobileToAll, m), nil)
	}
	clear(a.add)
	clear(a.del)
	a.exist, a.hints = nil, nil
	e.advertise()
}

// list returns all keys that were told and their treatments. What is still to be told is left out, or still in, so that
// the next delta fits.
func (a *localAddresses) list() (keys []string, hints []int) {
	if a.exist == nil {
		a.exist = sortedKeys(a.keys)
		a.hints = make([]int, len(a.exist))
		for i, key := range a.exist {
			a.hints[i] = a.keys[key]
		}
	}
	return a.exist, a.hints
}
