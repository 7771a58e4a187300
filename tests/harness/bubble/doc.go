// Package bubble runs a router in the bubble of a test, without sockets,
// configuration or process: admission, the address table, forwarding and a
// driver for every amqptest.Peer that is connected by a pipe. When the test
// ends it checks that nothing is left: no byte, no chunk, no address.
package bubble
