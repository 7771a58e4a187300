// Package links holds the two ends of links and the deliveries between them.
//
//	peer ─► Receiver ─► Delivery ─► address ─► Copy ─► Sender ─► peer
//	          ▲            │  Content shared     │        │
//	          │            ▼  by all copies      ▼        │
//	          └── credit ◄─┴──── outcome ◄───────┴────────┘
//
// A Receiver is a link into the router: it pulls transfer frames out of stage
// one while no destination of the message is over its threshold, and gives the
// peer credit. A Sender is a link out of the router: it holds copies that its
// peer's credit has asked for, counts their bytes (stage three), and writes
// them. A Delivery is one message on its way; a Copy is its way to one Sender.
//
// Ownership. A Receiver and its incoming deliveries are guarded by the lock of
// its connection, a Sender and its copies by that of its own. What crosses does
// so through a Sender's queue (a leaf lock), through posts, or is atomic. The
// bytes are in a buffers.Content.
//
// Lock order: connection, then address (package forward), then the leaves:
// Delivery.mu, Sender.mu, the inbox of a connection.
package links
