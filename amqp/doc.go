// Package amqp is the vocabulary of AMQP 1.0 that every layer of sluice shares: error conditions and the error type that
// goes on the wire, roles and settle modes, and the numbers that the transport counts with. It holds no logic beyond
// serial-number arithmetic (§2.8.8 to §2.8.10), imports nothing of sluice, and owns the only spelling of each condition.
//
// The wire formats live below it in the import order and beside it in the tree, laid out like the parts of the spec:
//
//	amqp            this package
//	amqp/encoding   part 1: types
//	amqp/messaging  part 3: termini, delivery states, sections
//	amqp/frames     part 2: frames and performatives (and the frames of part 5)
//	amqp/sasl       part 5: the exchanges
package amqp
