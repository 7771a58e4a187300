package e2e

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/encoding"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/sasl"
	"sluice/amqp/transport"
	"sluice/tests/harness/bubble"
)

// conversations are what well-behaved peers say, as seeds; what begins with 0
// comes before the handshake, what begins with 1 behind it.
func conversations() [][]byte {
	early := func(items ...any) []byte { return append([]byte{0}, Wire(items...)...) }
	late := func(items ...any) []byte { return append([]byte{1}, Wire(items...)...) }
	annotated, _ := (&messaging.Message{
		Header:             &messaging.Header{TTL: 1000, HasTTL: true, Priority: 3, HasPriority: true},
		MessageAnnotations: encoding.Map{{Key: amqp.Symbol("x-opt-qd.to"), Value: "x"}, {Key: amqp.Symbol("a"), Value: int32(1)}},
		Properties:         &messaging.Properties{To: "q"},
		Body:               "text",
	}).Append(nil)
	big := Message(make([]byte, 3000))
	return [][]byte{
		early(),
		early([]byte("GET / HTTP/1.1\r\n\r\n")),
		early(Header(frames.ProtoAMQP), Open("c"), Begin(), Sending("s", 0, "q"), With(Transfer(0, 0), Text("x")), Detach(0, true), &frames.End{}, &frames.Close{}),
		early(Header(frames.ProtoSASL), SASL(&frames.SASLInit{Mechanism: "PLAIN", InitialResponse: []byte("\x00u\x00p")}), Header(frames.ProtoAMQP), Open("c")),
		early(Header(frames.ProtoSASL), SASL(&frames.SASLInit{Mechanism: "PLAIN"}), SASL(&frames.SASLResponse{Response: []byte("\x00u\x00p")})),
		late(Sending("s", 0, "q"), With(Transfer(0, 0), annotated), With(Settled(0, 1), Text("x")), Echo(SessionFlow())),
		late(Sending("s", 0, "q"), With(More(Transfer(0, 0)), big[:1000]), With(More(Next(0)), big[1000:2000]), With(Next(0), big[2000:])),
		late(Sending("s", 0, "q"), With(More(Transfer(0, 0)), big[:1000]), Abort(0), With(Transfer(0, 1), Text("x"))),
		late(Sending("s", 0, ""), With(Transfer(0, 0), annotated), With(Transfer(0, 1), Text("no address"))),
		late(Receiving("r", 0, "q"), Flow(0, 0, 10), Drain(Flow(0, 0, 10)), Accept(0), Disposition(amqp.RoleReceiver, 0, 9, false, messaging.Modified(true, true, nil))),
		late(Receiving("r", 0, "q"), Sending("s", 1, "q"), Flow(0, 0, 10), With(Transfer(1, 0), Text("to myself")), Accept(0), Disposition(amqp.RoleSender, 0, 5, true, messaging.DeliveryState{})),
		late(Receiving("r", 0, "many"), Receiving("r2", 1, "many"), Sending("s", 2, "many"), Flow(0, 0, 2), Flow(1, 0, 2), With(Transfer(2, 0), big), Detach(0, false), Detach(1, true)),
		late(On(1, Begin()), On(1, Receiving("r", 0, "q")), On(1, Flow(0, 0, 1)), On(1, &frames.End{}), &frames.End{}, Begin()),
		late(Receiving("r", 0, "q"), Receiving("r", 1, "q"), Sending("r", 2, "q"), Detach(0, true), Detach(1, true)),
		late(&frames.Close{Error: &amqp.Error{Condition: "x"}}),
	}
}

// take lets a router have anything from one connection, while two others go
// about their business.
func take(t *testing.T, data []byte) {
	if len(data) == 0 {
		return
	}
	r := bubble.New(t, bubble.Options{
		Transport: transport.Config{IdleTimeout: 30e9, SASLServer: func() *sasl.Server {
			return sasl.NewServer(&sasl.Anonymous{}, &sasl.Plain{Verify: func(u, p string) (string, bool, error) { return u, true, nil }})
		}},
		PipeBytes: 32 << 10,
	})
	in := r.Receiver("in", "untouched", 10)
	out := r.Sender("out", "untouched")
	p := r.Dial()
	if data[0]&1 == 1 {
		p.Connect("fuzz")
	}
	size := 1 + int(data[0]>>1)*16 // of each write
	for rest := data[1:]; len(rest) > 0; {
		n := min(size, len(rest))
		if _, err := p.End.Write(rest[:n]); err != nil {
			break
		}
		rest = rest[n:]
		if data[0]&1 == 1 {
			p.All("") // the frames that are answered must be frames
		} else {
			drainRaw(p)
		}
	}
	wait(200) // longer than any time-out: whatever it waited for, it has ended
	drainRaw(p)
	if n := r.Collect(); n > 2 {
		t.Errorf("the connection is still there")
	}
	in.All("")
	out.All("")
}

func drainRaw(p *Peer) {
	synctest.Wait()
	var buf [4096]byte
	for {
		n, _ := p.End.TryRead(buf[:])
		if n == 0 {
			return
		}
		synctest.Wait()
	}
}

// No bytes make the router panic, hang, or keep anything.
func FuzzConn(f *testing.F) {
	for _, c := range conversations() {
		for _, split := range []byte{0, 2, 64, 254} {
			f.Add(append([]byte{c[0]&1 | split}, c[1:]...))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		synctest.Test(t, func(t *testing.T) { take(t, data) })
	})
}

// The same for conversations with single bytes changed, frames left out, twice,
// or in another order, so that every run of the tests has some of it.
func TestConnTakesBrokenConversations(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	rnd := rand.New(rand.NewSource(1))
	for i, c := range conversations() {
		parts := split(c[1:])
		for round := range rounds {
			var data []byte
			data = append(data, c[0]|0xfe)
			for _, p := range parts {
				p = append([]byte(nil), p...)
				switch rnd.Intn(8) {
				case 0: // left out
					continue
				case 1: // twice
					data = append(data, p...)
				case 2, 3:
					p[rnd.Intn(len(p))] = byte(rnd.Intn(256))
				case 4:
					p[rnd.Intn(len(p))] ^= 1 << rnd.Intn(8)
				}
				data = append(data, p...)
			}
			if rnd.Intn(3) == 0 {
				data = data[:1+rnd.Intn(len(data))]
			}
			t.Run(fmt.Sprintf("%d/%d", i, round), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { take(t, data) })
			})
		}
	}
}

// split divides what is written into headers and frames.
func split(b []byte) (parts [][]byte) {
	for len(b) >= 8 {
		n := 8
		if !strings.HasPrefix(string(b), "AMQP") {
			n = min(len(b), int(b[2])<<8|int(b[3]))
		}
		if n < 8 {
			break
		}
		parts = append(parts, b[:n])
		b = b[n:]
	}
	if len(b) > 0 {
		parts = append(parts, b)
	}
	return parts
}
