// Package messaging is part 3 of the spec: termini (source, target, and the coordinator of part 4), delivery states, and
// the sections of a message.
//
// For the data path it offers two things that neither copy nor allocate: a DeliveryState, which carries an outcome through
// the router as its kind and its bytes, and Scan, which finds the envelope of a message in the first bytes of it.
//
//	┌ header ┬ delivery-annotations ┬ message-annotations ┬ properties ┬ application-properties ┬ body … ┬ footer ┐
//	└────────┴──────────────────────┴─────────────────────┴────────────┴────────────────────────┴────────┴────────┘
//	 └─────────────── what a router may look at ─────────────────────┘
//	          └ may rewrite ────────┘                     └───────────── the bare message: never touched ─┘
//
// For the control plane it offers Message, which is decoded and encoded whole.
package messaging
