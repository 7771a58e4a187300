package listen

import (
	"bytes"
	"context"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// exhausted is a listener that cannot accept for want of files.
type exhausted struct{ net.Listener }

func (exhausted) Accept() (net.Conn, error) {
	return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
}
func (exhausted) Close() error { return nil }

// A process that has no files left says what helps, and not each second.
func TestTooManyFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := &Listener{Name: "amqp", Log: zerolog.New(&log), l: exhausted{}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+5*time.Second)
		defer cancel()
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "LimitNOFILE"); n != 3 {
			t.Errorf("%d lines in a minute:\n%s", n, log.String())
		}
	})
}
