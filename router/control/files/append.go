package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Append opens a log file, which is made if it is not there. Opening does not wait,
// and a write that must wait ends at the deadline of the file. It may be a device of
// characters, such as /dev/stderr, /dev/null or a terminal, and a pipe that somebody
// reads. The error is an [os.PathError].
func Append(path string) (*os.File, error) {
	if err := Appendable(path); err != nil {
		return nil, err
	}
	// A terminal does not become that of the process.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0o644)
	if errors.Is(err, syscall.ENXIO) {
		return nil, &os.PathError{Op: "open", Path: path, Err: errors.New("nobody reads it: it is a pipe or socket without a reader")}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = appendable(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Appendable returns an error, an [os.PathError], if path leads to what can be no
// log. It opens nothing, so that it cannot tell whether somebody reads a pipe.
func Appendable(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return appendable(path, info)
}

func appendable(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular(), mode&fs.ModeCharDevice != 0, mode&fs.ModeNamedPipe != 0:
		return nil
	case mode.IsDir():
		return &os.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	default:
		return &os.PathError{Op: "open", Path: path, Err: errors.New("it is a " + kind(mode) + ", and no file that lines can be appended to")}
	}
}
