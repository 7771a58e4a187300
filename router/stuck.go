package router

import (
	"sync/atomic"
	"time"

	"sluice/links"
	"sluice/router/address"
	"sluice/router/control/logging"
)

// stuck is what has waited for too long, as of the last look at the links. What
// is not atomic belongs to sweep.
type stuck struct {
	age               atomic.Int64 // from which on something is stuck, in nanoseconds; 0 for never
	links, deliveries atomic.Int64

	looked time.Time            // the look that has been judged
	warned map[uint64]time.Time // when a link was last warned of, by its number
}

// warnAgain is how often a link is warned of that stays stuck.
const warnAgain = 10 * time.Minute

// after sets the age, and tells whether that is news.
func (s *stuck) after(age time.Duration) (changed bool) { return s.age.Swap(int64(age)) != int64(age) }

// reasons say what a link waits for that has something to send (waitsFor).
var reasons = map[string]string{
	"outcome": "the receiver to settle",
	"socket":  "the receiver to read from its socket",
	"window":  "the receiver to open the window of its session",
	"credit":  "credit of the receiver",
}

// lookForStuck warns of deliveries that nobody settles, and of those that cannot
// go on: once for each link in a while, and for few links at a time.
func (r *Router) lookForStuck(now time.Time) {
	age, m, s := time.Duration(r.stuck.age.Load()), r.manager, &r.stuck
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.looked.After(s.looked) {
		return
	}
	s.looked = m.looked
	var stuckLinks, deliveries int64
	warned := make(map[uint64]time.Time)
	for id, k := range m.byNumber {
		l, out := k.link.(*links.Sender)
		waits, since := k.waits, k.since
		if out && k.tally.Oldest != 0 && now.Sub(time.Unix(0, k.tally.Oldest)) >= age {
			waits, since = "outcome", time.Unix(0, k.tally.Oldest)
			deliveries += int64(k.tally.Stuck)
		}
		if !out || age == 0 || reasons[waits] == "" || now.Sub(since) < age {
			continue
		}
		stuckLinks++
		if last, is := s.warned[id]; is && now.Sub(last) < warnAgain {
			warned[id] = last
			continue
		}
		warned[id] = now
		r.warnOfStuck(k, l, waits, now.Sub(since))
	}
	if age == 0 {
		deliveries = 0
	}
	s.warned = warned
	s.links.Store(stuckLinks)
	s.deliveries.Store(deliveries)
}

// warnOfStuck names a link, whom it leads to, and what it waits for.
func (r *Router) warnOfStuck(k *knownLink, l *links.Sender, waits string, age time.Duration) {
	log := k.conn.log.Sample(r.logs.Throttle(logging.Server, "deliveries stuck"))
	log.Warn().Str("container", k.conn.handler.Container).Str("user", k.conn.handler.User).
		Str("link", l.Endpoint().Name()).Str("address", addressText(k.key())).
		Str("age", age.Round(time.Second).String()).Int("unsettled", k.tally.Deliveries).Int32("unsent", l.Pending()).
		Msg("a delivery is stuck: it waits for " + reasons[waits])
}

// addressText is the address of which there is a key.
func addressText(key string) string {
	if name, ok := address.ParseKey(key); ok {
		return name.Text
	}
	return key
}
