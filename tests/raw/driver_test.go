package raw_test

import (
	"net"
	"sync/atomic"
	"testing"

	"sluice/amqp"
	"sluice/amqp/driver"
	"sluice/amqp/frames"
	"sluice/amqp/transport"
	"sluice/buffers"
	"sluice/tests/raw"
)

// An endless link has another message to send whenever one has left.
type endless struct {
	ep       *transport.Endpoint
	transfer frames.Transfer
	sent     atomic.Int64
	begun    chan struct{} // closed when some have been sent
	gone     bool
}

func (l *endless) Bind(e *transport.Endpoint) { l.ep = e }
func (l *endless) Flow(*frames.Flow) error    { l.Written(0); return nil }
func (l *endless) FlowState(*frames.Flow)     {}
func (l *endless) Gone(bool)                  { l.gone = true }
func (l *endless) Written(int64)              { l.ep.Session().Ready(l.ep) }

func (l *endless) WriteTransfers(o *transport.Output, _ int) (again bool) {
	s := l.ep.Session()
	if l.gone || s.RemoteWindow() == 0 {
		return false
	}
	c := buffers.GetChunk(1)
	l.transfer = frames.Transfer{Handle: uint32(l.ep.Handle()), DeliveryID: s.NextDelivery(nil), HasDeliveryID: true, DeliveryTag: []byte{1}, Settled: true, HasSettled: true}
	s.Send(o, l.ep, &l.transfer, nil, c.Slice(0, 1))
	c.Release(1)
	o.Charge(l, 1)
	if l.sent.Add(1) == 1000 {
		close(l.begun)
	}
	return false
}

// A handler gives whoever attaches its link.
type handler struct{ link *endless }

func (h handler) Authenticated(*transport.Conn, string, string)         {}
func (h handler) Opened(*transport.Conn, *frames.Open) *amqp.Error      { return nil }
func (h handler) Attached(transport.Link)                               {}
func (h handler) Closed(_ *transport.Conn, cause *transport.CloseCause) {}
func (h handler) Attach(_ *transport.Session, a *frames.Attach) (transport.Link, *frames.Attach, *amqp.Error) {
	return h.link, &frames.Attach{Source: a.Source, Target: a.Target, HasInitialDeliveryCount: true}, nil
}

// A connection that always has something to write, to a socket that takes it, is
// read all the same.
func TestWritingDoesNotKeepFromReading(t *testing.T) {
	chunks := buffers.Outstanding()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	link := &endless{begun: make(chan struct{})}
	done := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = driver.New(c, nil, driver.Options{}, transport.Config{ContainerID: "here", MaxFrameSize: 4096, SessionBytes: 1 << 20, ChannelMax: 1, HandleMax: 1}, handler{link}).Run()
		}
		done <- err
	}()
	const window = 1 << 21
	c, err := raw.Dial(l.Addr().String(), raw.Options{Window: window})
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.MustSession().Receiver("a", raw.ReceiverOptions{Credit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	<-link.begun
	if err := in.Detach(); err != nil {
		t.Error(err)
	}
	if n := link.sent.Load(); n == window {
		t.Error("nothing was read while there was something to write")
	}
	c.Abort()
	l.Close()
	<-done
	if n := buffers.Outstanding() - chunks; n != 0 {
		t.Errorf("%d chunks are left", n)
	}
}
