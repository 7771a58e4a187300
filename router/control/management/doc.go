// Package management is the management agent: it answers requests at
// $management, in the messages of the AMQP management draft as the tools of Qpid
// Dispatch use them.
//
//	$management ─┐             ┌─ QUERY, READ, CREATE … on entities ─► Router
//	             ├─► decode ─► Desk                                      │
//	L$management ┘             └─ GET-… on the schema, GET-LOG           │
//	                                      │                             │
//	reply-to ◄─ Replies ◄─ reply ◄────────┴──────────── rows ◄───────────┘
//
// A Desk answers one request with one reply, both as bytes; it starts nothing
// and knows no links. An Agent is a client of the router through package
// service: it brings requests to the Desk, one at a time, and sends replies.
//
// What there is to manage it sees as a Router: views of live state, which it
// asks for one by one and only for the rows that are wanted, so that no lock is
// held for longer than one of them takes; and configuration, of which package
// schema knows the rules.
//
// Replies wait for the credit of those who have asked. They have a bound in
// number and bytes for each address that replies go to and for all, so that who
// does not read costs himself.
package management
