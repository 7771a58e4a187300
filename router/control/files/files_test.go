//go:build unix

package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What has no end, or nobody who writes to it, is not read.
func TestRead(t *testing.T) {
	path := file(t, "12345")
	// As Kubernetes mounts secrets: two links, one of them to a directory.
	dir := t.TempDir()
	for link, to := range map[string]string{"..data": filepath.Dir(path), "tls.key": "..data/file"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []struct{ path, wrong string }{
		{path, ""},
		{filepath.Join(dir, "tls.key"), ""},
		{file(t, "123456"), "it is longer than 5 bytes"},
		{"/dev/zero", "it is a device, not a regular file"},
		{"/dev/null", "it is a device, not a regular file"},
		{pipe(t), "it is a pipe, not a regular file"},
		{dir, "is a directory"},
		{filepath.Join(dir, "none"), "no such file"},
	} {
		data, err := Read(e.path, 5)
		if e.wrong == "" {
			if err != nil || string(data) != "12345" {
				t.Errorf("%s: %q, %v", e.path, data, err)
			}
			continue
		}
		if path := new(os.PathError); data != nil || !errors.As(err, &path) || !strings.Contains(path.Err.Error(), e.wrong) {
			t.Errorf("%s: %q, %v; want %q", e.path, data, err, e.wrong)
		}
	}
	// The size of some files is known only to who reads them.
	if _, err := Read("/proc/self/status", 5); err != nil && !os.IsNotExist(err) && !strings.Contains(err.Error(), "longer than") {
		t.Error(err)
	}
}

// A log may be what takes lines and does not keep the router waiting.
func TestAppend(t *testing.T) {
	old, made := file(t, "old\n"), filepath.Join(t.TempDir(), "made")
	for _, path := range []string{old, made, "/dev/null"} {
		f, err := Append(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := f.WriteString("new\n"); err != nil {
			t.Error(err)
		}
		f.Close()
	}
	for path, want := range map[string]string{old: "old\nnew\n", made: "new\n"} {
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("%s has %q", path, got)
		}
	}
	for path, wrong := range map[string]string{
		pipe(t):                         "nobody reads it",
		t.TempDir():                     "is a directory",
		filepath.Join(old, "in a file"): "not a directory",
	} {
		if f, err := Append(path); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, %v", path, f, err)
		}
	}
}

// Who writes to a pipe that is full waits no longer than he wants.
func TestAppendToAPipe(t *testing.T) {
	path := pipe(t)
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	f, err := Append(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Write(make([]byte, 8<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes written, %v", n, err)
	}
}
