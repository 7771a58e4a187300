package transport_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"sluice/amqp"
	"sluice/amqp/amqptest"
	"sluice/amqp/driver"
	"sluice/amqp/frames"
	"sluice/amqp/transport"
	"sluice/buffers"
)

// An end is this end of a connection: a handler that refuses what the peer
// attaches, unless it is told otherwise.
type end struct {
	t      *testing.T
	d      *driver.Driver
	attach func(*transport.Session, *frames.Attach) (transport.Link, *frames.Attach, *amqp.Error)
	cause  *transport.CloseCause
	closed bool
}

func (h *end) Authenticated(*transport.Conn, string, string)         {}
func (h *end) Opened(*transport.Conn, *frames.Open) *amqp.Error      { return nil }
func (h *end) Attached(transport.Link)                               {}
func (h *end) Closed(_ *transport.Conn, cause *transport.CloseCause) { h.cause, h.closed = cause, true }

func (h *end) Attach(s *transport.Session, a *frames.Attach) (transport.Link, *frames.Attach, *amqp.Error) {
	if h.attach == nil {
		return nil, nil, amqp.Errorf(amqp.CondNotFound, "nothing is here")
	}
	return h.attach(s, a)
}

// do runs f as the layer above would, under the connection's lock, when all that
// the peer has written is handled.
func (h *end) do(f func(c *transport.Conn)) {
	synctest.Wait()
	h.d.Do(f)
	synctest.Wait()
}

// begin begins a session.
func (h *end) begin() (s *transport.Session) {
	h.t.Helper()
	h.do(func(c *transport.Conn) {
		var err error
		if s, err = c.Begin(); err != nil {
			h.t.Fatal(err)
		}
	})
	return s
}

// conversation runs f with this end and its peer after both have sent open.
func conversation(t *testing.T, cfg transport.Config, open *frames.Open, f func(h *end, p *amqptest.Peer)) {
	synctest.Test(t, func(t *testing.T) {
		chunks := buffers.Outstanding()
		cfg.ContainerID = "here"
		if cfg.MaxFrameSize == 0 {
			cfg.MaxFrameSize = 4096
		}
		if cfg.SessionBytes == 0 {
			cfg.SessionBytes = 16 * 4096
		}
		if cfg.ChannelMax == 0 {
			cfg.ChannelMax = 15
		}
		if cfg.HandleMax == 0 {
			cfg.HandleMax = 15
		}
		a, b := amqptest.NewPipe(0)
		h := &end{t: t}
		h.d = driver.New(b, nil, driver.Options{}, cfg, h)
		done := make(chan error, 1)
		go func() { done <- h.d.Run() }()
		p := amqptest.NewPeer(t, a)
		if open == nil {
			open = amqptest.Open("peer")
		}
		p.Handshake(open)
		defer func() {
			a.Close()
			<-done
			if n := buffers.Outstanding() - chunks; n != 0 && !t.Failed() {
				t.Errorf("%d chunks are left", n)
			}
		}()
		f(h, p)
	})
}

// A recorder is a link that notes what it is told.
type recorder struct {
	ep     *transport.Endpoint
	events []string
}

func (l *recorder) note(format string, args ...any) {
	l.events = append(l.events, fmt.Sprintf(format, args...))
}

func (l *recorder) Bind(e *transport.Endpoint) { l.ep = e }
func (l *recorder) Gone(closed bool)           { l.note("gone closed=%v", closed) }
func (l *recorder) FlowState(f *frames.Flow)   { f.HasLinkCredit, f.LinkCredit = true, 7 }

func (l *recorder) Flow(f *frames.Flow) error {
	l.note("flow credit=%d", f.LinkCredit)
	return nil
}

func (l *recorder) Transfer(t *frames.Transfer, payload buffers.Slice) error {
	l.note("transfer %q", payload.Bytes())
	payload.Release()
	l.ep.Session().Pulled(1)
	return nil
}

func (l *recorder) WriteTransfers(*transport.Output, int) bool {
	l.note("write")
	return false
}
func (l *recorder) Written(int64) {}

func (l *recorder) Answered(a *frames.Attach) {
	l.note("answered handle=%d", a.Handle)
}
func (l *recorder) Refused(err *amqp.Error)  { l.note("refused %v", err) }
func (l *recorder) Detached(err *amqp.Error) { l.note("detached %v", err) }

// want checks what the link has been told since the last time.
func (l *recorder) want(t *testing.T, why string, events ...string) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(l.events, events) {
		t.Errorf("%s:\nwant %q\ngot  %q", why, events, l.events)
	}
	l.events = nil
}

// attachTo attaches a link from this end, as a receiver or a sender.
func (h *end) attachTo(s *transport.Session, a *frames.Attach) *recorder {
	h.t.Helper()
	l := new(recorder)
	h.do(func(*transport.Conn) {
		if _, err := s.Attach(l, a); err != nil {
			h.t.Fatal(err)
		}
	})
	return l
}

// answerBegin answers the begin of this end on the peer's channel of that number.
func answerBegin(p *amqptest.Peer, channel, remote uint16) {
	p.Write(amqptest.On(channel, beginFor(remote)))
}

func beginFor(remote uint16) *frames.Begin {
	f := amqptest.Begin()
	f.RemoteChannel, f.HasRemoteChannel = remote, true
	return f
}
