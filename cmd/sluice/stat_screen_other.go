//go:build !unix

package main

import "io"

// screen returns the size of the terminal that w is, in characters.
func screen(w io.Writer) (width, height int, is bool) {
	if onTerminal(w) {
		return 80, 24, true
	}
	return 0, 0, false
}
