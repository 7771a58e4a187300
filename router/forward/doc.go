// Package forward brings deliveries and destinations together.
//
// An Address is a matchmaker. It owns what waits: a delivery that arrives takes
// a destination with capacity at once or waits, in order; a destination that
// gains capacity takes what waits. Capacity is credit that the receiver gave
// and outgoing bytes below the high mark, so nothing is bound to a receiver
// that cannot take it, and a slow one holds no more than it asked for.
//
//	Receiver ─► Forward ─► destination with capacity? ─► its queue
//	                │ none                  ▲
//	                ▼                       │ Supply, Resupply, Join
//	             waiting, by priority ──────┘
//
// How a destination is chosen is in one file for each distribution: closest.go,
// balanced.go, multicast.go. An Address over its high mark closes its gate:
// senders get no new credit until it is below the low mark.
//
// An Address is guarded by its own lock. It is taken under the lock of a
// connection, and takes leaf locks; no two Addresses are locked together.
package forward
