// Package manage runs routers as processes and manages them as operators and
// controllers do, with a client that is not ours: what is created works, what is
// closed is closed, and what is shown agrees with what was done.
//
// Lines that begin with FIGURE are measurements.
package manage
