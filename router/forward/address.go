package forward

import (
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

	// left is called, without the lock of the address, when a link has left.
	left func(*Address)

	mu      sync.Mutex // guards the fields below
	dests   []*links.Sender
	turn    int // where the next round among equals begins
	sources map[*links.Receiver]struct{}
	waiting [10][]*links.Delivery // by priority
	count   int
	bytes   int64
	full    bool
	backlog int
	pinned  *buffers.Chunk  // what deliveries that wait may be in without a copy
	touched []*links.Sender // with bindings that are not in their queues yet
	copies  []*links.Copy   // scratch

	retained atomic.Int64 // bytes kept for another attempt

	// Multicast messages of which a copy has not left.
	spread, spreadBytes atomic.Int64

	gate atomic.Uint32

	Stats Stats
}

// NewAddress returns an address without links. Left, if not nil, is told of each
// link that leaves.
func NewAddress(key string, t Treatment, left func(*Address)) *Address {
	a := &Address{Key: key, Treatment: t, left: left, sources: make(map[*links.Receiver]struct{})}
	a.gate.Store(uint32(links.GateClosed))
	return a
}

// Gate implements links.Forwarder.
func (a *Address) Gate() links.Gate { return links.Gate(a.gate.Load()) }

// NeedsTo implements links.Forwarder.
func (a *Address) NeedsTo() bool { return false }

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

// Destinations calls f for each destination.
func (a *Address) Destinations(f func(*links.Sender)) {
	a.mu.Lock()
	dests := append([]*links.Sender(nil), a.dests...)
	a.mu.Unlock()
	for _, s := range dests {
		f(s)
	}
}

// Forward implements links.Forwarder.
func (a *Address) Forward(r *links.Receiver, batch []links.Arrival) {
	by := r.Conn()
	a.Stats.Ingress.Add(uint64(len(batch)))
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
	a.flush(by)
	a.mu.Unlock()
}

// forward brings one message to its destinations, or lets it wait: d, or if
// that is nil, b.
func (a *Address) forward(d *links.Delivery, b links.Bare, by *transport.Conn) {
	if d == nil && (a.count > 0 || a.Distribution == Multicast) {
		d = b.Delivery()
	}
	if d != nil {
		d.Waiter = a
		if a.Priority >= 0 {
			d.Priority = uint8(a.Priority)
		}
		if a.Distribution == Multicast {
			a.copyToAll(d, by)
			return
		}
		if a.ahead(d.Priority) {
			a.wait(d)
			return
		}
	}
	switch s := a.choose(); {
	case s == nil && d == nil:
		a.forward(b.Delivery(), b, by)
	case s == nil:
		a.wait(d)
	case d == nil:
		a.hand(s, s.Carry(b))
	default:
		a.bind(d, s, by)
	}
}

// ahead tells whether something waits that goes before a delivery of priority p.
func (a *Address) ahead(p uint8) bool {
	if a.count == 0 {
		return false
	}
	for q := len(a.waiting) - 1; q >= int(p); q-- {
		if len(a.waiting[q]) > 0 {
			return true
		}
	}
	return false
}

// wait puts d at the end of those of its priority.
func (a *Address) wait(d *links.Delivery) {
	// Those that wait in the memory that is being read into will most likely
	// go on in a moment, and are not copied out of it yet.
	if pin := d.Content.Pin(); pin != a.pinned || buffers.Tight() {
		a.park()
		a.pinned = pin
	}
	d.Waits, d.Parked = true, d.Content.Held()
	a.waiting[d.Priority] = append(a.waiting[d.Priority], d)
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
	for _, w := range a.waiting {
		for i := len(w) - 1; i >= 0 && !w[i].Compact; i-- {
			w[i].Park()
		}
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
	w := a.waiting[d.Priority]
	i := len(w) - 1
	for i >= 0 && w[i] != d {
		i--
	}
	if i < 0 {
		a.mu.Unlock()
		return
	}
	a.waiting[d.Priority] = append(w[:i], w[i+1:]...)
	w[len(w)-1] = nil
	d.Waits = false
	a.count--
	a.bytes -= d.Parked
	a.watermark(by)
	a.mu.Unlock()
	d.DropBy(by, messaging.DeliveryState{})
}

// next takes the delivery that has waited longest at the highest priority.
func (a *Address) next() *links.Delivery {
	for q := len(a.waiting) - 1; q >= 0; q-- {
		if w := a.waiting[q]; len(w) > 0 {
			d := w[0]
			w[0] = nil
			if a.waiting[q] = w[1:]; len(w) == 1 {
				a.waiting[q] = nil
			}
			d.Waits = false
			a.count--
			a.bytes -= d.Parked
			return d
		}
	}
	return nil
}

// bind gives d to s. It takes the caller's reference.
func (a *Address) bind(d *links.Delivery, s *links.Sender, by *transport.Conn) {
	keep := false
	if a.Redeliver && !d.Settled() && d.Complete() {
		// What is kept has a bound of its own; beyond it the ability to send
		// again is given up, not the flow.
		keep = a.retained.Load()+d.Size() <= a.HighBytes
	}
	if s.Slow() {
		d.Park()
	}
	a.hand(s, links.Item{C: d.BindOne(s, by, keep)})
}

func (a *Address) hand(s *links.Sender, it links.Item) {
	if len(s.Dest.Batch) == 0 {
		a.touched = append(a.touched, s)
	}
	s.Dest.Batch = append(s.Dest.Batch, it)
	s.Dest.Bound++
	s.Dest.Given++
}

// flush moves what has been bound to the queues.
func (a *Address) flush(by *transport.Conn) {
	for i, s := range a.touched {
		a.Stats.Egress.Add(uint64(len(s.Dest.Batch)))
		s.Enqueue(s.Dest.Batch, by)
		clear(s.Dest.Batch)
		s.Dest.Batch = s.Dest.Batch[:0]
		a.touched[i] = nil
	}
	a.touched = a.touched[:0]
}

func (a *Address) choose() *links.Sender {
	if a.Distribution == Closest {
		return a.closest()
	}
	return a.balanced()
}

// capable tells whether s can take a delivery now.
func capable(s *links.Sender) bool { return s.Dest.Credit() > 0 && !s.Over() }

// match gives what waits to destinations with capacity.
func (a *Address) match(by *transport.Conn) {
	for a.count > 0 {
		s := a.choose()
		if s == nil {
			break
		}
		d := a.next()
		if a.useless(d, by) {
			continue
		}
		a.bind(d, s, by)
	}
	a.flush(by)
	a.watermark(by)
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
func (a *Address) Supply(s *links.Sender, by *transport.Conn, limit amqp.SequenceNo) {
	a.mu.Lock()
	s.Dest.Limit = limit
	a.fill(s, by)
	a.mu.Unlock()
}

// Resupply implements links.Source.
func (a *Address) Resupply(s *links.Sender, by *transport.Conn) {
	a.mu.Lock()
	a.fill(s, by)
	a.mu.Unlock()
}

func (a *Address) fill(s *links.Sender, by *transport.Conn) {
	if a.Distribution == Multicast {
		a.fillCopies(s, by)
		return
	}
	if a.count > 0 && s.Dest.Credit() > 0 {
		a.match(by)
	}
}

// AddDestination implements links.Source.
func (a *Address) AddDestination(s *links.Sender, by *transport.Conn) {
	a.mu.Lock()
	s.Dest.Index = len(a.dests)
	a.dests = append(a.dests, s)
	if len(a.dests) == 1 {
		a.full = false
		a.gate.Store(uint32(links.GateOpen))
		for r := range a.sources {
			r.GateChanged(by)
		}
	}
	a.mu.Unlock()
}

// RemoveDestination implements links.Source. The link returns what it has not
// sent afterwards.
func (a *Address) RemoveDestination(s *links.Sender, by *transport.Conn) {
	a.mu.Lock()
	if i := s.Dest.Index; i < len(a.dests) && a.dests[i] == s {
		n := len(a.dests) - 1
		a.dests[i] = a.dests[n]
		a.dests[i].Dest.Index = i
		a.dests[n] = nil
		a.dests = a.dests[:n]
		if a.turn >= n {
			a.turn = 0
		}
	}
	late := s.Dest.Backlog
	s.Dest.Backlog = nil
	a.backlog -= len(late)
	a.mu.Unlock()
	for _, c := range late {
		s.Forget(c, messaging.Released)
	}
}

// Return implements links.Source: what was not sent goes back to the front.
func (a *Address) Return(s *links.Sender, by *transport.Conn, unsent []links.Item) {
	if a.Distribution == Multicast {
		if a.keepCopies(s, unsent) {
			return
		}
		for _, it := range unsent {
			s.Forget(it.C, messaging.Released)
		}
	}
	a.mu.Lock()
	s.Dest.Bound -= amqp.SequenceNo(len(unsent))
	s.Dest.Given -= uint32(len(unsent))
	if a.Distribution != Multicast {
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
	a.settle(by)
}

// requeue puts deliveries, in their order, before all that wait at their
// priorities. One that has been aborted meanwhile does not wait: its sender has
// seen it bound and did not withdraw it.
func (a *Address) requeue(back []*links.Delivery, by *transport.Conn) {
	var front [10][]*links.Delivery
	for _, d := range back {
		if a.useless(d, by) {
			continue
		}
		d.Park()
		d.Waits, d.Parked = true, d.Content.Held()
		front[d.Priority] = append(front[d.Priority], d)
		a.count++
		a.bytes += d.Parked
	}
	for p, f := range front {
		if len(f) > 0 {
			a.waiting[p] = append(f, a.waiting[p]...)
		}
	}
}

// settle matches what has come back, or drops it where nobody is left, and
// unlocks the address.
func (a *Address) settle(by *transport.Conn) {
	if len(a.dests) > 0 {
		a.match(by)
		a.mu.Unlock()
		return
	}
	a.gate.Store(uint32(links.GateClosed))
	a.full = false
	for r := range a.sources {
		r.GateChanged(by)
	}
	var lost []*links.Delivery
	for d := a.next(); d != nil; d = a.next() {
		lost = append(lost, d)
	}
	a.mu.Unlock()
	for _, d := range lost {
		a.Stats.DroppedNoDestination.Add(1)
		d.DropBy(by, messaging.Released)
	}
}

// Released implements links.Source.
func (a *Address) Released(s *links.Sender) {
	a.Stats.TimedOut.Add(s.Counters.TimedOut)
	a.tellLeft()
}

func (a *Address) tellLeft() {
	if a.left != nil {
		a.left(a)
	}
}

// Unbound implements links.Source.
func (a *Address) Unbound(s *links.Sender, by *transport.Conn, n uint32) {
	a.mu.Lock()
	s.Dest.Bound -= amqp.SequenceNo(n)
	s.Dest.Given -= n
	a.fill(s, by)
	a.mu.Unlock()
}

// Exhausted implements links.Source.
func (a *Address) Exhausted(s *links.Sender, deliveryCount amqp.SequenceNo) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.Dest.Bound != deliveryCount || len(s.Dest.Backlog) > 0 && s.Dest.Credit() > 0 {
		return false
	}
	if a.count > 0 && s.Dest.Credit() > 0 {
		return false // it waits for the low mark
	}
	s.Dest.Bound = s.Dest.Limit
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
	a.mu.Unlock()
}

// RemoveSource implements links.Forwarder.
func (a *Address) RemoveSource(r *links.Receiver) {
	a.mu.Lock()
	delete(a.sources, r)
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
