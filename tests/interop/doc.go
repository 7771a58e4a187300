// Package interop talks to the real binary with clients that others have
// written: go-amqp, Qpid Proton for Python, rhea. All three play the same
// scenarios; what concerns the wire alone is tested with go-amqp or a raw client.
//
// The script "install" gets what is missing. Tests of a client that is not there
// are skipped, except that with CI set they fail.
package interop
