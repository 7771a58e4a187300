package links

import (
	"sync"
	"sync/atomic"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/transport"
)

// Origins is a set of routers by their number.
type Origins []uint64

// Has tells whether router n is in the set.
func (o Origins) Has(n uint32) bool { return n>>6 < uint32(len(o)) && o[n>>6]>>(n&63)&1 != 0 }

// With returns the set with router n in it; it may be the same memory.
func (o Origins) With(n uint32) Origins {
	for n>>6 >= uint32(len(o)) {
		o = append(o, 0)
	}
	o[n>>6] |= 1 << (n & 63)
	return o
}

// A Hop is a neighbour router: the next one on the way to others. It is reached
// over one connection or several, its Ways.
type Hop struct {
	ID     string
	limits Limits
	ways   atomic.Pointer[[]*Way]

	mu      sync.Mutex // a leaf lock; guards the fields below
	waiting map[*Dest]struct{}
	changes uint64 // how often those that wait have been told
}

// NewHop returns the hop to a router, without ways. Limits give the marks of its
// far destinations and, if Capacity is not 0, their window.
func NewHop(id string, limits Limits) *Hop {
	return &Hop{ID: id, limits: limits, waiting: make(map[*Dest]struct{})}
}

// Side is what lies behind the router, if that matters (Limits.Side).
func (h *Hop) Side() *Side { return h.limits.Side }

// SetWays says which connections lead to the router now.
func (h *Hop) SetWays(ways []*Way) {
	h.ways.Store(&ways)
	for _, w := range ways {
		w.hop.Store(h)
	}
	h.wake(nil)
}

// Ways are the connections that lead to the router.
func (h *Hop) Ways() []*Way {
	if p := h.ways.Load(); p != nil {
		return *p
	}
	return nil
}

// Ready tells whether a message can be sent to the router.
func (h *Hop) Ready() bool {
	for _, w := range h.Ways() {
		if w.ready() {
			return true
		}
	}
	return false
}

// state is a token for await.
func (h *Hop) state() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changes
}

// await has d told when there may be a way again. It returns false if that has
// happened since state was called.
func (h *Hop) await(d *Dest, state uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changes != state {
		return false
	}
	h.waiting[d] = struct{}{}
	return true
}

// wake tells those that wait for a way.
func (h *Hop) wake(by *transport.Conn) {
	h.mu.Lock()
	h.changes++
	waiting := h.waiting
	h.waiting = make(map[*Dest]struct{})
	h.mu.Unlock()
	for d := range waiting {
		d.source.Resupply(d, by)
	}
}

// forget ends the waiting of d.
func (h *Hop) forget(d *Dest) {
	h.mu.Lock()
	delete(h.waiting, d)
	h.mu.Unlock()
}

// route returns the link for a message: complete ones of moderate size share
// the link of their priority, others get one to themselves.
func (h *Hop) route(m *Delivery, lane uint32, by *transport.Conn) *Sender {
	ways := h.Ways()
	for i := range ways {
		w := ways[(int(lane)+i)%len(ways)]
		if !w.ready() && !w.alone {
			continue
		}
		if !m.streams() || w.refused.Load() {
			if s := w.data(m.Priority); s != nil {
				return s
			}
			continue
		}
		if s := w.stream(by); s != nil {
			return s
		}
	}
	return nil
}

// shared returns the link for whole messages that one may take for which no
// other is left.
func (h *Hop) shared(m *Delivery, lane uint32) *Sender {
	ways := h.Ways()
	for i := range ways {
		if s := ways[(int(lane)+i)%len(ways)].data(m.Priority); s != nil {
			return s
		}
	}
	return nil
}

// streams tells whether the message has a link to itself.
func (d *Delivery) streams() bool { return !d.Complete() || d.Size() > streamAbove }

// streaming tells whether a connection to the router takes links for streams.
func (h *Hop) streaming() bool {
	for _, w := range h.Ways() {
		if !w.refused.Load() {
			return true
		}
	}
	return false
}

// streamAbove is the size in bytes from which on a complete message has a link
// to itself: it would keep others waiting.
const streamAbove = 128 << 10

// A Way is one connection to a neighbour router, with the links for messages
// that this end sends on. Those for whole messages, by priority, are there from
// the beginning; those for streams are attached as they are needed, each in a
// session of its own so that a stream which is not taken stops nothing else, and
// are used again.
type Way struct {
	Conn   *transport.Conn
	Past   Totals // of links that have gone
	limits Limits
	hop    atomic.Pointer[Hop]
	// newStream attaches s, in a session of its own, under the connection's lock.
	newStream func(s *Sender) error

	whole   [10]atomic.Pointer[Sender]
	alone   bool        // there are none of those: the way is for streams only
	refused atomic.Bool // the peer takes no links for streams

	most int // streams at a time

	mu      sync.Mutex // a leaf lock; guards the fields below
	streams map[*Sender]struct{}
	idle    []*Sender
	closed  bool
}

const (
	// maxStreams is the most streams on one connection at a time; more wait at
	// their addresses.
	maxStreams = 2000
	// otherSessions is how many sessions there are besides those of streams.
	otherSessions = 12
	// maxIdleStreams is how many links are kept for the next stream.
	maxIdleStreams = 16
)

// NewWay returns the way over a connection, without links.
func NewWay(c *transport.Conn, limits Limits, newStream func(*Sender) error) *Way {
	// Both ends begin sessions, and each takes a channel of the other, too.
	channels := int(min(c.Config().ChannelMax, c.Remote().ChannelMax)) + 1
	most := min(maxStreams, max((channels-otherSessions)/2, 1))
	return &Way{Conn: c, limits: limits, most: most, newStream: newStream, streams: make(map[*Sender]struct{})}
}

// NewStreams returns the way over a connection for streams only (Limits.Streams).
func NewStreams(c *transport.Conn, limits Limits, newStream func(*Sender) error) *Way {
	w := NewWay(c, limits, newStream)
	w.alone = true
	return w
}

// NoStreams has streams go over the links for whole messages, or that of their
// address: the peer takes no others.
func (w *Way) NoStreams() { w.refused.Store(true) }

// Add takes the link for whole messages of a priority.
func (w *Way) Add(priority int, s *Sender) {
	s.way = w
	w.whole[priority].Store(s)
	w.tell(w.Conn)
}

// drop forgets a link that has gone.
func (w *Way) drop(s *Sender) {
	for i := range w.whole {
		w.whole[i].CompareAndSwap(s, nil)
	}
	w.mu.Lock()
	delete(w.streams, s)
	for i, other := range w.idle {
		if other == s {
			w.idle = append(w.idle[:i], w.idle[i+1:]...)
			break
		}
	}
	w.mu.Unlock()
}

func (w *Way) ready() bool { return w.data(9) != nil }

// data returns the link of priority p, or of the next lower one that is there,
// or else of the lowest.
func (w *Way) data(p uint8) *Sender {
	for i := int(p); i >= 0; i-- {
		if s := w.whole[i].Load(); s != nil {
			return s
		}
	}
	for i := int(p) + 1; i < len(w.whole); i++ {
		if s := w.whole[i].Load(); s != nil {
			return s
		}
	}
	return nil
}

// stream returns a link that is used for nothing else until it is given back.
func (w *Way) stream(by *transport.Conn) *Sender {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	if n := len(w.idle); n > 0 {
		s := w.idle[n-1]
		w.idle = w.idle[:n-1]
		s.busy = true
		return s
	}
	if len(w.streams) >= w.most {
		return nil
	}
	s := newRouterSender(w, true)
	s.busy = true
	w.streams[s] = struct{}{}
	s.post(by, transport.Post{To: s, Kind: postAttach})
	return s
}

// retire ends a link with its session.
func (w *Way) retire(s *Sender, by *transport.Conn) {
	w.mu.Lock()
	_, known := w.streams[s]
	full := len(w.streams) >= w.most
	delete(w.streams, s)
	s.busy = false
	w.mu.Unlock()
	if known {
		s.post(by, transport.Post{To: s, Kind: postRetire})
	}
	if full {
		w.tell(by)
	}
}

// free takes a link back when its message has an outcome, or was not begun: the
// other router has read it all, so that another is not behind it, and nothing is
// cut off when the link ends.
func (w *Way) free(s *Sender, by *transport.Conn) {
	w.mu.Lock()
	_, known := w.streams[s]
	was := s.busy && known
	s.busy = false
	keep := was && len(w.idle) < maxIdleStreams
	if keep {
		w.idle = append(w.idle, s)
	}
	full := len(w.streams) >= w.most
	w.mu.Unlock()
	switch {
	case was && !keep:
		w.retire(s, by)
	case keep && full:
		w.tell(by)
	}
}

// tell lets those who wait for a link look again.
func (w *Way) tell(by *transport.Conn) {
	if h := w.hop.Load(); h != nil {
		h.wake(by)
	}
}

// Streams are the links for streams: all, and those that are not used.
func (w *Way) Streams() (all, idle int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.streams), len(w.idle)
}

// Trim detaches links for streams that nobody has used since the last call that
// found them idle, down to none.
func (w *Way) Trim(keep int) {
	w.mu.Lock()
	n := max(len(w.idle)-keep, 0)
	old := append([]*Sender(nil), w.idle[:n]...)
	w.idle = append(w.idle[:0], w.idle[n:]...)
	for _, s := range old {
		delete(w.streams, s)
	}
	w.mu.Unlock()
	for _, s := range old {
		s.post(nil, transport.Post{To: s, Kind: postRetire})
	}
}

// Close ends the way because its connection has ended. It is called under the
// connection's lock, after the links that were attached have gone.
func (w *Way) Close() {
	w.mu.Lock()
	w.closed = true
	var left []*Sender
	for s := range w.streams {
		left = append(left, s)
	}
	clear(w.streams)
	w.idle = nil
	w.mu.Unlock()
	for i := range w.whole {
		w.whole[i].Store(nil)
	}
	for _, s := range left {
		s.Gone(true) // those that were not attached yet
	}
}

// newRouterSender returns a link to another router, not attached yet.
func newRouterSender(w *Way, stream bool) *Sender {
	s := &Sender{limits: w.limits, conn: w.Conn, way: w, router: true, stream: stream, info: Info{Class: RouterData, Past: &w.Past}}
	s.Dest.init(s, nil)
	return s
}

// NewWhole returns the link for whole messages of a priority, to be attached.
func (w *Way) NewWhole(priority int) *Sender {
	s := newRouterSender(w, false)
	s.priority = priority
	return s
}

// Answered tells that the other router has attached the link too; a is nil if
// it was the first.
func (s *Sender) Answered(a *frames.Attach) {
	if a != nil {
		s.most = int64(min(a.MaxMessageSize, 1<<62))
	}
	if s.way != nil && !s.stream {
		s.way.Add(s.priority, s)
	}
	s.Session().Ready(s.ep)
	s.watch.answered()
}

// Refused tells that the other router does not take the link; Gone follows. One
// that refuses a link for a stream is not asked again.
func (s *Sender) Refused(err *amqp.Error) {
	s.watch.because(err)
	if s.stream {
		s.way.NoStreams()
	}
}

// handleStream attaches a link for a stream, or ends it with its session.
func (s *Sender) handleStream(kind uint8) {
	switch {
	case kind == postAttach && !s.gone:
		if err := s.way.newStream(s); err != nil {
			s.Gone(true)
		}
	case kind == postRetire && s.ep != nil && !s.gone:
		s.Session().End(nil)
	}
}
