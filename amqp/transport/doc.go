// Package transport is part 2 of the spec: the state machines of connections,
// sessions and link endpoints, with their windows and tables of deliveries.
//
//	bytes ─► Conn.Consume ─► Session ─► Link (Receiver, Sender of package links)
//	bytes ◄─ Conn.Encode  ◄─ Session ◄─ Link.WriteTransfers
//
// It owns no goroutine, clock or socket: bytes go in and come out, time is an
// argument, and a driver calls it under the lock of the connection. None of its
// types is safe for concurrent use, except for what says otherwise: Conn.Post,
// through which other connections bring their news, and Conn.Blocked.
//
// From above it wants a Handler, which answers open and attach, the Links that
// this returns, and for each delivery that is not settled an Unsettled. What
// this end begins itself it begins with Conn.Begin and Session.Attach.
//
// What a peer does wrong becomes a ConnError, a SessionError or a LinkError; the
// type says what ends, and one place for each answers it on the wire.
package transport
