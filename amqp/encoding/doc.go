// Package encoding is part 1 of the spec: the AMQP type system on byte slices.
//
// Encoding is a set of Append functions that extend a slice and always choose the smallest encoding. Compound values
// are opened with BeginList, BeginMap or BeginArray and closed with the matching End, which picks the width of the
// header when the size is known.
//
// Decoding is a cursor, Decoder, over a slice that it never copies. Typed reads check the constructor and the bounds and
// return the Go value; Binary, String, Symbol and Raw return parts of the input, valid as long as the input is.
//
//	input   00 53 10 c0 04 01 a1 01 78
//	        └──┬───┘ └───┬──┘ └───┬──┘
//	     Descriptor    List     String   (on the Decoder that List returned)
//
// The input comes from a peer that may not have authenticated yet, so the package promises: no panic whatever the bytes;
// no work and no memory in proportion to a claimed size or count before it was checked against the bytes at hand; nesting
// bounded. Every error is an *amqp.Error with the condition decode-error that names the offset and what was expected.
//
// Nothing here uses reflection. Any and AppendAny translate to and from Go values of type any, for the control plane only.
package encoding
