// Package network runs the mesh engine for a router.
//
//	trunks ──► events ──► mesh.Engine ──► routing messages ──► trunks
//	addresses ──┘              │
//	                           ├─► paths: the trunk.Picture, the ways of each links.Hop
//	                           └─► remote addresses ─► forward.Address.SetFar
//
// One goroutine, Run, owns the engine, the hops and what is known of remote
// addresses. Everybody else leaves word and goes on: trunks under the locks of
// their connections, addresses under their own. What an address says is kept by
// key, the last word only, so a burst costs no more than the addresses in it;
// routing messages that wait are bounded by the credit of the control links.
//
// Lock order: connection, address, Network.mu (a leaf). Run takes connections
// and addresses with no lock held.
package network
