// Package listen turns sockets into connections.
//
// A Listener accepts and a Connector dials, each in one goroutine, and both
// hand what they get to a Serve function that runs the connection until its
// end. A listener with a TLS profile tells from the first bytes whether the
// peer speaks TLS. A Connector tries again for ever, with capped and jittered
// back-off, and resolves its host at every attempt.
package listen
