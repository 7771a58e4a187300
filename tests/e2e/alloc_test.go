package e2e

import (
	"encoding/binary"
	"testing"

	"github.com/rs/zerolog"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
	"sluice/router/address"
	"sluice/router/admission"
	"sluice/router/forward"
	"sluice/router/table"
	"sluice/tests/harness/bubble"
)

// bench is a connection whose bytes a test moves itself: no driver, no socket.
type bench struct {
	conn   *transport.Conn
	out    transport.Output
	owners []transport.Owner
	sent   int
}

// Kick implements transport.Owner: whoever needs it looks by itself.
func (b *bench) Kick() {}

// write has the connection handle what a peer has written.
func (b *bench) write(p []byte) {
	c := buffers.GetChunk(len(p))
	n := copy(c.Bytes(), p)
	b.conn.Now++
	if at := b.conn.Consume(c, 0, n); at != n {
		panic("not all was handled")
	}
	c.Release(1)
	b.move()
}

// move handles what other connections brought, and writes.
func (b *bench) move() {
	for {
		b.conn.HandleInbox()
		b.conn.Encode(&b.out)
		b.owners = b.conn.Touched(b.owners[:0])
		if b.out.Len() == 0 {
			return
		}
		b.sent += b.out.Len()
		b.out.Vector()
		b.out.Reset()
	}
}

// pair returns two connections of one router: one that sends to an address and
// one that receives from it.
func pair(t testing.TB, capacity uint32) (out, in *bench) {
	limits := bubble.DefaultLimits()
	limits.Capacity = capacity
	limits.OutgoingHigh, limits.OutgoingLow = 1<<20, 1<<19
	treatment := func(address.Address) forward.Treatment {
		return forward.Treatment{Priority: -1, HighBytes: 1 << 20, LowBytes: 1 << 19, HighCount: 1000, LowCount: 500}
	}
	rt := &admission.Router{Identity: address.Identity{ID: "r"}, Treatment: treatment, Table: table.New(treatment)}
	cfg := transport.Config{ContainerID: "r", MaxFrameSize: 16 << 10, ChannelMax: 9, HandleMax: 9, SessionBytes: 8 << 20}
	make := func(attach *frames.Attach, more ...any) *bench {
		b := new(bench)
		b.conn = transport.NewConn(cfg, admission.NewConnection(rt, limits, zerolog.Nop(), nil, nil), b)
		items := append([]any{Header(frames.ProtoAMQP), Open("c"), Begin(), attach}, more...)
		b.write(Wire(items...))
		if !b.conn.Opened() {
			t.Fatal("not open")
		}
		return b
	}
	credit := Flow(0, 0, 1<<30)
	credit.IncomingWindow = 1 << 30
	in = make(Receiving("in", 0, "q"), credit)
	out = make(Sending("out", 0, "q"))
	return out, in
}

// The steady path: a message of 100 bytes from one connection to another, its
// outcome back, the credit and the windows that go with it.
func TestSteadyPathDoesNotAllocate(t *testing.T) {
	if raceEnabled || buffers.Poisoned {
		t.Skip("the race detector allocates")
	}
	for _, test := range []struct {
		name    string
		settled bool
		size    int
	}{{"unsettled 100 bytes", false, 100}, {"settled 100 bytes", true, 100}, {"unsettled 10 KB", false, 10_000}} {
		t.Run(test.name, func(t *testing.T) {
			out, in := pair(t, 250)
			payload := Message(make([]byte, test.size-8))
			var transfer, accept []byte
			id := uint32(0)
			d := &frames.Disposition{Role: amqp.RoleReceiver, Settled: true, State: messaging.Accepted}
			step := func() {
				f := frames.Transfer{DeliveryID: amqp.DeliveryNumber(id), HasDeliveryID: true, HasDeliveryTag: true, Settled: test.settled, HasSettled: true}
				var tag [4]byte
				binary.BigEndian.PutUint32(tag[:], id)
				f.DeliveryTag = tag[:]
				transfer = frames.AppendTransferFrame(transfer[:0], 0, &f, len(payload))
				transfer = append(transfer, payload...)
				out.write(transfer)
				before := in.sent
				in.move()
				if in.sent-before < len(payload) {
					t.Fatal("the message was not forwarded")
				}
				out.move()
				if !test.settled {
					d.First = amqp.DeliveryNumber(id)
					accept = frames.AppendFrame(accept[:0], frames.TypeAMQP, 0, d)
					in.write(accept)
					before := out.sent
					out.move()
					if out.sent == before {
						t.Fatal("the outcome was not passed on")
					}
				}
				id++
			}
			for range 2000 {
				step()
			}
			if n := testing.AllocsPerRun(5000, step); n != 0 {
				t.Errorf("%v allocations for a message", n)
			}
		})
	}
}

// BenchmarkMessage is the least that the state machines take for a message.
func BenchmarkMessage(b *testing.B) {
	out, in := pair(b, 250)
	payload := Message(make([]byte, 92))
	id := uint32(0)
	var transfer, accept []byte
	d := &frames.Disposition{Role: amqp.RoleReceiver, Settled: true, State: messaging.Accepted}
	b.ReportAllocs()
	for b.Loop() {
		f := frames.Transfer{DeliveryID: amqp.DeliveryNumber(id), HasDeliveryID: true, HasDeliveryTag: true, HasSettled: true}
		transfer = append(frames.AppendTransferFrame(transfer[:0], 0, &f, len(payload)), payload...)
		out.write(transfer)
		in.move()
		d.First = amqp.DeliveryNumber(id)
		accept = frames.AppendFrame(accept[:0], frames.TypeAMQP, 0, d)
		in.write(accept)
		out.move()
		id++
	}
}
