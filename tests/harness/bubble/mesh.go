package bubble

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/amqp/amqptest"
	"sluice/amqp/driver"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/admission"
	"sluice/router/control/mesh"
	"sluice/router/control/network"
	"sluice/router/forward"
	"sluice/router/trunk"
)

// A Mesh is several interior routers in a test's bubble.
type Mesh struct {
	T       testing.TB
	routers map[string]*Router
	order   []string
	stop    context.CancelFunc
	running sync.WaitGroup
	cables  []*Cable
	nextID  uint64
}

// A Cable is a connection between two routers.
type Cable struct {
	a, b  *amqptest.End
	ends  [2]*driver.Driver
	done  chan struct{}
	conns [2]*transport.Conn
	ids   [2]string
}

// NewMesh returns routers with these ids, not connected.
func NewMesh(t testing.TB, o Options, ids ...string) *Mesh {
	m := &Mesh{T: t, routers: make(map[string]*Router)}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	for _, id := range ids {
		r := New(t, o)
		r.shared.Identity = address.Identity{ID: id}
		r.shared.Meshed = true
		r.limits.Router = "0/" + id
		n, err := network.New(network.Config{
			Engine: mesh.Config{ID: id, Instance: time.Now().UnixMilli()},
			Table:  r.Table,
			Treatment: func(a address.Address) (forward.Treatment, bool) {
				return r.shared.Treatment(a), o.Treatment != nil
			},
			Marks: links.Limits{OutgoingHigh: r.limits.OutgoingHigh, OutgoingLow: r.limits.OutgoingLow},
			Close: func(tr *trunk.Trunk, err *amqp.Error) { tr.Conn.Owner().(*driver.Driver).Close(err) },
			Log:   zerolog.New(io.Discard),
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Network = n
		m.routers[id] = r
		m.order = append(m.order, id)
		m.running.Go(func() { n.Run(ctx) })
	}
	t.Cleanup(m.finish)
	return m
}

// Line connects the routers one after the other.
func (m *Mesh) Line() *Mesh {
	for i := 1; i < len(m.order); i++ {
		m.Join(m.order[i-1], m.order[i], 1)
	}
	m.Settle()
	return m
}

// Join connects two routers; the second one makes the connection.
func (m *Mesh) Join(listens, connects string, cost int) *Cable {
	a, b := amqptest.NewPipe(1 << 20)
	c := &Cable{a: a, b: b, done: make(chan struct{}), ids: [2]string{listens, connects}}
	var running sync.WaitGroup
	for i, id := range []string{listens, connects} {
		r := m.routers[id]
		m.nextID++
		tr := &trunk.Trunk{
			ID: m.nextID, Cost: cost, Network: r.Network, Picture: r.Network.Picture(), Limits: r.limits, Connects: i == 1,
		}
		h := handler{r: r}
		h.Connection = admission.NewConnection(r.shared, r.limits, zerolog.New(io.Discard), nil, nil)
		h.Connection.Trunk = tr
		cfg := r.o.Transport
		cfg.ContainerID, cfg.Client = id, i == 1
		cfg.OfferedCapabilities = []amqp.Symbol{trunk.CapStreaming, trunk.CapSure}
		cfg.ChannelMax = 1000
		end := []*amqptest.End{a, b}[i]
		d := driver.New(end, nil, r.o.Driver, cfg, h)
		c.ends[i], c.conns[i] = d, d.Conn()
		running.Go(func() { d.Run() })
	}
	go func() {
		running.Wait()
		close(c.done)
	}()
	m.cables = append(m.cables, c)
	synctest.Wait()
	return c
}

// Cut breaks the connection without a word.
func (c *Cable) Cut() {
	c.a.Close()
	c.b.Close()
	<-c.done
	synctest.Wait()
}

// Sweep does what each router does once a second.
func (m *Mesh) Sweep() {
	for _, id := range m.order {
		m.routers[id].Sweep()
	}
}

// Freeze stops what a router says to others for good: what they send it is
// taken, as far as the buffers go, and not answered.
func (m *Mesh) Freeze(id string) {
	synctest.Wait()
	for _, c := range m.cables {
		for i, end := range []*amqptest.End{c.a, c.b} {
			if c.ids[i] == id {
				end.Mute()
			}
		}
	}
}

// Router is the one with this id.
func (m *Mesh) Router(id string) *Router { return m.routers[id] }

// Settle lets the routers agree.
func (m *Mesh) Settle() {
	synctest.Wait()
	time.Sleep(2500 * time.Millisecond)
	synctest.Wait()
}

// Soon lets news of addresses get everywhere: 200 ms, which is what is promised.
func (m *Mesh) Soon() {
	synctest.Wait()
	time.Sleep(200 * time.Millisecond)
	synctest.Wait()
}

// Idle checks that no message is under way in any router.
func (m *Mesh) Idle() {
	m.T.Helper()
	for _, id := range m.order {
		r := m.routers[id]
		r.Idle()
		r.Table.All(func(a *forward.Address) {
			for _, v := range a.Far() {
				if v.Pending != 0 || v.Outstanding != 0 {
					m.T.Errorf("router %s, address %s, by %s: %d messages and %d bytes without an outcome", id, a.Key, v.Hop, v.Pending, v.Outstanding)
				}
			}
		})
	}
}

// finish ends clients, trunks and networks, in this order.
func (m *Mesh) finish() {
	for _, id := range m.order {
		for _, p := range m.routers[id].peers {
			p.End.Close()
		}
	}
	synctest.Wait()
	for _, c := range m.cables {
		c.Cut()
	}
	m.stop()
	m.running.Wait()
}
