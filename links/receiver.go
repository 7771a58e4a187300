package links

import (
	"sync/atomic"
	"time"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
)

// A Forwarder finds destinations for what a Receiver has received: an address,
// or for an anonymous terminus all of them.
type Forwarder interface {
	// Forward takes a batch of messages in the order of their arrival.
	Forward(r *Receiver, batch []Arrival)
	// AddSource and RemoveSource tell of links that feed the address.
	AddSource(*Receiver)
	RemoveSource(*Receiver)
	// Gate tells what the address wants of its senders.
	Gate() Gate
	// NeedsTo tells whether the properties section decides where a message goes.
	NeedsTo() bool
	// Gathers tells whether messages had better be complete when they are
	// forwarded, as far as a delivery without a destination may hold them.
	Gathers() bool
	// Need is how many messages more the receivers of the address ask for than
	// there are for them here, apart from those on this side.
	Need(*Side) int64
	// Holds tells whether a full gate holds a link of this side.
	Holds(*Side) bool
}

// A Receiver is a link on which the peer sends: the router's receiving end.
type Receiver struct {
	limits  Limits
	forward Forwarder
	ep      *transport.Endpoint
	mode    amqp.ReceiverSettleMode
	info    Info
	watch   *Watch

	// Credit (credit.go).
	deliveryCount amqp.SequenceNo // deliveries that have begun to arrive
	limit         amqp.SequenceNo // first delivery that has not been granted
	highest       amqp.SequenceNo // the farthest that limit has ever been
	size          int64           // recent message size in bytes
	sized         bool            // a message has been seen

	// What has been granted, arrived, and is not done. Other connections count
	// these down.
	open  atomic.Int64 // deliveries undelivered or unsettled
	bytes atomic.Int64 // of deliveries that have not left
	wants atomic.Bool  // credit could not be granted; post when they fall
	// What arrived in the batch at hand; it is added when the batch ends.
	newOpen, newBytes int64

	dropped atomic.Uint64 // presettled deliveries that found no destination

	// Stage one.
	holds   int // destinations over their threshold that hold this link
	unbound bool
	backlog []waitingFrame
	waiting int64 // bytes in backlog

	current  *Delivery // between its first and last frame
	arrived  int64     // bytes of current
	envelope bool      // current waits for the end of its envelope
	nextLook int64     // bytes at which the envelope is looked at again
	multi    bool      // current has several frames
	discard  bool      // the rest of current is not wanted
	fronts   *fronts   // of whole messages from a router of this family
	batch    []Arrival
	deferred bool
	gone     bool

	Counters Counters
}

// Info is what management shows of a link.
type Info struct {
	Address string // as attached; empty for an anonymous terminus
	Key     string
	Dynamic bool
	Class   Class
	// Past, if not nil, gets what the link has counted when it has gone.
	Past *Totals
}

// Totals are what links have carried.
type Totals struct{ Deliveries, Bytes atomic.Uint64 }

// add counts a link that has gone.
func (t *Totals) add(c *Counters) {
	if t != nil {
		t.Deliveries.Add(c.Deliveries)
		t.Bytes.Add(c.Bytes)
	}
}

// A Class is a kind of link.
type Class uint8

const (
	Endpoint   Class = iota // to a client or a broker
	RouterData              // to another router, for the messages of many
	EdgeUplink              // between an edge router and an interior one
)

func (c Class) String() string { return [...]string{"endpoint", "router-data", "edge"}[c] }

// Counters count deliveries since the link was attached.
type Counters struct {
	Deliveries, Presettled, Accepted, Rejected, Released, Modified, TimedOut uint64
	Bytes                                                                    uint64
	// Delayed counts those that were settled a second or more after they had
	// arrived at this router, VeryDelayed those of ten seconds or more, which are
	// not in Delayed. Of those that were sent settled links into the router count
	// none, and links out of it only those that had to wait.
	Delayed, VeryDelayed uint64
}

// From which age on a delivery counts as delayed, in nanoseconds.
const (
	delayed     = int64(time.Second)
	veryDelayed = 10 * delayed
)

// ended counts the delay of a delivery that is settled.
func (c *Counters) ended(arrived, now int64) {
	switch age := now - arrived; {
	case age < delayed:
	case age < veryDelayed:
		c.Delayed++
	default:
		c.VeryDelayed++
	}
}

// waitingFrame is a transfer frame in stage one.
type waitingFrame struct {
	id      amqp.DeliveryNumber
	format  uint32
	state   messaging.StateKind
	settled bool
	more    bool
	aborted bool
	first   bool
	payload buffers.Slice
}

// NewReceiver returns a link that gets deliveries for f.
func NewReceiver(a *frames.Attach, limits Limits, f Forwarder, info Info) *Receiver {
	return &Receiver{
		limits:        limits,
		forward:       f,
		mode:          a.ReceiverSettleMode,
		info:          info,
		deliveryCount: a.InitialDeliveryCount,
		limit:         a.InitialDeliveryCount,
		highest:       a.InitialDeliveryCount,
		size:          limits.LinkBytes,
	}
}

// Bind implements transport.Link.
func (r *Receiver) Bind(e *transport.Endpoint) { r.ep = e }

// Endpoint is the session's part of the link.
func (r *Receiver) Endpoint() *transport.Endpoint { return r.ep }

// Session is the session that the link is attached to.
func (r *Receiver) Session() *transport.Session { return r.ep.Session() }

// Conn is the connection that the link is on.
func (r *Receiver) Conn() *transport.Conn { return r.ep.Conn() }

// Info is what the link was made with.
func (r *Receiver) Info() Info { return r.info }

// Anonymous tells whether the link has no address of its own.
func (r *Receiver) Anonymous() bool { return r.forward.NeedsTo() }

// Limits are the limits of the link's connection.
func (r *Receiver) Limits() *Limits { return &r.limits }

// Answered implements transport.Initiated.
func (r *Receiver) Answered(a *frames.Attach) {
	r.deliveryCount, r.limit, r.highest = a.InitialDeliveryCount, a.InitialDeliveryCount, a.InitialDeliveryCount
	r.Begin()
	r.watch.answered()
}

// Refused implements transport.Initiated; Gone follows.
func (r *Receiver) Refused(err *amqp.Error) { r.watch.because(err) }

// Begin is called when the attach has been answered.
func (r *Receiver) Begin() {
	r.forward.AddSource(r)
	r.grant()
}

// Transfer implements transport.Receiving: stage one. A frame is pulled at once
// unless the link is held; then it waits in the backlog and keeps its place in
// the session's incoming-window.
func (r *Receiver) Transfer(t *frames.Transfer, payload buffers.Slice) error {
	first := r.ep.FirstTransfer()
	if first {
		if r.deliveryCount == r.highest {
			payload.Release()
			r.Session().Pulled(1)
			return transport.LinkErrorf(amqp.CondTransferLimitExceeded, "delivery %d was sent without credit", t.DeliveryID)
		}
		r.deliveryCount++
		if t.Resume {
			payload.Release()
			r.Session().Pulled(1)
			return transport.LinkErrorf(amqp.CondNotImplemented, "deliveries are not resumed here")
		}
	}
	f := waitingFrame{
		id:      t.DeliveryID,
		format:  t.MessageFormat,
		state:   t.State.Kind,
		settled: t.Settled,
		more:    t.More,
		aborted: t.Aborted,
		first:   first,
		payload: payload,
	}
	if r.Held() || len(r.backlog) > 0 || first && r.heavy() {
		f.payload = f.payload.Compact()
		r.waiting += int64(f.payload.Len())
		if len(r.backlog) == 0 {
			r.ep.SetBacklog(true)
		}
		r.backlog = append(r.backlog, f)
		return nil
	}
	return r.pull(&f)
}

// SettledWaiting implements transport.Waiting.
func (r *Receiver) SettledWaiting(first, last amqp.DeliveryNumber) {
	for i := range r.backlog {
		if f := &r.backlog[i]; !f.id.Less(first) && !last.Less(f.id) {
			f.settled = true
		}
	}
}

// Held tells whether the link does not pull frames now.
func (r *Receiver) Held() bool { return r.holds > 0 || r.unbound }

// heavy tells whether so many bytes of the link are under way that it begins no
// other message, and if so has the link told when they become fewer. Credit
// normally keeps a link from this; a sender whose messages have grown gets here
// with credit from before. A message that has begun is never stopped by it.
func (r *Receiver) heavy() bool {
	if r.limits.Transit || r.bytes.Load()+r.newBytes < r.limits.LinkBytes {
		return false
	}
	r.wants.Store(true)
	return r.bytes.Load()+r.newBytes >= r.limits.LinkBytes
}

// pull takes a frame out of stage one and into its message.
func (r *Receiver) pull(f *waitingFrame) error {
	r.Session().Pulled(1)
	if r.bare(f) {
		r.pullBare(f)
		return nil
	}
	if f.first {
		if err := r.begin(f); err != nil {
			f.payload.Release()
			return err
		}
	}
	if r.discard {
		f.payload.Release()
		if !f.more || f.aborted {
			r.endDelivery()
		}
		return nil
	}
	d := r.current
	if f.settled && !d.settled.Load() {
		r.settleEarly(d, f.first)
	}
	if f.aborted {
		f.payload.Release()
		r.abort()
		return nil
	}
	n := int64(f.payload.Len())
	r.arrived += n
	if m := r.limits.MaxMessageSize; m != 0 && uint64(r.arrived) > m {
		f.payload.Release()
		return r.oversize(d, f.more)
	}
	r.Counters.Bytes += uint64(n)
	if f.first && !f.more {
		r.newBytes += n
		d.whole = true
		d.Content.SetWhole(f.payload)
		r.measure(n)
		r.current = nil
		r.submit(d, false)
		return nil
	}
	r.bytes.Add(n)
	d.counted.Add(n)
	r.append(d, f.payload, !f.more)
	if r.envelope {
		r.submit(d, f.more)
	}
	if !f.more {
		r.endDelivery()
	}
	return nil
}

// begin starts a delivery with its first frame.
func (r *Receiver) begin(f *waitingFrame) error {
	if f.state == messaging.StateTransactional {
		return transport.LinkErrorf(amqp.CondNotImplemented, "transactions are not supported")
	}
	d := newDelivery(r, f.id)
	d.format = f.format
	d.Arrived = r.Conn().Now
	r.Conn().Carried = d.Arrived
	d.sure = f.state == messaging.StateAccepted && !f.settled && r.limits.Sure
	d.Echo = r.limits.Side
	r.current, r.arrived, r.envelope, r.discard = d, 0, true, false
	r.nextLook = 0
	r.multi = f.more || f.aborted
	r.newOpen++
	r.Counters.Deliveries++
	if f.more || f.aborted {
		d.retain(1) // for current
	}
	if !f.settled {
		d.listed = true
		d.retain(1)
		r.Session().Received(f.id, d)
	}
	return nil
}

// settleEarly notes that the sender wants no outcome.
func (r *Receiver) settleEarly(d *Delivery, first bool) {
	if first {
		d.pre = true
		d.settled.Store(true)
		r.Counters.Presettled++
		return
	}
	if d.listed {
		r.Session().Unsettle(d.id)
		d.abandon()
		r.done(1)
		d.Release()
	}
}

// append adds bytes to a message of several frames and charges them to every
// destination. If one is over its mark, the link is held.
func (r *Receiver) append(d *Delivery, s buffers.Slice, end bool) {
	n := int64(s.Len())
	alive := false
	d.mu.Lock()
	d.Content.Append(s)
	if end {
		d.Content.End()
	}
	for _, c := range d.copies {
		if c.dead {
			continue
		}
		alive = true
		c.charged += n
		if c.account.budget.Charge(n) && !end && c.account.hold(r) {
			r.holds++
		}
		c.to.wake(r.Conn())
	}
	if !d.bound && !end && d.Content.Held() >= r.limits.UnboundBytes {
		r.unbound = true
	}
	bound := d.bound
	d.mu.Unlock()
	if !bound && d.Waiter != nil {
		d.Waiter.Grew(d, n, r.Conn())
	}
	if bound && !alive { // every receiver has seen enough
		r.bytes.Add(-d.counted.Swap(0))
	}
}

// abort ends the current delivery without its message (§2.7.5).
func (r *Receiver) abort() {
	d := r.current
	r.current = nil
	d.mu.Lock()
	d.Content.Abort()
	for _, c := range d.copies {
		c.to.wake(r.Conn())
	}
	waits := !d.bound && !r.envelope
	d.mu.Unlock()
	if waits && d.Waiter != nil {
		d.Waiter.Withdraw(d, r.Conn())
	}
	r.unbound = false
	if d.listed {
		// §2.7.5: an aborted delivery is settled.
		r.Session().Unsettle(d.id)
		d.listed = false
		d.settled.Store(true)
		r.done(1)
		d.Release()
	}
	if r.envelope { // it has not been submitted
		r.envelope = false
		if d.pre {
			r.done(1)
		}
		d.Release()
	}
	d.Release() // current's
}

func (r *Receiver) endDelivery() {
	d := r.current
	r.current = nil
	r.measure(r.arrived)
	r.discard = false
	if d.late && d.listed {
		d.settleLate()
	}
	d.Release()
}

// oversize ends the link because of a message beyond max-message-size (§2.7.3),
// unless the messages of others come on it, too: then only what has been begun
// is rejected, and the rest of it thrown away.
func (r *Receiver) oversize(d *Delivery, more bool) error {
	r.Counters.Rejected++
	err := amqp.Errorf(amqp.CondMessageSizeExceeded, "the message is larger than the max-message-size of %d bytes", r.limits.MaxMessageSize)
	if d.listed {
		r.Session().Dispose(amqp.RoleReceiver, d.id, true, messaging.Rejected(err))
	}
	if !r.multi {
		d.retain(1) // abort releases a reference of current's
	}
	if r.limits.Transit && more {
		d.retain(1)
	}
	r.abort()
	if r.limits.Transit {
		if more {
			r.current, r.discard = d, true
		}
		return nil
	}
	return &transport.LinkError{Wire: err}
}

// submit looks at the envelope of the current delivery and hands it over to be
// forwarded, if the envelope is there.
func (r *Receiver) submit(d *Delivery, more bool) {
	if more && r.arrived < r.nextLook {
		return
	}
	if more && r.arrived < r.limits.UnboundBytes && r.forward.Gathers() {
		return
	}
	ready, refusal := d.open(&r.limits, r.forward.NeedsTo(), more)
	if !ready {
		// Looking again at twice the size keeps the cost linear, in however
		// many pieces an envelope comes.
		r.nextLook = min(2*r.arrived, int64(r.limits.envelope()))
		return
	}
	r.envelope = false
	if refusal != nil {
		r.discard = more
		r.Drop(d, messaging.Rejected(refusal))
		return
	}
	r.batch = append(r.batch, Arrival{D: d})
	r.deferBatch()
	if more {
		r.EndBatch() // streams find their destination at once
	}
}

func (r *Receiver) deferBatch() {
	if !r.deferred {
		r.deferred = true
		r.Conn().Defer(r)
	}
}

// EndBatch implements transport.Batcher.
func (r *Receiver) EndBatch() {
	r.deferred = false
	r.countNew()
	if len(r.batch) > 0 {
		batch := r.batch
		r.forward.Forward(r, batch)
		clear(batch)
		r.batch = batch[:0]
	}
	r.refill()
}

// countNew adds what has arrived to what others count down.
func (r *Receiver) countNew() {
	if r.newOpen != 0 {
		r.open.Add(r.newOpen)
		r.newOpen = 0
	}
	if r.newBytes != 0 {
		r.bytes.Add(r.newBytes)
		r.newBytes = 0
	}
}

// Drop resolves a delivery that goes nowhere, without harm to its link. It is
// called under the lock of the link's own connection, and takes a reference.
func (r *Receiver) Drop(d *Delivery, state messaging.DeliveryState) {
	d.DropBy(r.Conn(), state)
}

// HandlePost implements transport.PostHandler.
func (r *Receiver) HandlePost(p *transport.Post) {
	switch p.Kind {
	case postRelease:
		if r.holds > 0 {
			r.holds--
		}
		r.resume()
	case postBound:
		r.unbound = false
		r.resume()
	case postCredit, postGate:
		if len(r.backlog) > 0 {
			r.resume()
		}
		if !r.gone {
			r.grant()
		}
	}
}

// resume pulls the frames that have waited, as far as the link is not held.
func (r *Receiver) resume() {
	if r.Held() {
		return
	}
	for len(r.backlog) > 0 && !r.Held() && !r.gone {
		if r.backlog[0].first && r.heavy() {
			break
		}
		f := r.backlog[0]
		r.backlog[0] = waitingFrame{}
		r.backlog = r.backlog[1:]
		r.waiting -= int64(f.payload.Len())
		if err := r.pull(&f); err != nil {
			r.ep.Contain(err)
			return
		}
	}
	if len(r.backlog) == 0 {
		r.backlog = nil
		r.ep.SetBacklog(false)
	}
	r.EndBatch()
}

// Gone implements transport.Link: what was received completely goes on, what
// was not is aborted.
func (r *Receiver) Gone(closed bool) {
	if r.gone {
		return
	}
	r.gone = true
	if r.ep == nil {
		return
	}
	r.watch.leaving()
	defer r.watch.ended()
	if r.countNew(); len(r.batch) > 0 {
		r.EndBatch()
	}
	for i := range r.backlog {
		r.backlog[i].payload.Release()
	}
	r.Session().Pulled(uint32(len(r.backlog)))
	// Deliveries that waited in stage one and had not begun cannot be told
	// anything any more; the sender knows that they were not settled.
	r.backlog, r.waiting = nil, 0
	r.ep.SetBacklog(false)
	r.holds, r.unbound = 0, false
	if r.current != nil {
		if r.discard {
			r.endDelivery()
		} else {
			r.abort()
		}
	}
	r.forward.RemoveSource(r)
	r.info.Past.add(&r.Counters)
}

// Unsettled tells how much the link has under way.
func (r *Receiver) Unsettled() int64 { return r.open.Load() }

// Waiting is the number of bytes of the link in stage one.
func (r *Receiver) Waiting() int64 { return r.waiting }

// Undelivered is the number of bytes that have arrived on the link and not left.
func (r *Receiver) Undelivered() int64 { return r.bytes.Load() }

func (r *Receiver) count(k messaging.StateKind) {
	switch k {
	case messaging.StateAccepted:
		r.Counters.Accepted++
	case messaging.StateRejected:
		r.Counters.Rejected++
	case messaging.StateReleased:
		r.Counters.Released++
	case messaging.StateModified:
		r.Counters.Modified++
	}
}
