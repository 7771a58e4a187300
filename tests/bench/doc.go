// Command bench measures a router from outside: what a message costs it, how
// fast it is, what it needs for many connections and links.
//
// The binary is started anew for every row, on a port of its own on loopback.
// Beside it, in the same run, a bare TCP relay carries as many bytes, and the
// least that can forward frames (the floor) carries as many messages, once with
// as much credit as the router grants and once with more (the wide floor):
// ratios to these hold from machine to machine where absolute figures do not.
// With -other the rows are run against another router, too.
//
// The load is made here, in few lines over the frames of amqp/frames; a small
// message takes it about 0.6 µs. All processes that are started end with this
// one.
package main
