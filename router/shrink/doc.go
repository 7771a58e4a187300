// Package shrink has maps give memory back when they have become small, which
// those of Go never do by themselves.
package shrink
