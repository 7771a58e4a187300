// Package arch checks the shape of the module: which package imports which,
// that each says what it is, and where goroutines are started.
package arch
