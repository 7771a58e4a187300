// Package management asks routers what they have and tells them what to change:
// it sends the requests of AMQP management, as Qpid Dispatch and sluice take
// them, and returns the replies.
//
// A [Client] is two kinds of links on one connection: a sender for each address
// that requests go to, and one receiver, with an address that the router has
// made up, for all replies. A [Node] is a client and such an address: the router
// at the other end of the connection, or any other of its network. A [Query] is
// asked page by page, so that neither end ever holds all rows.
package management
