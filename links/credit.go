package links

import (
	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/transport"
	"sluice/buffers"
)

// A Gate says what an address wants of those who send to it.
type Gate uint8

const (
	// GateOpen lets credit be granted.
	GateOpen Gate = iota
	// GateFull grants nothing new; what has been granted stands.
	GateFull
	// GateClosed means that there is no destination: credit is taken back.
	GateClosed
)

// Credit for a sender is bounded three times: no more than the link's capacity
// may be granted, undelivered or unsettled; what is granted must fit into the
// link's byte budget if its messages are as large as recent ones; and a link
// that is held gets none. It is topped up when half of it has been used.
//
// A link starts with a credit of one, since nothing is known about the size of
// its messages: the session window is shared with the link's siblings, and 250
// messages of a megabyte each to a stopped receiver would fill it. The first
// message teaches the size.

// refill grants credit if that is worth a flow.
func (r *Receiver) refill() {
	if r.gone || r.ep == nil {
		return
	}
	target := r.target()
	outstanding := int64(r.limit.Sub(r.deliveryCount))
	if 2*outstanding > target {
		if outstanding > 2*target+1 {
			r.shrink(target)
		}
		return
	}
	r.grant()
}

// target is the credit that the link should have as far as sizes go.
func (r *Receiver) target() int64 {
	if r.limits.Transit {
		return int64(r.limits.Capacity)
	}
	return max(1, min(int64(r.limits.Capacity), r.limits.LinkBytes/max(r.size, 1)))
}

// grant gives as much credit as the bounds allow.
func (r *Receiver) grant() {
	gate := r.forward.Gate()
	outstanding := int64(r.limit.Sub(r.deliveryCount))
	if gate == GateClosed {
		if outstanding > 0 {
			r.limit = r.deliveryCount
			r.ep.WantFlow()
		}
		return
	}
	if gate == GateFull && r.forward.Holds(r.limits.Side) || r.Held() || r.waiting > 0 || buffers.Tight() {
		return
	}
	if r.limits.Transit {
		if room := int64(r.limits.Capacity) - outstanding; 2*room >= int64(r.limits.Capacity) {
			r.raise(room)
		}
		return
	}
	// Set before the counters are read: whoever counts them down afterwards
	// sees it and posts.
	r.wants.Store(true)
	target := r.target()
	room := min(target, int64(r.limits.Capacity)-r.open.Load()) - outstanding
	if free := r.limits.LinkBytes - r.bytes.Load(); free < r.limits.LinkBytes/2 {
		room = min(room, free/max(r.size, 1)-outstanding)
	}
	if r.limits.ByNeed {
		// As much as the receivers ask for, however little: wants stays set, and
		// has the link told when they ask for more.
		if room = min(room, r.forward.Need(r.limits.Side)-outstanding); room > 0 {
			r.raise(room)
		}
		return
	}
	if room <= 0 || 2*room < target-outstanding && room < target/4 {
		return
	}
	r.wants.Store(false)
	r.raise(room)
}

// Needed tells a link whose credit follows the need of its address that this has
// grown.
func (r *Receiver) Needed(by *transport.Conn) {
	if r.wants.Load() && r.wants.CompareAndSwap(true, false) {
		r.post(by, transport.Post{To: r, Kind: postCredit})
	}
}

// raise grants room deliveries more.
func (r *Receiver) raise(room int64) {
	r.limit += amqp.SequenceNo(room)
	if r.highest.Less(r.limit) {
		r.highest = r.limit
	}
	r.ep.WantFlow()
}

// Relieve grants credit that was held back while memory was short.
func (r *Receiver) Relieve() {
	if !r.gone {
		r.grant()
	}
}

// shrink asks a peer whose messages have grown to send fewer. What it has sent
// before it knows is still taken: highest does not move.
func (r *Receiver) shrink(credit int64) {
	r.limit = r.deliveryCount + amqp.SequenceNo(credit)
	r.ep.WantFlow()
}

// measure learns the size of a message: growth counts at once, so that the
// budget holds, and shrinking slowly.
func (r *Receiver) measure(n int64) {
	if !r.sized || n > r.size {
		r.size, r.sized = n, true
		return
	}
	r.size -= (r.size - n + 7) / 8
}

// done counts deliveries that are settled or dropped. It is called under the
// link's own connection's lock.
func (r *Receiver) done(n int64) {
	r.open.Add(-n)
	if !r.deferred && !r.gone && r.ep != nil {
		r.deferred = true
		r.Conn().Defer(r)
	}
}

// passed counts settled deliveries, and bytes of any, that have left through a
// sender on by's connection.
func (r *Receiver) passed(by *transport.Conn, n, bytes int64) {
	if n != 0 {
		r.open.Add(-n)
	}
	if bytes != 0 {
		r.bytes.Add(-bytes)
	}
	if r.wants.Load() && r.wants.CompareAndSwap(true, false) {
		r.post(by, transport.Post{To: r, Kind: postCredit})
	}
}

// post sends p to the link's connection.
func (r *Receiver) post(by *transport.Conn, p transport.Post) {
	c := r.Conn()
	c.Post(p)
	kick(by, c)
}

// kick sees to it that c is served: by the goroutine that holds by's lock, once
// it has released it, or at once where there is no such lock.
func kick(by, c *transport.Conn) {
	if by != nil {
		by.Touch(c)
		return
	}
	go c.Owner().Kick()
}

// Kick has c served from a place that may not take its lock.
func Kick(c *transport.Conn) { kick(nil, c) }

// GateChanged tells the link to ask the address again.
func (r *Receiver) GateChanged(by *transport.Conn) {
	r.post(by, transport.Post{To: r, Kind: postGate})
}

// Flow implements transport.Link: the sender's view of the credit (§2.6.7).
func (r *Receiver) Flow(f *frames.Flow) error {
	if f.HasDeliveryCount && r.deliveryCount.Less(f.DeliveryCount) && !r.highest.Less(f.DeliveryCount) {
		// The sender has given up credit, for instance because it was asked to
		// drain.
		r.deliveryCount = f.DeliveryCount
		if r.limit.Less(r.deliveryCount) {
			r.limit = r.deliveryCount
		}
		r.refill()
	}
	return nil
}

// FlowState implements transport.Link.
func (r *Receiver) FlowState(f *frames.Flow) {
	f.HasDeliveryCount, f.DeliveryCount = true, r.deliveryCount
	f.HasLinkCredit, f.LinkCredit = true, uint32(max(r.limit.Sub(r.deliveryCount), 0))
}

// Credit is what the peer may send now.
func (r *Receiver) Credit() uint32 { return uint32(max(r.limit.Sub(r.deliveryCount), 0)) }

// unholdIf lets a link go that waits for its current message to find a
// destination.
func (r *Receiver) unholdIf(by *transport.Conn, stream bool) {
	if stream {
		r.post(by, transport.Post{To: r, Kind: postBound})
	}
}
