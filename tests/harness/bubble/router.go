package bubble

import (
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/amqp/amqptest"
	"sluice/amqp/driver"
	"sluice/amqp/frames"
	"sluice/amqp/transport"
	"sluice/buffers"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/admission"
	"sluice/router/control/network"
	"sluice/router/edges"
	"sluice/router/forward"
	"sluice/router/table"
)

// Options are what a Router is made from. The zero value is usable.
type Options struct {
	// Limits replace the default limits of links where they are not zero.
	Limits links.Limits
	// Transport is the configuration of connections.
	Transport transport.Config
	// Driver are the options of drivers.
	Driver driver.Options
	// Treatment changes how an address is treated, by name.
	Treatment func(name string, t *forward.Treatment)
	// PipeBytes is the size of the buffers of connections.
	PipeBytes int
	// Opened refuses connections if it returns an error.
	Opened func(*frames.Open) *amqp.Error
}

// A Router is a router in a test's bubble.
type Router struct {
	T       testing.TB
	Table   *table.Table
	Network *network.Network // of a Mesh

	o         Options
	mu        sync.Mutex // guards what handlers add to
	shared    *admission.Router
	limits    links.Limits
	peers     []*amqptest.Peer
	drivers   []*driver.Driver
	running   int
	done      chan error
	edges     *edges.Edges
	nextEdge  uint64
	receivers []*links.Receiver
	senders   []*links.Sender
	base      int64 // chunks held before; negative if others are there, who look after them

	// Causes tell why connections have ended, in the order of their ends.
	Causes []*transport.CloseCause
	// Errs are what drivers returned, likewise.
	Errs []error
	// User and Mechanism are what the last peer has authenticated as.
	User, Mechanism string
}

// DefaultLimits are those of tests: small enough that marks are reached soon.
func DefaultLimits() links.Limits {
	return links.Limits{
		Capacity:     250,
		LinkBytes:    1 << 20,
		UnboundBytes: 64 << 10,
		OutgoingHigh: 64 << 10,
		OutgoingLow:  32 << 10,
		StripIn:      true,
	}
}

// New returns a router. It is checked when the test ends.
func New(t testing.TB, o Options) *Router {
	r := newRouter(t, o)
	t.Cleanup(r.finish)
	return r
}

func newRouter(t testing.TB, o Options) *Router {
	r := &Router{T: t, o: o, limits: DefaultLimits(), done: make(chan error, 64), base: buffers.Outstanding()}
	merge(&r.limits, o.Limits)
	if r.o.Transport.ContainerID == "" {
		r.o.Transport.ContainerID = "router"
	}
	if r.o.Transport.MaxFrameSize == 0 {
		r.o.Transport.MaxFrameSize = 16 << 10
	}
	if r.o.Transport.SessionBytes == 0 {
		r.o.Transport.SessionBytes = 8 << 20
	}
	if r.o.Transport.ChannelMax == 0 {
		r.o.Transport.ChannelMax = 63
	}
	if r.o.Transport.HandleMax == 0 {
		r.o.Transport.HandleMax = 1023
	}
	treatment := func(a address.Address) forward.Treatment {
		f := forward.Treatment{Distribution: forward.Balanced, Priority: -1, HighBytes: 1 << 20, LowBytes: 1 << 19, HighCount: 10000, LowCount: 5000}
		if o.Treatment != nil {
			o.Treatment(a.Text, &f)
		}
		return f
	}
	r.shared = &admission.Router{Identity: address.Identity{ID: "router"}, Treatment: treatment}
	r.Table = table.New(treatment)
	r.shared.Table = r.Table
	return r
}

func merge(to *links.Limits, from links.Limits) {
	if from.Capacity != 0 {
		to.Capacity = from.Capacity
	}
	if from.LinkBytes != 0 {
		to.LinkBytes = from.LinkBytes
	}
	if from.UnboundBytes != 0 {
		to.UnboundBytes = from.UnboundBytes
	}
	if from.OutgoingHigh != 0 {
		to.OutgoingHigh, to.OutgoingLow = from.OutgoingHigh, from.OutgoingLow
	}
	to.MaxMessageSize = from.MaxMessageSize
	to.SettleLate, to.Transit = from.SettleLate, from.Transit
}

// handler records what admission has made.
type handler struct {
	*admission.Connection
	r *Router
}

func (h handler) Authenticated(c *transport.Conn, user, mechanism string) {
	h.r.mu.Lock()
	h.r.User, h.r.Mechanism = user, mechanism
	h.r.mu.Unlock()
	h.Connection.Authenticated(c, user, mechanism)
}

func (h handler) Opened(c *transport.Conn, open *frames.Open) *amqp.Error {
	if h.r.o.Opened != nil {
		if err := h.r.o.Opened(open); err != nil {
			return err
		}
	}
	return h.Connection.Opened(c, open)
}

func (h handler) Attached(l transport.Link) {
	h.r.mu.Lock()
	switch l := l.(type) {
	case *links.Receiver:
		if l.Info().Class != links.Endpoint {
			break
		}
		h.r.receivers = append(h.r.receivers, l)
	case *links.Sender:
		if l.Info().Class != links.Endpoint {
			break
		}
		h.r.senders = append(h.r.senders, l)
	}
	h.r.mu.Unlock()
	h.Connection.Attached(l)
}

// Dial returns a peer whose connection has just been accepted.
func (r *Router) Dial() *amqptest.Peer {
	p, _ := r.DialDriver(r.o.Transport)
	return p
}

// DialDriver is Dial with a configuration of its own; it returns the driver too.
func (r *Router) DialDriver(cfg transport.Config) (*amqptest.Peer, *driver.Driver) {
	a, b := amqptest.NewPipe(r.o.PipeBytes)
	h := handler{r: r}
	h.Connection = admission.NewConnection(r.shared, r.limits, zerolog.New(io.Discard), nil, func(c *transport.CloseCause) {
		r.mu.Lock()
		r.Causes = append(r.Causes, c)
		r.mu.Unlock()
	})
	d := driver.New(b, nil, r.o.Driver, cfg, h)
	p := amqptest.NewPeer(r.T, a)
	r.peers = append(r.peers, p)
	r.drivers = append(r.drivers, d)
	r.running++
	go func() { r.done <- d.Run() }()
	synctest.Wait()
	return p, d
}

// Connect returns a peer with one session.
func (r *Router) Connect(container string) *amqptest.Peer {
	r.T.Helper()
	return r.Dial().Connect(container)
}

// Sender returns a peer with a link on handle 0 that sends to an address, which
// has a destination.
func (r *Router) Sender(container, address string) *amqptest.Peer {
	r.T.Helper()
	p := r.Connect(container)
	p.Attach(amqptest.Sending(container, 0, address))
	p.Want("a destination is there: credit of one until a message shows its size", "flow handle=0 link-credit=1")
	return p
}

// Receiver returns a peer with a link on handle 0 that receives from an
// address, with this credit.
func (r *Router) Receiver(container, address string, credit uint32) *amqptest.Peer {
	r.T.Helper()
	p := r.Connect(container)
	p.Attach(amqptest.Receiving(container, 0, address))
	if credit > 0 {
		p.Write(amqptest.Flow(0, 0, credit))
	}
	p.WantIdle("nothing is to be received yet")
	return p
}

// Incomings is the number of links on which peers send or have sent.
func (r *Router) Incomings() int {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.receivers)
}

// Incoming is the router's end of the i-th link on which a peer sends.
func (r *Router) Incoming(i int) *links.Receiver { return r.receivers[i] }

// Credit is what the i-th link on which a peer sends may send now.
func (r *Router) Credit(i int) (n uint32) {
	synctest.Wait()
	r.receivers[i].Conn().Owner().(*driver.Driver).Do(func(*transport.Conn) { n = r.receivers[i].Credit() })
	return n
}

// Outgoing is the router's end of the i-th link on which a peer receives.
func (r *Router) Outgoing(i int) *links.Sender { return r.senders[i] }

// Address is an address that some link uses.
func (r *Router) Address(name string) *forward.Address {
	a := r.Table.Find(address.Parse(name, r.shared.Identity))
	if a == nil {
		r.T.Fatalf("there is no address %q", name)
	}
	return a
}

// Sweep does what a router does once a second.
func (r *Router) Sweep() {
	synctest.Wait()
	r.Table.All(func(a *forward.Address) { a.Sweep(time.Now().UnixNano(), func(*links.Sender, int) {}) })
	synctest.Wait()
}

// Collect takes note of connections that have ended and returns how many run.
func (r *Router) Collect() int {
	synctest.Wait()
	for len(r.done) > 0 {
		r.Errs = append(r.Errs, <-r.done)
		r.running--
	}
	return r.running
}

// Idle checks that no message is under way: every count is back at zero.
func (r *Router) Idle() {
	r.T.Helper()
	synctest.Wait()
	for i, l := range r.receivers {
		if l.Unsettled() != 0 || l.Undelivered() != 0 || l.Waiting() != 0 {
			r.T.Errorf("incoming link %d is not idle: %d unsettled, %d bytes undelivered, %d bytes waiting in stage one",
				i, l.Unsettled(), l.Undelivered(), l.Waiting())
		}
	}
	for i, l := range r.senders {
		if l.Outgoing() != 0 {
			r.T.Errorf("outgoing link %d is not idle: %d bytes", i, l.Outgoing())
		}
		if l.Load() != 0 && l.Endpoint().Attached() {
			r.T.Errorf("outgoing link %d is not idle: %d deliveries without an outcome", i, int32(l.Load()))
		}
	}
	r.Table.All(func(a *forward.Address) {
		if v := a.View(); v.Waiting != 0 || v.WaitingBytes != 0 || v.Retained != 0 {
			r.T.Errorf("address %s is not idle: %+v", v.Key, v)
		}
	})
}

// finish ends all connections and checks that nothing is left of them.
func (r *Router) finish() {
	for _, p := range r.peers {
		p.End.Close()
	}
	if n := r.Collect(); n != 0 {
		// Something may wait for a time-out.
		time.Sleep(time.Minute)
		if n := r.Collect(); n != 0 {
			r.T.Errorf("%d connections are still there", n)
			for _, d := range r.drivers {
				d.Abort()
			}
			r.Collect()
		}
	}
	if r.T.Failed() {
		return
	}
	if r.Network != nil {
		r.Network.Leave()
	}
	r.Idle()
	if n := r.Table.Len(); n != 0 {
		r.T.Errorf("%d addresses are left", n)
	}
	if n := buffers.Outstanding(); n != r.base && r.base >= 0 {
		r.T.Errorf("%d chunks are left, %d were there before", n, r.base)
	}
}
