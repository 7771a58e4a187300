// Package driver moves the bytes of one connection between a socket and the
// state in package transport.
//
// A Driver has one goroutine, which reads, and a second one only while the
// socket does not take what is to be written. Its lock guards everything of the
// connection: transport.Conn, sessions and link endpoints. All frames of one
// read are handled under one hold of it.
//
//	reader ─► lock ─► Consume frames ─► inbox ─► Encode ─► unlock ─► writev
//	                       │                                           │ full?
//	                       ▼ touched connections                       ▼
//	               kick each: TryLock ─► inbox ─► Encode ─► writev   writer
//
// Whoever has caused work on another connection does that work, after its own
// lock is released: it kicks the other Driver. A Driver whose lock is held by
// somebody else is not waited for: the holder looks for more work before and
// after it unlocks. No goroutine ever holds two Drivers' locks, none blocks on a
// peer's socket while it serves others, and at low rates a message crosses the
// router on one goroutine without a hand-over.
package driver
