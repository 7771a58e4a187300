// Package edges holds what an interior router has for the edge routers that are
// connected to it, as the routers of the existing family have it: the other end
// of package uplink.
//
// Most links of an edge router are like those of clients, and admission answers
// them. To the addresses here the edge router's consumers are one receiver, and
// its producers one sender. The differences are few:
//
//	downlink   a destination of the address that is everything inside the edge
//	           router; it is announced to the network
//	tracking   tells of each address that the edge router sends to whether there is
//	           a destination that is not the edge router itself
//	heartbeat  an edge router that has been silent for too long is given up
//	anonymous  credit comes back when a message has been pulled: it was paid for
//	           where it entered the network
//
// An edge router is believed as far as the address of a message, but not about
// where it has been. Two with the same id on one router are refused: the second,
// and its connection is closed. A connection that the edge router has given up,
// which is known by its instance or its silence, gives way instead. On different
// interior routers each is announced, and messages for what is inside are shared
// between them; nobody can tell that from an edge router that has just moved.
//
// Nothing here has a goroutine: news for an edge router is collected under the
// locks of addresses and sent under that of its connection.
package edges
