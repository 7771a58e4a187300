// Package sasl is part 5 of the spec, without the I/O: Server and Client are state machines that take the frames of one
// exchange and return the frames to send. Each mechanism has a file of its own and knows nothing of AMQP.
//
//	server                                  client
//	SASLMechanisms  ───────────────────►    HandleMechanisms
//	HandleInit      ◄───────────────────    SASLInit
//	                ── SASLChallenge ──►    HandleChallenge      none or several
//	HandleResponse  ◄── SASLResponse ───
//	                ── SASLOutcome ────►    HandleOutcome
//
// Who may log in is decided by functions that the caller provides, in particular PlainVerifier. A mechanism with several
// steps (SCRAM, or XOAUTH2 with its error challenge) is another ServerMechanism.
package sasl
