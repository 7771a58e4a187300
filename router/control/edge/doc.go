// Package edge is the control plane of an edge router: which of its connections
// to interior routers is used, and which addresses have proxies on it.
//
//	table ── who sends, who receives ──►┐
//	uplinks ── up, down, tracked ──────►│ Agent ─► Engine ─► actions ─► uplinks
//	clock ─────────────────────────────►┘
//
// The Engine decides. It owns no goroutine, clock or socket: Step takes news,
// Tick the time, and Ready returns what is to be done. The Agent brings the news
// to it and does what it says.
//
// The first uplink that opens is active, and when it is lost the one that has
// been open for longest takes over. Nothing is remembered of the one before: all
// proxies are made again. What waits at an address meanwhile is kept, until the
// new uplink has told whether the address has a destination beyond, for bridgeTime
// at most.
//
// What an interior router offers edge routers besides links, answers to lookups,
// is here too (Services).
package edge
