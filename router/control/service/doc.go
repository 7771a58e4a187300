// Package service is an AMQP client inside the router's own process, for the
// services of the control plane: management, lookups, tracking. They are
// ordinary clients of the router, without a socket:
//
//	service ─ Client ─ driver ═ net.Pipe ═ driver ─ router
//
// So they are found by address, get credit, and lose messages or not by the same
// rules as everybody, and the message path knows nothing of them.
//
// A net.Pipe is all the connection that this needs: it has deadlines, it holds
// no bytes, so that nothing has to be bounded, and a reader is always there on
// either end, since no driver ever waits for its own writes before it reads
// unless its peer leaves answers unread.
//
// A Client owns two goroutines, that which serves the router's end and the
// reader of its own; Close ends both. It does not reconnect: Done tells of its
// end, as that of each link does.
package service
