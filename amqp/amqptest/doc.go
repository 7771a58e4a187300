// Package amqptest helps to test what speaks AMQP.
//
//	Pipe   a pair of net.Conns in memory, with bounded buffers
//	Peer   plays the other side of a connection, frame by frame
//
// A test with a Peer reads like a packet trace:
//
//	p.Write(amqptest.Flow(0, 0, 5))
//	p.Want("§2.6.7: credit lets the sender send", "transfer handle=0 delivery-id=0 !more")
//	p.WantIdle("one message was there")
//
// Both work inside the bubbles of testing/synctest, and a Peer works nowhere
// else: it looks at what the other side has written when everybody is waiting
// for something, so no test waits for time to pass.
package amqptest
