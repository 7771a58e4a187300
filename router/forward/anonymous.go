package forward

import (
	"slices"

	"sluice/amqp"
	"sluice/amqp/messaging"
	"sluice/links"
)

// Anonymous forwards the messages of an anonymous terminus, each to the address
// in its properties (the anonymous terminus of the addressing extension).
type Anonymous struct {
	// Lookup finds the address with this name and phase, or says why there is
	// none. Nil and nil means that nobody is there.
	Lookup func(to []byte, phase byte) (*Address, *amqp.Error)
	// Far says that there are other routers, so that messages had better be
	// complete (see links.Forwarder).
	Far bool
	// Enter, if not nil, completes what a link from another router says about a
	// message, which goes to all receivers of its address or to one, and tells
	// whether it may go on.
	Enter func(d *links.Delivery, all bool) bool
	// Stats counts what no address counts.
	Stats *Stats
}

// Forward implements links.Forwarder.
func (n *Anonymous) Forward(r *links.Receiver, batch []links.Arrival) {
	for len(batch) > 0 {
		first := batch[0].D
		a, refusal := n.Lookup(first.To(), first.Phase())
		k := 1
		for k < len(batch) && string(batch[k].D.To()) == string(first.To()) && batch[k].D.Phase() == first.Phase() {
			k++
		}
		same := batch[:k]
		batch = batch[k:]
		if n.Enter != nil {
			all := a != nil && a.Distribution == Multicast
			same = slices.DeleteFunc(same, func(m links.Arrival) bool { return !n.enter(r, m.D, all) })
		}
		if a != nil {
			a.Forward(r, same)
			continue
		}
		state := messaging.Released
		if refusal != nil {
			state = messaging.Rejected(refusal)
		}
		for _, m := range same {
			n.Stats.DroppedNoDestination.Add(1)
			r.Drop(m.D, state)
		}
	}
}

// enter drops a message that goes in circles, or has been here before.
func (n *Anonymous) enter(r *links.Receiver, d *links.Delivery, all bool) bool {
	if n.Enter(d, all) {
		return true
	}
	n.Stats.DroppedAstray.Add(1)
	r.Drop(d, messaging.Released)
	return false
}

// AddSource implements links.Forwarder.
func (n *Anonymous) AddSource(*links.Receiver) {}

// RemoveSource implements links.Forwarder.
func (n *Anonymous) RemoveSource(r *links.Receiver) { n.Stats.left(r) }

// Gate implements links.Forwarder: credit is granted whatever single addresses
// can take; a message for one without a destination is released.
func (n *Anonymous) Gate() links.Gate { return links.GateOpen }

// NeedsTo implements links.Forwarder.
func (n *Anonymous) NeedsTo() bool { return true }

// Gathers implements links.Forwarder.
func (n *Anonymous) Gathers() bool { return n.Far }

// Holds implements links.Forwarder.
func (n *Anonymous) Holds(*links.Side) bool { return true }

// Need implements links.Forwarder.
func (n *Anonymous) Need(*links.Side) int64 { return 1 << 31 }
