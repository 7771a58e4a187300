// Package frames is the frame layer of part 2 of the spec, with the SASL frames of part 5: the frame header, the protocol
// headers, and one file per performative.
//
//	┌ size ×4 ┬ doff ┬ type ┬ channel ×2 ┬ extended header ┬ performative ┬ payload ┐
//	└─────────┴──────┴──────┴────────────┴─────────────────┴──────────────┴─────────┘
//	 └──────────── Header ──────────────┘                   └──────── body ────────┘
//
// Every performative has Append, which appends the performative alone, and Decode, which takes the body of a frame and
// resets the struct first, so that one struct serves a connection for life. Transfer, Disposition and Flow borrow from the
// body and do not allocate; the others copy what they keep. Decode is strict: a missing mandatory field, a field too many, a
// wrong type and bytes after the last field are decode-errors that name the performative and the field.
package frames
