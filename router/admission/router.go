package admission

import (
	"crypto/rand"
	"encoding/base32"
	"sync/atomic"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/forward"
	"sluice/router/table"
)

// A Router is what all connections of a router share.
type Router struct {
	Identity  address.Identity
	Table     *table.Table
	Treatment func(address.Address) forward.Treatment
	// Meshed says that there may be other routers.
	Meshed bool

	// RefusalLines bounds the log lines of refused attaches, which cost a peer
	// nothing; nil for no bound.
	RefusalLines zerolog.Sampler

	// Counters over the router's life.
	Attaches, Refusals atomic.Uint64
}

// NotFound is the refusal of an address that is configured as unavailable.
func notFound() *amqp.Error { return amqp.Errorf(amqp.CondNotFound, "Node not found") }

// lookup finds the address that a message of an anonymous terminus names, in this
// phase. It has no destination unless a link or another router made it.
func (rt *Router) lookup(to []byte, phase byte) (*forward.Address, *amqp.Error) {
	name := address.Parse(string(to), rt.Identity).WithPhase(phase)
	if a := rt.Table.Find(name); a != nil {
		if a.Distribution == forward.Unavailable {
			return nil, amqp.Errorf(amqp.CondNotFound, "Deliveries cannot be sent to an unavailable address")
		}
		return a, nil
	}
	if rt.Treatment(name).Distribution == forward.Unavailable {
		return nil, amqp.Errorf(amqp.CondNotFound, "Deliveries cannot be sent to an unavailable address")
	}
	return nil, nil
}

// place is lookup for clients: on an edge router what nobody here takes goes to
// the rest of the network, where it may be known.
func (rt *Router) place(to []byte, phase byte) (*forward.Address, *amqp.Error) {
	a, refusal := rt.lookup(to, phase)
	if !rt.Identity.Edge || refusal != nil || a != nil && a.Gate() != links.GateClosed {
		return a, refusal
	}
	if up := rt.Table.Find(address.Uplink); up != nil {
		return up, nil
	}
	return a, nil
}

// temporary returns a name that nobody else has.
func temporary(prefix string) string {
	var b [10]byte
	rand.Read(b[:])
	return prefix + base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])[:15]
}
