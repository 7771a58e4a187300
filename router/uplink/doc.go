// Package uplink holds the links of an edge router on its connection to an
// interior one, as the routers of the existing family have them.
//
//	endpoint session  sender    anonymous: everything that this router cannot place
//	                  receiver  downlink: what is inside this router, from outside
//	                  proxies   a receiver for each mobile address with consumers here,
//	                            a sender for each with producers here
//	core session      receiver  tracking: which proxy senders lead to somebody
//	                  sender    heartbeat
//	streams           a link, and a session, for each message that is not complete
//
// One of several connections is active and has links; the others are there to
// take over. Package control/edge decides which, and which proxies there should
// be; this package does it, under the lock of the connection.
//
// To the addresses here a proxy is an ordinary link. A proxy receiver grants what
// the consumers here ask for. A proxy sender is a destination while somebody is
// there beyond, at a cost of 1, so that consumers here are closer. Neither is
// told to the network, and what came down does not go up again.
//
// Two links of the existing family are left out, with those for their replies:
// lookups, which tell an edge router whether an address is a link route, of which
// sluice has none, and save each client a round trip; and requests to management,
// which tell the interior of link routes. No interior router misses them.
package uplink
