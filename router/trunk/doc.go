// Package trunk holds the links between this router and another one on one
// connection of role inter-router, as the routers of the existing family have
// them.
//
//	control   one link each way; routing messages, for the control plane
//	data      ten links each way, one for each priority; whole messages
//	streams   a link, and a session, for each message that is not complete
//
// The end that connects attaches the first two kinds, each pair in a session of
// its own; streams are attached by whoever sends. Links are known by the
// capability of their termini, data links by the order in which they come.
//
// What arrives is forwarded like the messages of any anonymous terminus, under
// the rules for messages in transit: they go only where the shortest paths from
// the router at which they entered the network lead, and their link's credit
// comes back when they have been pulled, whatever becomes of them.
package trunk
