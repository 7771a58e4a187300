// Package router assembles a router from its parts; it holds no logic of the
// message path.
//
//	listen ─► admission ─► links ─► forward ─► links
//	  │           │                    ▲
//	driver    table ───────────────────┘
//
// Goroutines: one for each listener, connector and TLS profile, one for each
// HTTP listener, one that sweeps (sweep.go), on interior routers those of the mesh
// and of what they have for edge routers, on edge routers that of the uplinks, and
// for each connection its reader
// and, while its socket is full, its writer. Run waits for all of them.
//
// Management is in the files manage_*.go: what of the router it sees and changes.
// Its agent is a client of the router, with two goroutines more.
//
// Lock order: manager.mu (of management), a connection (driver.Driver), then a
// shard of the table or an address (forward.Address), then leaves:
// links.Delivery, links.Sender, treatments.mu, the inbox of a connection,
// Router.mu. No goroutine holds two connections' locks.
package router
