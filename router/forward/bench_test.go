package forward_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/admission"
	"sluice/router/forward"
	"sluice/router/table"
)

// end is a connection of a router without driver and socket: whoever measures
// moves its bytes.
type end struct {
	conn   *transport.Conn
	out    transport.Output
	owners []transport.Owner
	sent   int // bytes

	link  *links.Sender
	taken uint64 // deliveries that were accepted
}

// Kick implements transport.Owner: all ends look by themselves.
func (e *end) Kick() {}

func (e *end) write(p []byte) {
	c := buffers.GetChunk(len(p))
	n := copy(c.Bytes(), p)
	e.conn.Now++
	if at := e.conn.Consume(c, 0, n); at != n {
		panic("not all was handled")
	}
	c.Release(1)
	e.move()
}

func (e *end) move() {
	for {
		e.conn.HandleInbox()
		e.conn.Encode(&e.out)
		e.owners = e.conn.Touched(e.owners[:0])
		if e.out.Len() == 0 {
			return
		}
		e.sent += e.out.Len()
		e.out.Vector()
		e.out.Reset()
	}
}

const (
	batch = 50  // messages in one read
	body  = 100 // bytes
)

// star is one sender and several receivers of an address.
type star struct {
	tb       testing.TB
	settled  bool
	from     *end
	to       []*end
	payload  []byte
	id       uint32
	tag      [4]byte
	transfer frames.Transfer
	accept   frames.Disposition
	in, back []byte
}

func newStar(tb testing.TB, d forward.Distribution, receivers int, settled bool) *star {
	treatment := func(address.Address) forward.Treatment {
		return forward.Treatment{Distribution: d, Priority: -1, HighBytes: 1 << 20, LowBytes: 1 << 19, HighCount: 1000, LowCount: 500}
	}
	rt := &admission.Router{Identity: address.Identity{ID: "r"}, Treatment: treatment, Table: table.New(treatment)}
	limits := links.Limits{
		Capacity: 250, LinkBytes: 1 << 20, UnboundBytes: 64 << 10, OutgoingHigh: 1 << 20, OutgoingLow: 1 << 19, StripIn: true,
	}
	cfg := transport.Config{ContainerID: "r", MaxFrameSize: 16 << 10, ChannelMax: 9, HandleMax: 9, SessionBytes: 8 << 20}
	open := func(more ...any) *end {
		e := &end{}
		e.conn = transport.NewConn(cfg, admission.NewConnection(rt, limits, zerolog.Nop(), nil, nil), e)
		e.write(Wire(append([]any{Header(frames.ProtoAMQP), Open("c"), Begin()}, more...)...))
		if !e.conn.Opened() {
			tb.Fatal("not open")
		}
		return e
	}
	s := &star{tb: tb, settled: settled, payload: Message(make([]byte, body-8))}
	s.transfer = frames.Transfer{HasDeliveryID: true, DeliveryTag: s.tag[:], HasDeliveryTag: true, Settled: settled, HasSettled: true}
	s.accept = frames.Disposition{Role: amqp.RoleReceiver, HasLast: true, Settled: true, State: messaging.Accepted}
	credit := Flow(0, 0, 1<<30)
	credit.IncomingWindow = 1 << 30
	for range receivers {
		s.to = append(s.to, open(Receiving("in", 0, "q"), credit))
	}
	s.from = open(Sending("out", 0, "q"))
	rt.Table.Find(address.Parse("q", rt.Identity)).Destinations(func(l *links.Sender) {
		for _, e := range s.to {
			if e.conn == l.Conn() {
				e.link = l
			}
		}
	})
	for range 200 { // the first message teaches the link its size; pools fill
		s.carry(1)
		s.carry(batch)
	}
	return s
}

// carry brings n messages to their receivers, and their outcomes back.
func (s *star) carry(n int) {
	s.in = s.in[:0]
	for range n {
		s.transfer.DeliveryID = amqp.DeliveryNumber(s.id)
		s.in = append(frames.AppendTransferFrame(s.in, 0, &s.transfer, len(s.payload)), s.payload...)
		s.id++
	}
	s.from.write(s.in)
	for _, e := range s.to {
		e.move()
		first, next := e.taken, e.link.Counters.Deliveries
		if e.taken = next; s.settled || first == next {
			continue
		}
		s.accept.First, s.accept.Last = amqp.DeliveryNumber(first), amqp.DeliveryNumber(next-1)
		s.back = frames.AppendFrame(s.back[:0], frames.TypeAMQP, 0, &s.accept)
		e.write(s.back)
	}
	before := s.from.sent
	s.from.move()
	if !s.settled && s.from.sent == before {
		s.tb.Fatal("no outcome came back")
	}
}

// delivered is how many deliveries the receivers got.
func (s *star) delivered() (n uint64) {
	for _, e := range s.to {
		n += e.taken
	}
	return n
}

var distributions = []struct {
	of        forward.Distribution
	receivers int
}{
	{forward.Balanced, 1}, {forward.Balanced, 8}, {forward.Closest, 1}, {forward.Closest, 8}, {forward.Multicast, 1}, {forward.Multicast, 8},
}

func each(f func(name string, of forward.Distribution, receivers int, settled bool)) {
	for _, d := range distributions {
		for _, settled := range []bool{false, true} {
			f(fmt.Sprintf("distribution=%v/receivers=%d/settled=%v", d.of, d.receivers, settled), d.of, d.receivers, settled)
		}
	}
}

// BenchmarkForward is a batch of small messages from one connection to others,
// with outcomes, credit and windows: all that is done for them between two
// sockets.
func BenchmarkForward(b *testing.B) {
	each(func(name string, of forward.Distribution, receivers int, settled bool) {
		b.Run(name, func(b *testing.B) {
			s := newStar(b, of, receivers, settled)
			before := s.delivered()
			b.SetBytes(batch * body)
			b.ReportAllocs()
			for b.Loop() {
				s.carry(batch)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(s.delivered()-before), "ns/delivery")
		})
	})
}

// In the steady state no distribution allocates anything for a message.
func TestForwardDoesNotAllocate(t *testing.T) {
	if buffers.Poisoned || !pooled() {
		t.Skip("pools give back what they like")
	}
	each(func(name string, of forward.Distribution, receivers int, settled bool) {
		t.Run(name, func(t *testing.T) {
			s := newStar(t, of, receivers, settled)
			before, copies := s.delivered(), 1
			if of == forward.Multicast {
				copies = receivers
			}
			const runs = 200
			if n := testing.AllocsPerRun(runs, func() { s.carry(batch) }); n != 0 {
				t.Errorf("%v allocations for %d messages", n, batch)
			}
			if got, want := s.delivered()-before, uint64((runs+1)*batch*copies); got != want {
				t.Errorf("%d deliveries, want %d", got, want)
			}
		})
	})
}

// pooled tells whether a sync.Pool keeps what it gets: with the race detector
// it does not always.
func pooled() bool {
	var p sync.Pool
	for range 100 {
		p.Put(new(int))
		if p.Get() == nil {
			return false
		}
	}
	return true
}
