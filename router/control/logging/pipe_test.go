//go:build unix

package logging

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe is a log as long as somebody reads it. One that is full keeps nobody
// waiting: what it does not take is lost, also when the log goes elsewhere.
func TestAPipeThatNobodyEmpties(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	stderr := new(output)
	l := New(Options{Stderr: stderr})
	stderr.logs = l
	to := []Setting{{Module: Server, Output: path}}
	if err := l.Apply(to); err == nil || !strings.Contains(err.Error(), "nobody reads it") {
		t.Errorf("nobody reads the pipe: %v", err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := l.Apply(to); err != nil {
		t.Fatal(err)
	}
	log := l.Logger(Server)
	log.Info().Msg("first")
	if line, err := bufio.NewReader(reader).ReadString('\n'); !strings.HasSuffix(line, "SERVER (info) first\n") {
		t.Errorf("the reader gets %q, %v", line, err)
	}
	for l.Lost() == 0 {
		log.Info().Str("pad", strings.Repeat("x", 1000)).Msg("next")
	}
	l.mu.Lock()
	sk := l.sinks[path]
	l.mu.Unlock()
	if err := l.Apply(nil); err != nil {
		t.Fatal(err)
	}
	sk.flush(context.Background()) // returns when the file is closed
	sk.mu.Lock()
	defer sk.mu.Unlock()
	if sk.file != nil || len(sk.queue) != 0 {
		t.Errorf("the pipe is open, with %d bytes that wait", len(sk.queue))
	}
	if got := stderr.String(); !strings.Contains(got, "ROUTER (warning) log lines are lost: ") {
		t.Errorf("stderr: %q", got)
	}
}
