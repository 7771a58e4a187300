// Package raw is a small and fast AMQP client for tests, built on the frames of
// package amqp/frames. It does what a polite library would not: stop reading,
// send without credit, use tiny frames, never settle.
//
// A Conn has one goroutine that reads and one that writes. Control frames are
// never held back by data, so a Conn cannot lock up with its peer.
package raw
