package service_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/amqp/amqptest"
	"sluice/amqp/driver"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/admission"
	"sluice/router/control/service"
	"sluice/router/forward"
	"sluice/router/table"
)

// A router is what of a router the clients of this test need.
type router struct {
	t      *testing.T
	shared *admission.Router
	served []*driver.Driver
}

// bubble runs f with a router, of which nothing may be left when f returns.
func bubble(t *testing.T, f func(t *testing.T, r *router)) {
	synctest.Test(t, func(t *testing.T) {
		chunks := buffers.Outstanding()
		treatment := func(a address.Address) forward.Treatment {
			f := forward.Treatment{Distribution: forward.Balanced, Priority: -1, HighBytes: 1 << 20, LowBytes: 1 << 19, HighCount: 1000, LowCount: 500}
			if a.Text == "closed" {
				f.Distribution = forward.Unavailable
			}
			return f
		}
		tbl := table.New(treatment)
		f(t, &router{t: t, shared: &admission.Router{Identity: address.Identity{ID: "R"}, Table: tbl, Treatment: treatment}})
		if n := tbl.Len(); n != 0 {
			t.Errorf("%d addresses are left", n)
		}
		if n := buffers.Outstanding() - chunks; n != 0 {
			t.Errorf("%d chunks are left", n)
		}
	})
}

// serve is the router's end of a client's connection.
func (r *router) serve(c net.Conn) {
	limits := links.Limits{Capacity: 250, LinkBytes: 1 << 20, UnboundBytes: 64 << 10, OutgoingHigh: 64 << 10, OutgoingLow: 32 << 10}
	cfg := transport.Config{ContainerID: "R", MaxFrameSize: 4 << 10, ChannelMax: 3, HandleMax: 99, SessionBytes: 1 << 20}
	d := driver.New(c, nil, driver.Options{}, cfg, admission.NewConnection(r.shared, limits, zerolog.New(io.Discard), nil, nil))
	r.served = append(r.served, d)
	d.Run()
}

func (r *router) dial(name string) *service.Client {
	r.t.Helper()
	c, err := service.Dial(context.Background(), name, r.serve)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// must returns v.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func text(p *messaging.Properties, s string) []byte {
	return must((&messaging.Message{Properties: p, Body: s}).Append(nil))
}

func body(m service.Message) any { return must(messaging.DecodeMessage(m.Bytes)).Body }

const limit = 16 << 20 // bytes; of messages and queues

// What one client sends to an address another receives, and its outcome comes
// back.
func TestSendAndReceive(t *testing.T) {
	bubble(t, func(t *testing.T, r *router) {
		a, b := r.dial("a"), r.dial("b")
		in := make(chan service.Message, 10)
		must(a.Receive(t.Context(), "q", 5, limit, func(m service.Message) { in <- m }))
		out := must(b.Sender(t.Context(), "q", limit))
		outcome := make(chan messaging.StateKind, 1)
		if err := out.Send(text(nil, "hello"), false, func(s messaging.DeliveryState) { outcome <- s.Kind }); err != nil {
			t.Fatal(err)
		}
		m := <-in
		if body(m) != "hello" {
			t.Errorf("got %v", body(m))
		}
		m.Done(messaging.Modified(false, true, nil))
		if k := <-outcome; k != messaging.StateModified {
			t.Errorf("got %v", k)
		}
		big := bytes.Repeat([]byte("0123456789"), 1<<20)
		out.Send(must((&messaging.Message{Data: [][]byte{big}}).Append(nil)), true, nil)
		m = <-in
		if got := must(messaging.DecodeMessage(m.Bytes)); !bytes.Equal(got.Data[0], big) {
			t.Errorf("a message of %d bytes did not arrive as it was", len(big))
		}
		m.Done(messaging.Accepted)
		a.Close()
		b.Close()
	})
}

// A request names where its reply goes, an address that the router has made up;
// the reply goes there through an anonymous terminus.
func TestRequestAndReply(t *testing.T) {
	bubble(t, func(t *testing.T, r *router) {
		agent, asker := r.dial("agent"), r.dial("asker")
		replies := must(agent.Sender(t.Context(), "", limit))
		must(agent.Receive(t.Context(), "questions", 5, limit, func(m service.Message) {
			q := must(messaging.DecodeMessage(m.Bytes))
			p := &messaging.Properties{To: q.Properties.ReplyTo, HasTo: true, CorrelationID: q.Properties.CorrelationID}
			if err := replies.Send(text(p, "42"), true, nil); err != nil {
				t.Error(err)
			}
			m.Done(messaging.Accepted)
		}))
		answer := make(chan service.Message, 1)
		from := must(asker.Receive(t.Context(), "", 5, limit, func(m service.Message) { answer <- m; m.Done(messaging.Accepted) }))
		if from.Address() == "" {
			t.Fatal("the dynamic source has no address")
		}
		questions := must(asker.Sender(t.Context(), "questions", limit))
		for id := range uint64(20) { // more than the credit of anybody
			questions.Send(text(&messaging.Properties{ReplyTo: from.Address(), CorrelationID: id}, "?"), false, nil)
			m := must(messaging.DecodeMessage((<-answer).Bytes))
			if m.Body != "42" || m.Properties.CorrelationID != id {
				t.Errorf("got %v", m)
			}
		}
		agent.Close()
		asker.Close()
	})
}

// What the router refuses is an error with its condition.
func TestRefusedLinks(t *testing.T) {
	bubble(t, func(t *testing.T, r *router) {
		c := r.dial("c")
		var wire *amqp.Error
		if _, err := c.Sender(t.Context(), "closed", limit); !errors.As(err, &wire) || wire.Condition != amqp.CondNotFound {
			t.Errorf("got %v", err)
		}
		if _, err := c.Receive(t.Context(), "closed", 1, limit, nil); !errors.As(err, &wire) || wire.Condition != amqp.CondNotFound {
			t.Errorf("got %v", err)
		}
		if _, err := c.Sender(t.Context(), "open", limit); err != nil {
			t.Errorf("other links are not harmed: %v", err)
		}
		c.Close()
	})
}

// A service that is slow costs its senders credit, and those their queues.
func TestBackPressure(t *testing.T) {
	bubble(t, func(t *testing.T, r *router) {
		slow, fast := r.dial("slow"), r.dial("fast")
		var kept []service.Message
		must(slow.Receive(t.Context(), "q", 3, limit, func(m service.Message) { kept = append(kept, m) }))
		out := must(fast.Sender(t.Context(), "q", 100<<10))
		var accepted atomic.Int32
		message := must((&messaging.Message{Data: [][]byte{make([]byte, 10<<10)}}).Append(nil))
		sent := int32(0)
		for {
			synctest.Wait()
			err := out.Send(bytes.Clone(message), false, func(s messaging.DeliveryState) {
				if s.Kind == messaging.StateAccepted {
					accepted.Add(1)
				}
			})
			if errors.Is(err, links.ErrQueueFull) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if sent++; sent > 1000 {
				t.Fatal("nothing stops the sender")
			}
		}
		if len(kept) != 3 {
			t.Errorf("%d messages are with a service that had credit for 3", len(kept))
		}
		for done := 0; done < len(kept); done++ {
			kept[done].Done(messaging.Accepted)
			synctest.Wait()
		}
		if accepted.Load() != sent {
			t.Errorf("%d of %d messages were accepted", accepted.Load(), sent)
		}
		slow.Close()
		fast.Close()
	})
}

// The loss of the connection is told by client and links, and every message
// that was accepted for sending gets its outcome.
func TestLoss(t *testing.T) {
	bubble(t, func(t *testing.T, r *router) {
		c := r.dial("c")
		in := must(c.Receive(t.Context(), "q", 1, limit, func(service.Message) {}))
		out := must(c.Sender(t.Context(), "q", limit))
		var outcomes atomic.Int32
		for range 5 {
			out.Send(text(nil, "m"), false, func(messaging.DeliveryState) { outcomes.Add(1) })
		}
		synctest.Wait()
		if in.Err() != nil || c.Err() != nil {
			t.Error("nothing has ended yet")
		}
		r.served[0].Close(amqp.Errorf(amqp.CondConnectionForced, "the router goes"))
		<-c.Done()
		<-in.Done()
		<-out.Done()
		for _, err := range []error{c.Err(), in.Err(), out.Err()} {
			var wire *amqp.Error
			if !errors.As(err, &wire) || wire.Description != "the router goes" {
				t.Errorf("got %v", err)
			}
		}
		if outcomes.Load() != 5 {
			t.Errorf("%d of 5 outcomes", outcomes.Load())
		}
		if err := out.Send(nil, true, nil); !errors.Is(err, links.ErrLinkGone) {
			t.Errorf("got %v", err)
		}
		if _, err := c.Sender(t.Context(), "q", limit); err == nil {
			t.Error("a link was attached to a connection that is gone")
		}
		c.Close()
		c.Close()
	})
}

// A link can be closed, and its name means nothing: another may be made.
func TestCloseOfLinks(t *testing.T) {
	bubble(t, func(t *testing.T, r *router) {
		c := r.dial("c")
		for range 200 { // more than the router allows at a time
			in := must(c.Receive(t.Context(), "q", 1, limit, func(service.Message) {}))
			in.Close()
			in.Close()
			if err := in.Err(); err != net.ErrClosed {
				t.Fatalf("got %v", err)
			}
			synctest.Wait()
		}
		c.Close()
		if c.Err() != net.ErrClosed {
			t.Errorf("got %v", c.Err())
		}
	})
}

// A session that the router ends takes its links; others can be attached.
func TestSessionIsEndedByTheRouter(t *testing.T) {
	bubble(t, func(t *testing.T, r *router) {
		c := r.dial("c")
		in := must(c.Receive(t.Context(), "q", 1, limit, func(service.Message) {}))
		r.served[0].Do(func(conn *transport.Conn) {
			conn.Sessions(func(s *transport.Session) { s.End(amqp.Errorf(amqp.CondInternalError, "oops")) })
		})
		<-in.Done()
		if c.Err() != nil {
			t.Error("the connection goes on")
		}
		must(c.Receive(t.Context(), "q", 1, limit, func(service.Message) {}))
		c.Close()
	})
}

// A router that does not answer costs no more than the caller's patience.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := service.Dial(ctx, "c", func(c net.Conn) { io.Copy(io.Discard, c) }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if _, err := service.Dial(t.Context(), "c", func(net.Conn) {}); err == nil {
			t.Error("a connection that was closed at once was opened")
		}
		// One that opens the connection and then says nothing.
		c, err := service.Dial(t.Context(), "c", func(c net.Conn) {
			go c.Write(amqptest.Wire(amqptest.Header(frames.ProtoAMQP), amqptest.Open("mute")))
			io.Copy(io.Discard, c)
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := c.Sender(ctx, "q", limit); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		begin := time.Now()
		c.Close()
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("closing took %v", took)
		}
	})
}

// A link with a session of its own leaves nothing of it behind, whether it was
// answered or refused, and one that is not read from keeps no other from
// sending.
func TestSenderApart(t *testing.T) {
	bubble(t, func(t *testing.T, r *router) {
		a, b := r.dial("a"), r.dial("b")
		must(a.Receive(t.Context(), "stopped", 1, limit, func(service.Message) {}))
		in := make(chan service.Message, 10)
		must(a.Receive(t.Context(), "q", 5, limit, func(m service.Message) { in <- m; m.Done(messaging.Accepted) }))
		stopped := must(b.SenderApart(t.Context(), "stopped", limit))
		for range 3 { // one fills the credit, the next the session
			if err := stopped.Send(must((&messaging.Message{Data: [][]byte{make([]byte, 3<<20)}}).Append(nil)), true, nil); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if _, err := b.SenderApart(t.Context(), "closed", limit); err == nil {
			t.Error("a closed address was attached to")
		}
		for range 20 {
			out := must(b.SenderApart(t.Context(), "q", limit))
			out.Send(text(nil, "m"), true, nil)
			if m := <-in; body(m) != "m" {
				t.Errorf("got %v", body(m))
			}
			out.Close()
		}
		stopped.Close()
		a.Close()
		b.Close()
	})
}
