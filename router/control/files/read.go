package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Sizes of the longest files that are read, in bytes.
const (
	MaxPEM      = 16 << 20 // certificates and keys: all authorities of a system have 256 KiB
	MaxPassword = 64 << 10
)

// patience is how long a file may keep its reader waiting. Regular files do not,
// but for some of /proc.
const patience = 5 * time.Second

// Read returns the content of a regular file of limit bytes at most. The error is
// an [os.PathError].
func Read(path string, limit int64) ([]byte, error) {
	if err := Regular(path); err != nil {
		return nil, err
	}
	// It may have become another file since.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, tooLong(path, limit)
	}
	f.SetReadDeadline(time.Now().Add(patience)) // of no effect where reads do not wait
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, tooLong(path, limit)
	}
	return data, nil
}

// Regular returns an error, an [os.PathError], if path does not lead to a regular
// file.
func Regular(path string) error {
	info, err := os.Stat(path)
	if path := new(os.PathError); errors.As(err, &path) {
		path.Op = "open" // which says to everybody what was wanted
	}
	if err != nil {
		return err
	}
	return regular(path, info)
}

func regular(path string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return &os.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	}
	return &os.PathError{Op: "read", Path: path, Err: errors.New("it is a " + kind(info.Mode()) + ", not a regular file")}
}

// kind says what a file is that is neither a regular one nor a directory.
func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

func tooLong(path string, limit int64) error {
	return &os.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is longer than %d bytes", limit)}
}
