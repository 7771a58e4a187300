package edge

import (
	"slices"
	"time"

	"sluice/router/uplink"
)

// An Engine decides which uplink is used and which proxies it has. It is
// deterministic, and is not safe for concurrent use.
type Engine struct {
	uplinks []uint64 // open, in the order in which they have opened
	active  uint64   // one of them; 0 for none
	usable  bool
	since   time.Time // when active was activated

	addresses map[string]*state
	work      []string            // keys of addresses that are not as they should be
	again     map[string]struct{} // those to be looked at again, at state.at
	bridged   []string            // those at which messages wait for the active uplink
	bridgeEnd time.Time           // until when
	pending   int                 // proxies without an answer
	proxies   [2]int              // that the active uplink has, by direction
	joined    int                 // of the senders, destinations

	beats uint32
	beat  time.Time // when the next is due
	now   time.Time
	out   []Action
}

// state is what is known of an address.
type state struct {
	want    [2]bool // by direction: somebody is here
	have    [2]bool // the active uplink has a proxy
	pending [2]bool // which has not been answered
	leaving [2]bool // which is to be removed
	tracked bool    // there is a destination beyond
	joined  bool    // the proxy sender is a destination
	bridged bool    // messages wait for what the active uplink says
	queued  bool    // in work
	refused bool    // a proxy was refused or lost, and none has been attached since
	at      time.Time
	wait    time.Duration // the last time between two looks
}

// NewEngine returns an engine without uplinks and addresses.
func NewEngine(now time.Time) *Engine {
	return &Engine{addresses: make(map[string]*state), again: make(map[string]struct{}), now: now}
}

// Step takes news.
func (e *Engine) Step(now time.Time, ev Event) {
	e.now = now
	switch ev := ev.(type) {
	case Up:
		e.uplinks = append(e.uplinks, ev.Uplink)
		if e.active == 0 {
			e.activate(ev.Uplink)
		}
	case Down:
		e.down(ev.Uplink)
	case Usable:
		if ev.Uplink == e.active && !e.usable {
			e.usable = true
			e.beat = now.Add(heartbeatInterval)
			e.do(Open{})
		}
	case Local:
		e.local(ev)
	case Tracked:
		if ev.Uplink == e.active {
			e.track(ev.Key, ev.Has)
		}
	case Answered:
		if s := e.proxy(ev.Uplink, ev.Proxy); s != nil {
			e.answered(s, ev.Proxy.Direction)
			s.refused, s.wait = false, 0
			e.queue(ev.Proxy.Key, s)
		}
	case Lost:
		if s := e.proxy(ev.Uplink, ev.Proxy); s != nil {
			e.answered(s, ev.Proxy.Direction)
			e.gone(s, ev.Proxy.Direction)
			if !s.refused {
				s.refused, s.wait = true, 0
			}
			e.later(ev.Proxy.Key, s, lostTime, lostMost)
		}
	case Removed:
		if s := e.proxy(ev.Uplink, ev.Proxy); s != nil {
			e.gone(s, ev.Proxy.Direction)
			e.queue(ev.Proxy.Key, s)
		}
	case Busy:
		if s := e.proxy(ev.Uplink, ev.Proxy); s != nil {
			s.leaving[ev.Proxy.Direction] = false
			e.later(ev.Proxy.Key, s, busyTime, busyMost)
		}
	}
}

// proxy returns the state of the address of a proxy on the active uplink; of
// others nothing is of interest any more.
func (e *Engine) proxy(on uint64, p uplink.Proxy) *state {
	if on != e.active {
		return nil
	}
	return e.addresses[p.Key]
}

// gone notes that the active uplink does not have a proxy any more.
func (e *Engine) gone(s *state, d uplink.Direction) {
	set(&s.have[d], false, &e.proxies[d])
	s.leaving[d] = false
	if d == uplink.Out {
		s.tracked = false
		set(&s.joined, false, &e.joined)
	}
}

// set sets a flag and counts those that are set.
func set(flag *bool, v bool, n *int) {
	switch {
	case v && !*flag:
		*n++
	case !v && *flag:
		*n--
	}
	*flag = v
}

func (e *Engine) answered(s *state, d uplink.Direction) {
	if s.pending[d] {
		s.pending[d] = false
		e.pending--
	}
}

// activate makes an uplink the one that is used, without proxies so far.
func (e *Engine) activate(id uint64) {
	e.active, e.usable, e.pending, e.since = id, false, 0, e.now
	e.do(Activate{id})
	for key, s := range e.addresses {
		e.queue(key, s)
	}
	slices.Sort(e.work) // so that the same news has the same effect
}

// down forgets an uplink. If it was active the oldest takes over.
func (e *Engine) down(id uint64) {
	e.uplinks = slices.DeleteFunc(e.uplinks, func(u uint64) bool { return u == id })
	if id != e.active {
		return
	}
	e.active, e.usable, e.proxies, e.joined = 0, false, [2]int{}, 0
	for key, s := range e.addresses {
		// Whether it was a destination when the connection ended is not known
		// here for sure: what was to be done may not have been done.
		if s.have[uplink.Out] && !s.bridged {
			s.bridged = true
			e.bridged = append(e.bridged, key)
		}
		*s = state{want: s.want, bridged: s.bridged, queued: s.queued}
	}
	slices.Sort(e.bridged)
	clear(e.again)
	if len(e.uplinks) == 0 {
		e.releaseAll()
		e.do(Shut{})
		for key, s := range e.addresses {
			if s.want == [2]bool{} {
				delete(e.addresses, key)
			}
		}
		return
	}
	e.bridgeEnd = e.now.Add(bridgeTime)
	e.activate(e.uplinks[0])
}

func (e *Engine) local(ev Local) {
	s := e.addresses[ev.Proxy.Key]
	if s == nil {
		if !ev.Has {
			return
		}
		s = new(state)
		e.addresses[ev.Proxy.Key] = s
	}
	s.want[ev.Proxy.Direction] = ev.Has
	if ev.Has && e.away(s) {
		return // a proxy that was refused is not asked for more often because of this
	}
	e.queue(ev.Proxy.Key, s)
}

// away tells whether a proxy of the address was refused or lost not long ago.
func (e *Engine) away(s *state) bool { return s.refused && e.now.Before(s.at) }

// track takes what the active uplink says about an address.
func (e *Engine) track(key string, has bool) {
	s := e.addresses[key]
	if s == nil {
		return
	}
	s.tracked = has
	e.rejoin(key, s)
	if s.bridged {
		s.bridged = false
		e.do(Release{key})
	}
}

// rejoin makes the proxy sender a destination or not, as has been tracked.
func (e *Engine) rejoin(key string, s *state) {
	switch want := s.tracked && s.have[uplink.Out]; {
	case want && !s.joined:
		set(&s.joined, true, &e.joined)
		e.do(Join{e.active, key})
	case !want && s.joined:
		set(&s.joined, false, &e.joined)
		e.do(Leave{e.active, key})
	}
}

func (e *Engine) queue(key string, s *state) {
	if !s.queued {
		s.queued = true
		e.work = append(e.work, key)
	}
}

// later has an address looked at again, after first, then twice that and so on.
func (e *Engine) later(key string, s *state, first, most time.Duration) {
	s.wait = min(max(2*s.wait, first), most)
	s.at = e.now.Add(s.wait)
	e.again[key] = struct{}{}
}

// Tick does what is due.
func (e *Engine) Tick(now time.Time) {
	e.now = now
	if e.active != 0 && e.usable && !now.Before(e.beat) {
		e.do(Beat{e.active, e.beats})
		e.beats++
		e.beat = now.Add(heartbeatInterval)
	}
	if len(e.bridged) > 0 && !now.Before(e.bridgeEnd) {
		e.releaseAll()
	}
	var due []string
	for key := range e.again {
		s := e.addresses[key]
		if s != nil && now.Before(s.at) {
			continue
		}
		delete(e.again, key)
		if s != nil {
			due = append(due, key)
		}
	}
	slices.Sort(due)
	for _, key := range due {
		e.queue(key, e.addresses[key])
	}
}

// Next is when Tick is due; zero for never.
func (e *Engine) Next() time.Time {
	var next time.Time
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	if e.active != 0 && e.usable {
		sooner(e.beat)
	}
	if len(e.bridged) > 0 {
		sooner(e.bridgeEnd)
	}
	for key := range e.again {
		if s := e.addresses[key]; s != nil {
			sooner(s.at)
		}
	}
	return next
}

// releaseAll ends the waiting for an uplink that does not tell.
func (e *Engine) releaseAll() {
	for _, key := range e.bridged {
		if s := e.addresses[key]; s == nil || s.bridged {
			e.do(Release{key})
			if s != nil {
				s.bridged = false
			}
		}
	}
	e.bridged = nil
}

func (e *Engine) do(a Action) { e.out = append(e.out, a) }

// Ready returns what is to be done, in order. It is to be called until it returns
// nothing, and what has come of it stepped in between.
func (e *Engine) Ready() []Action {
	if e.active == 0 {
		for _, key := range e.work {
			if s := e.addresses[key]; s != nil {
				s.queued = false
				if s.want == [2]bool{} {
					delete(e.addresses, key)
				}
			}
		}
		e.work = nil
	}
	n := 0
	for n < len(e.work) && n < batch && e.pending < unanswered {
		key := e.work[n]
		n++
		if s := e.addresses[key]; s != nil {
			s.queued = false
			e.adjust(key, s)
		}
	}
	if e.work = e.work[n:]; len(e.work) == 0 {
		e.work = nil
	}
	out := e.out
	e.out = nil
	return out
}

// adjust has the active uplink have the proxies that an address should have.
func (e *Engine) adjust(key string, s *state) {
	for _, d := range [...]uplink.Direction{uplink.In, uplink.Out} {
		p := uplink.Proxy{Key: key, Direction: d}
		switch {
		case s.want[d] && !s.have[d] && !e.away(s):
			set(&s.have[d], true, &e.proxies[d])
			s.pending[d] = true
			e.pending++
			e.do(Add{e.active, p})
		case !s.want[d] && s.have[d] && !s.pending[d] && !s.leaving[d]:
			s.leaving[d] = true
			e.do(Remove{e.active, p})
		}
	}
	e.rejoin(key, s)
	if s.want == [2]bool{} && s.have == [2]bool{} && !s.bridged {
		if _, waits := e.again[key]; !waits {
			delete(e.addresses, key)
		}
	}
}

// Active is the uplink that is used, since when, and whether it is usable; 0 for
// none.
func (e *Engine) Active() (id uint64, since time.Time, usable bool) {
	return e.active, e.since, e.usable
}

// Idle are the uplinks that are open and not used.
func (e *Engine) Idle() int { return max(len(e.uplinks)-1, 0) }

// Counts are the numbers of proxies: receivers, senders, and senders that lead to
// somebody.
func (e *Engine) Counts() (in, out, joined int) {
	return e.proxies[uplink.In], e.proxies[uplink.Out], e.joined
}
