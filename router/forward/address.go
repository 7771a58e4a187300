package forward

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/amqp"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
	"sluice/links"
)

// Distribution says which destinations get a delivery.
type Distribution uint8

const (
	Balanced Distribution = iota
	Closest
	Multicast
	Unavailable
)

func (d Distribution) String() string {
	return [...]string{"balanced", "closest", "multicast", "unavailable"}[d]
}

// Treatment is how an address is configured.
type Treatment struct {
	Distribution Distribution
	Priority     int // overrides that of messages; -1 for none

	// Over HighBytes or HighCount waiting, senders get no new credit until
	// both are at or below LowBytes and LowCount.
	HighBytes, LowBytes int64
	HighCount, LowCount int

	// Redeliver keeps messages until they are settled and sends them again when
	// the receiver that had them is lost.
	Redeliver bool
	// UnsettledTimeout resolves deliveries that a receiver has not settled for
	// that long, in nanoseconds; 0 for never.
	UnsettledTimeout int64
	// Patience is how long a multicast copy may wait for a slow receiver, in
	// nanoseconds; 0 for ever.
	Patience int64
}

// An Address matches deliveries with destinations.
type Address struct {
	Key string
	Treatment

	hooks Hooks

	mu      sync.Mutex // guards the fields below
	dests   []*links.Dest
	picky   int // destinations that do not take messages from everywhere
	near    int // destinations that are links of this router and not private
	fed     int // sources that are not private
	sides       // side.go
	turn    int // where the next round among equals begins
	sources map[*links.Receiver]struct{}
	own     lane    // what entered the network here and may go to all destinations
	lanes   []*lane // what else waits
	count   int     // of all that waits
	bytes   int64
	full    bool
	backlog int
	pinned  *buffers.Chunk // what deliveries that wait may be in without a copy
	touched []*links.Dest  // with bindings that are not in their queues yet
	copies  []*links.Copy  // scratch
	targets []*links.Dest  // scratch
	dropped []links.Item   // multicast copies whose link has gone, for unlock

	retained atomic.Int64 // bytes kept for another attempt

	// Multicast messages of which a copy has not left.
	spread, spreadBytes atomic.Int64

	gate  atomic.Uint32
	apart atomic.Int32 // destinations to which messages that are not complete go on links of their own

	Stats Stats
}

// Hooks are what an address tells. Each may be nil.
type Hooks struct {
	// Left is called for each link or far destination that has left, without
	// the lock of the address.
	Left func(*Address)
	// Near tells when the address gets its first destination among the links of
	// this router, and when it has lost the last. It is called under the lock of
	// the address.
	Near func(a *Address, has bool)
	// Fed tells the same of those who send to the address.
	Fed func(a *Address, has bool)
	// Beyond, if not nil, leads to the rest of the network, of which an edge
	// router knows nothing: messages of anonymous terminuses go there too if they
	// are for all.
	Beyond *links.Hop
}

// NewAddress returns an address without links.
func NewAddress(key string, t Treatment, h Hooks) *Address {
	a := &Address{Key: key, Treatment: t, hooks: h, sources: make(map[*links.Receiver]struct{})}
	a.gate.Store(uint32(links.GateClosed))
	return a
}

// Gate implements links.Forwarder.
func (a *Address) Gate() links.Gate { return links.Gate(a.gate.Load()) }

// NeedsTo implements links.Forwarder.
func (a *Address) NeedsTo() bool { return false }

// Gathers implements links.Forwarder: a message that may go to another router
// had better be complete, since an incomplete one needs a link to itself.
func (a *Address) Gathers() bool { return a.apart.Load() > 0 }

// View is what management shows of an address.
type View struct {
	Key                    string
	Distribution           Distribution
	Destinations, Senders  int
	Waiting                int
	WaitingBytes, Retained int64
	Gate                   links.Gate
}

// View returns a copy of the address's state.
func (a *Address) View() View {
	a.mu.Lock()
	defer a.mu.Unlock()
	return View{
		Key: a.Key, Distribution: a.Distribution, Destinations: len(a.dests), Senders: len(a.sources),
		Waiting: a.count + a.backlog, WaitingBytes: a.bytes + a.spreadBytes.Load(), Retained: a.retained.Load(), Gate: a.Gate(),
	}
}

// Destinations calls f for each destination that is a link of this router.
func (a *Address) Destinations(f func(*links.Sender)) {
	a.mu.Lock()
	dests := append([]*links.Dest(nil), a.dests...)
	a.mu.Unlock()
	for _, d := range dests {
		if s := d.Link(); s != nil {
			f(s)
		}
	}
}

// Forward implements links.Forwarder.
func (a *Address) Forward(r *links.Receiver, batch []links.Arrival) {
	by := r.Conn()
	a.Stats.Ingress.Add(uint64(len(batch)))
	if r.Info().Class == links.RouterData {
		a.Stats.FromRouters.Add(uint64(len(batch)))
	}
	a.mu.Lock()
	if len(a.dests) == 0 {
		a.mu.Unlock()
		for _, m := range batch {
			a.Stats.DroppedNoDestination.Add(1)
			if m.D != nil {
				m.D.DropBy(by, messaging.Released)
			} else {
				m.Drop(by)
			}
		}
		return
	}
	for _, m := range batch {
		a.forward(m.D, m.Bare, by)
	}
	if !a.flush(by) {
		a.match(by)
	}
	a.unlock(by)
}

// forward brings one message to its destinations, or lets it wait: d, or if
// that is nil, b.
func (a *Address) forward(d *links.Delivery, b links.Bare, by *transport.Conn) {
	if d == nil && (a.count > 0 || a.Distribution == Multicast || a.picky > 0) {
		d = b.Delivery()
	}
	l := &a.own
	if d != nil {
		d.Waiter = a
		if a.Priority >= 0 {
			d.Priority = uint8(a.Priority)
		}
		if a.Distribution == Multicast {
			a.copyToAll(d, by)
			return
		}
		l = a.laneOf(d)
		if l.ahead(d.Priority) {
			a.wait(l, d)
			return
		}
	}
	switch s := a.choose(l); {
	case s == nil && d == nil:
		a.forward(b.Delivery(), b, by)
	case s == nil && a.nowhere(l):
		a.lose(d, by)
	case s == nil:
		a.wait(l, d)
	case d == nil:
		a.hand(s, s.Carry(b))
	case !a.bind(d, s, by):
		a.wait(l, d)
	}
}

// unlock ends what has been done under the lock.
func (a *Address) unlock(by *transport.Conn) {
	dropped := a.dropped
	a.dropped = nil
	a.mu.Unlock()
	for _, it := range dropped {
		it.C.Dest().Forget(it.C, by, messaging.Released)
	}
}

// lose drops a delivery for which there is no destination.
func (a *Address) lose(d *links.Delivery, by *transport.Conn) {
	a.Stats.DroppedNoDestination.Add(1)
	d.DropBy(by, messaging.Released)
}

// wait puts d at the end of those of its priority.
func (a *Address) wait(l *lane, d *links.Delivery) {
	// Those that wait in the memory that is being read into will most likely
	// go on in a moment, and are not copied out of it yet.
	if pin := d.Content.Pin(); pin != a.pinned || buffers.Tight() {
		a.park()
		a.pinned = pin
	}
	d.Waits, d.Parked = true, d.Content.Held()
	l.putLast(d)
	a.count++
	a.bytes += d.Parked
	a.watermark(nil)
}

// park copies what waits out of the memory that it was read into. What has been
// copied is at the front of each queue.
func (a *Address) park() {
	a.pinned = nil
	if a.count == 0 {
		return
	}
	a.own.park()
	for _, l := range a.lanes {
		l.park()
	}
}

// Grew implements links.Waiter: what waits counts as far as it has arrived.
func (a *Address) Grew(d *links.Delivery, n int64, by *transport.Conn) {
	a.mu.Lock()
	if d.Waits {
		d.Parked += n
		a.bytes += n
		a.watermark(by)
	}
	a.mu.Unlock()
}

// Withdraw implements links.Waiter: an aborted delivery does not wait. It is
// among the last, since its sender had not finished it.
func (a *Address) Withdraw(d *links.Delivery, by *transport.Conn) {
	a.mu.Lock()
	if !d.Waits || !a.laneOf(d).withdraw(d) {
		a.mu.Unlock()
		return
	}
	a.taken(d)
	a.watermark(by)
	a.mu.Unlock()
	d.DropBy(by, messaging.DeliveryState{})
}

// taken counts a delivery that waits no longer.
func (a *Address) taken(d *links.Delivery) {
	d.Waits = false
	a.count--
	a.bytes -= d.Parked
}

// bind gives d to s, and takes the caller's reference. It returns false, and
// does not, if there is no way to s now.
func (a *Address) bind(d *links.Delivery, s *links.Dest, by *transport.Conn) bool {
	keep := false
	if a.Redeliver && !d.Settled() && d.Complete() {
		// What is kept has a bound of its own; beyond it the ability to send
		// again is given up, not the flow.
		keep = a.retained.Load()+d.Size() <= a.HighBytes
	}
	if s.Slow() {
		d.Park()
	}
	c := d.BindOne(s, by, keep)
	if c == nil {
		return false
	}
	a.hand(s, links.Item{C: c})
	return true
}

func (a *Address) hand(s *links.Dest, it links.Item) {
	if len(s.Batch) == 0 {
		a.touched = append(a.touched, s)
	}
	s.Batch = append(s.Batch, it)
	if !it.Apart() {
		s.Bound++
	}
	s.Given++
}

// flush moves what has been bound to the queues. It returns false if a link has
// gone meanwhile: what it did not take waits again.
func (a *Address) flush(by *transport.Conn) (all bool) {
	all = true
	for i := 0; i < len(a.touched); i++ { // more may come
		s := a.touched[i]
		a.touched[i] = nil
		a.Stats.bound(s, len(s.Batch))
		lost := s.Enqueue(s.Batch, by)
		clear(s.Batch)
		s.Batch = s.Batch[:0]
		if len(lost) > 0 {
			a.takeBack(s, lost, by)
			all = all && a.Distribution == Multicast
		}
	}
	a.touched = a.touched[:0]
	return all
}

// unbound counts what was bound to s and comes back.
func (a *Address) unbound(s *links.Dest, unsent []links.Item) {
	s.Bound -= amqp.SequenceNo(charged(unsent))
	s.Given -= uint32(len(unsent))
	a.Stats.bound(s, -len(unsent))
}

// charged is how many of the items have taken credit.
func charged(items []links.Item) (n int) {
	for _, it := range items {
		if !it.Apart() {
			n++
		}
	}
	return n
}

// takeBack lets wait what was bound to s and not begun. Copies for all go another
// way, or nowhere.
func (a *Address) takeBack(s *links.Dest, unsent []links.Item, by *transport.Conn) {
	a.unbound(s, unsent)
	if a.Distribution == Multicast {
		for _, it := range unsent {
			if a.has(s) && s.Streams() && s.Reroute(it.C, by) {
				a.hand(s, it)
			} else {
				a.dropped = append(a.dropped, it)
			}
		}
		return
	}
	back := make([]*links.Delivery, len(unsent))
	for i, it := range unsent {
		if it.C == nil {
			back[i] = it.Bare.Delivery()
			continue
		}
		back[i] = it.C.Delivery()
		back[i].Unbind(it.C)
	}
	a.requeue(back, by)
}

func (a *Address) choose(l *lane) *links.Dest {
	if a.Distribution == Closest {
		return a.closest(l)
	}
	return a.balanced(l)
}

// may tells whether what is in l may go to s.
func (a *Address) may(l *lane, s *links.Dest) bool {
	return a.picky == 0 || l.may(s)
}

// capable tells whether s can take a delivery now. If it cannot for lack of
// room, and not of credit, the address is told when it can.
func capable(s *links.Dest) bool { return (s.Far() || s.Credit() > 0) && !s.Over() }

// match gives what waits to destinations with capacity.
func (a *Address) match(by *transport.Conn) {
	for {
		for moved := true; moved && a.count > 0; {
			moved = a.step(&a.own, by)
			for _, l := range a.lanes {
				moved = a.step(l, by) || moved
			}
		}
		if a.flush(by) {
			break
		}
	}
	a.sweepLanes()
	a.watermark(by)
}

// step gives the next delivery of a lane away, if it can.
func (a *Address) step(l *lane, by *transport.Conn) bool {
	if l.count == 0 {
		return false
	}
	s := a.choose(l)
	if s == nil {
		return false
	}
	d := l.next()
	a.taken(d)
	if a.useless(d, by) || a.bind(d, s, by) {
		return true
	}
	a.requeue([]*links.Delivery{d}, by)
	return false
}

// useless drops a delivery that was aborted or whose time ran out.
func (a *Address) useless(d *links.Delivery, by *transport.Conn) bool {
	switch {
	case d.Aborted():
		d.DropBy(by, messaging.DeliveryState{})
	case d.Deadline != 0 && now(by) > d.Deadline:
		a.Stats.DroppedExpired.Add(1)
		d.DropBy(by, messaging.Modified(false, true, nil))
	default:
		return false
	}
	return true
}

// watermark opens and closes the gate with hysteresis.
func (a *Address) watermark(by *transport.Conn) {
	bytes, count := a.bytes+a.spreadBytes.Load(), a.count+int(a.spread.Load())
	switch {
	case len(a.dests) == 0:
	case a.full && bytes <= a.LowBytes && count <= a.LowCount:
		a.full = false
		a.gate.Store(uint32(links.GateOpen))
		for r := range a.sources {
			r.GateChanged(by)
		}
	case !a.full && (bytes >= a.HighBytes || count >= a.HighCount):
		a.full = true
		a.Stats.GateClosed.Add(1)
		a.gate.Store(uint32(links.GateFull))
	}
}

// Supply implements links.Source.
func (a *Address) Supply(s *links.Dest, by *transport.Conn, limit amqp.SequenceNo) {
	a.mu.Lock()
	s.Limit = limit
	a.fill(s, by)
	for r := range a.needy {
		r.Needed(by)
	}
	a.unlock(by)
}

// Resupply implements links.Source.
func (a *Address) Resupply(s *links.Dest, by *transport.Conn) {
	a.mu.Lock()
	a.fill(s, by)
	a.unlock(by)
}

func (a *Address) fill(s *links.Dest, by *transport.Conn) {
	if a.Distribution == Multicast {
		a.fillCopies(s, by)
		return
	}
	if a.count > 0 && s.Credit() > 0 {
		a.match(by)
	}
}

// AddDestination implements links.Source.
func (a *Address) AddDestination(s *links.Dest, by *transport.Conn) {
	a.mu.Lock()
	a.add(s, by)
	a.mu.Unlock()
}

func (a *Address) add(s *links.Dest, by *transport.Conn) {
	s.Index = len(a.dests)
	a.dests = append(a.dests, s)
	a.join(s, 1)
	a.nearer(s, 1)
	if len(a.dests) == 1 {
		a.full = false
		a.gate.Store(uint32(links.GateOpen))
		for r := range a.sources {
			r.GateChanged(by)
		}
	}
}

// nearer counts the destinations that other routers may send to by this one.
func (a *Address) nearer(s *links.Dest, n int) {
	if s.Far() || s.Private {
		return
	}
	before := a.near
	a.near += n
	if a.hooks.Near != nil && (before == 0 || a.near == 0) {
		a.hooks.Near(a, a.near > 0)
	}
}

// RemoveDestination implements links.Source. What was bound to the destination
// and not sent is returned afterwards.
func (a *Address) RemoveDestination(s *links.Dest, by *transport.Conn) {
	a.mu.Lock()
	if a.has(s) {
		n := len(a.dests) - 1
		a.dests[s.Index] = a.dests[n]
		a.dests[s.Index].Index = s.Index
		a.dests[n] = nil
		a.dests = a.dests[:n]
		a.join(s, -1)
		a.nearer(s, -1)
		if a.turn >= n {
			a.turn = 0
		}
	}
	late := s.Backlog
	s.Backlog = nil
	a.backlog -= len(late)
	a.mu.Unlock()
	for _, c := range late {
		s.Forget(c, by, messaging.Released)
	}
}

func (a *Address) has(s *links.Dest) bool { return s.Index < len(a.dests) && a.dests[s.Index] == s }

// Return implements links.Source: what was not sent goes back to the front.
func (a *Address) Return(s *links.Dest, by *transport.Conn, unsent []links.Item) {
	if a.Distribution == Multicast && !s.Streams() && a.keepCopies(s, unsent) {
		return
	}
	a.mu.Lock()
	a.takeBack(s, unsent, by)
	a.settle(by)
}

// requeue puts deliveries, in their order, before all that wait at their
// priorities. One that has been aborted meanwhile does not wait: its sender has
// seen it bound and did not withdraw it.
func (a *Address) requeue(back []*links.Delivery, by *transport.Conn) {
	back = slices.DeleteFunc(back, func(d *links.Delivery) bool { return a.useless(d, by) })
	for _, d := range back {
		d.Park()
		d.Waits, d.Parked = true, d.Content.Held()
		a.count++
		a.bytes += d.Parked
	}
	for len(back) > 0 { // from the end, in runs of one lane and priority
		i := len(back) - 1
		l, p := a.laneOf(back[i]), back[i].Priority
		for i > 0 && back[i-1].Priority == p && a.laneOf(back[i-1]) == l {
			i--
		}
		l.putFirst(p, back[i:])
		back = back[:i]
	}
}

// settle matches what has come back, or drops it where nobody is left, and
// unlocks the address.
func (a *Address) settle(by *transport.Conn) {
	if len(a.dests) > 0 {
		a.match(by)
	} else {
		a.gate.Store(uint32(links.GateClosed))
		a.full = false
		for r := range a.sources {
			r.GateChanged(by)
		}
	}
	lost := a.stranded()
	if len(lost) > 0 {
		a.watermark(by) // the others have room
	}
	a.unlock(by)
	for _, d := range lost {
		a.lose(d, by)
	}
}

// Released implements links.Source.
func (a *Address) Released(s *links.Dest) {
	if l := s.Link(); l != nil {
		a.Stats.TimedOut.Add(l.Counters.TimedOut)
	}
	a.tellLeft()
}

// Forsake gives back the place of a link that the address was acquired for and
// that has not come about.
func (a *Address) Forsake() { a.tellLeft() }

func (a *Address) tellLeft() {
	if a.hooks.Left != nil {
		a.hooks.Left(a)
	}
}

// Unbound implements links.Source.
func (a *Address) Unbound(s *links.Dest, by *transport.Conn, credit bool) {
	a.mu.Lock()
	if credit {
		s.Bound--
	}
	s.Given--
	a.Stats.bound(s, -1)
	a.fill(s, by)
	a.unlock(by)
}

// Exhausted implements links.Source.
func (a *Address) Exhausted(s *links.Dest, deliveryCount amqp.SequenceNo) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.Bound != deliveryCount || len(s.Backlog) > 0 && s.Credit() > 0 {
		return false
	}
	if a.count > 0 && s.Credit() > 0 && a.has(s) {
		return false // it waits for the low mark
	}
	s.Bound = s.Limit
	return true
}

// Retry implements links.Source.
func (a *Address) Retry(d *links.Delivery, by *transport.Conn) {
	a.Stats.Redelivered.Add(1)
	a.mu.Lock()
	d.Failures++
	a.requeue([]*links.Delivery{d}, by)
	a.settle(by)
}

// Kept implements links.Source.
func (a *Address) Kept(n int64) { a.retained.Add(n) }

// Expired implements links.Source.
func (a *Address) Expired() { a.Stats.DroppedExpired.Add(1) }

// AddSource implements links.Forwarder.
func (a *Address) AddSource(r *links.Receiver) {
	a.mu.Lock()
	a.sources[r] = struct{}{}
	a.feed(r, 1)
	a.mu.Unlock()
}

// RemoveSource implements links.Forwarder.
func (a *Address) RemoveSource(r *links.Receiver) {
	a.mu.Lock()
	if _, was := a.sources[r]; was { // not if it was refused
		delete(a.sources, r)
		a.feed(r, -1)
	}
	a.mu.Unlock()
	a.Stats.left(r)
	a.tellLeft()
}

// now is the time of what is being handled on by's connection.
func now(by *transport.Conn) int64 {
	if by != nil && by.Now != 0 {
		return by.Now
	}
	return time.Now().UnixNano()
}
