//go:build unix

package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// screen returns the size of the terminal that w is, in characters.
func screen(w io.Writer) (width, height int, is bool) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0, 0, false
	case size.Col == 0 || size.Row == 0: // a terminal that does not know
		return 80, 24, true
	}
	return int(size.Col), int(size.Row), true
}
