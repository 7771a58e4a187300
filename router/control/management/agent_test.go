package management

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp/driver"
	"sluice/amqp/encoding"
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

// A bench is a router with an agent, in a test's bubble.
type bench struct {
	t       *testing.T
	shared  *admission.Router
	router  *fake
	agent   *Agent
	log     strings.Builder
	mu      sync.Mutex // guards drivers
	drivers []*driver.Driver
}

// manage runs f with a router that is managed, of which nothing may be left.
func manage(t *testing.T, f func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		chunks := buffers.Outstanding()
		treatment := func(address.Address) forward.Treatment {
			return forward.Treatment{Priority: -1, HighBytes: 1 << 20, LowBytes: 1 << 19, HighCount: 1000, LowCount: 500}
		}
		b := &bench{t: t, router: newFake(t)}
		b.shared = &admission.Router{Identity: address.Identity{ID: "A"}, Table: table.New(treatment), Treatment: treatment}
		b.agent = NewAgent(b.router, func(c net.Conn) { b.serve(c, 16, true) }, zerolog.New(&b.log).Level(zerolog.WarnLevel))
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			b.agent.Run(ctx)
			close(done)
		}()
		synctest.Wait()
		f(t, b)
		synctest.Wait()
		stop()
		<-done
		if n := b.shared.Table.Len(); n != 0 {
			t.Errorf("%d addresses are left", n)
		}
		if n := buffers.Outstanding() - chunks; n != 0 {
			t.Errorf("%d chunks are left", n)
		}
	})
}

func (b *bench) serve(c net.Conn, capacity uint32, private bool) {
	l := links.Limits{Capacity: capacity, LinkBytes: 256 << 10, UnboundBytes: 64 << 10, OutgoingHigh: 64 << 10, OutgoingLow: 32 << 10, Private: private}
	cfg := transport.Config{ContainerID: "A", MaxFrameSize: 4 << 10, ChannelMax: 1023, HandleMax: 99, SessionBytes: 256 << 10}
	d := driver.New(c, nil, driver.Options{}, cfg, admission.NewConnection(b.shared, l, zerolog.New(io.Discard), nil, nil))
	b.mu.Lock()
	b.drivers = append(b.drivers, d)
	b.mu.Unlock()
	d.Run()
}

// A client asks and reads.
type client struct {
	b        *bench
	c        *service.Client
	to       *service.Sender
	from     *service.Receiver
	replies  chan service.Message
	outcomes map[messaging.StateKind]int // guarded by mu
	mu       sync.Mutex
}

// dial connects a client that takes so many replies that it is not done with.
func (b *bench) dial(name, address string, credit uint32) *client {
	b.t.Helper()
	x := &client{b: b, replies: make(chan service.Message, 5000), outcomes: make(map[messaging.StateKind]int)}
	var err error
	if x.c, err = service.Dial(context.Background(), name, func(c net.Conn) { b.serve(c, 250, false) }); err != nil {
		b.t.Fatal(err)
	}
	if x.from, err = x.c.Receive(context.Background(), "", credit, maxReply+1<<20, func(m service.Message) { x.replies <- m }); err != nil {
		b.t.Fatal(err)
	}
	if x.to, err = x.c.Sender(context.Background(), address, 1<<30); err != nil {
		b.t.Fatal(err)
	}
	return x
}

// ask sends a request.
func (x *client) ask(id uint64, ap string, body any) {
	x.b.t.Helper()
	b, err := (&messaging.Message{
		Properties: &messaging.Properties{ReplyTo: x.from.Address(), CorrelationID: id}, ApplicationProperties: properties(ap), Body: body,
	}).Append(nil)
	if err != nil {
		x.b.t.Fatal(err)
	}
	x.send(b)
}

func (x *client) send(b []byte) {
	err := x.to.Send(b, false, func(s messaging.DeliveryState) {
		x.mu.Lock()
		x.outcomes[s.Kind]++
		x.mu.Unlock()
	})
	if err != nil {
		x.b.t.Error(err)
	}
}

// read reads the reply to a request.
func (x *client) read(id uint64) *messaging.Message {
	x.b.t.Helper()
	select {
	case m := <-x.replies:
		if !m.Settled {
			x.b.t.Error("the reply was not sent settled")
		}
		m.Done(messaging.Accepted)
		got, err := messaging.DecodeMessage(m.Bytes)
		if err != nil {
			x.b.t.Fatal(err)
		}
		if got.Properties.CorrelationID != id || got.Properties.To != x.from.Address() {
			x.b.t.Fatalf("got a reply to %v, want %d", got.Properties.CorrelationID, id)
		}
		return got
	case <-time.After(time.Minute):
		x.b.t.Fatalf("no reply to %d\n%s", id, x.b.log.String())
	}
	return nil
}

func (x *client) count(k messaging.StateKind) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.outcomes[k]
}

// Requests to either address are accepted and answered, in order.
func TestAgent(t *testing.T) {
	manage(t, func(t *testing.T, b *bench) {
		for _, address := range []string{"$management", "_local/$management", "_topo/0/A/$management", "amqp:/_topo/0/A/$management"} {
			x := b.dial("x"+address, address, 1)
			for id := range uint64(600) { // more than anybody's credit
				x.ask(id, "operation=READ, name=self", nil)
			}
			for id := range uint64(600) {
				if m := x.read(id); show(m.Body) != `{name:"self",identity:"self",type:"...management"}` {
					t.Fatalf("got %s", show(m.Body))
				}
			}
			synctest.Wait()
			if n := x.count(messaging.StateAccepted); n != 600 {
				t.Errorf("%d requests were accepted", n)
			}
			if in, out := b.agent.Counts(); in%600 != 0 || in != out {
				t.Errorf("%d requests and %d replies are counted", in, out)
			}
			x.c.Close()
		}
	})
}

// A request that cannot be answered is rejected, and costs nothing else.
func TestAgent_Unanswerable(t *testing.T) {
	manage(t, func(t *testing.T, b *bench) {
		x := b.dial("x", "$management", 10)
		x.send([]byte("nonsense")) // of which the router itself can make nothing
		noReply, _ := (&messaging.Message{ApplicationProperties: properties("operation=QUERY")}).Append(nil)
		x.send(noReply)
		x.ask(1, "operation=READ", nil)
		x.read(1)
		if n := x.count(messaging.StateRejected); n != 2 {
			t.Errorf("%d were rejected", n)
		}
		if s := b.log.String(); !strings.Contains(s, "no reply-to") {
			t.Errorf("the log says %s", s)
		}
		x.c.Close()
	})
}

// A reply has nowhere to go: it is given up, and others are answered.
func TestAgent_ReplyToNobody(t *testing.T) {
	manage(t, func(t *testing.T, b *bench) {
		x := b.dial("x", "$management", 10)
		for i := range 500 { // more than there are ways for replies
			m, _ := (&messaging.Message{Properties: &messaging.Properties{ReplyTo: fmt.Sprintf("nobody/%d", i)}, ApplicationProperties: properties("operation=READ")}).Append(nil)
			x.send(m)
		}
		for _, bad := range []string{"_topo/1/x", "_edge/x/y", "$management", "_local/$management"} {
			m, _ := (&messaging.Message{Properties: &messaging.Properties{ReplyTo: bad}, ApplicationProperties: properties("operation=READ")}).Append(nil)
			x.send(m)
		}
		x.ask(1, "operation=READ", nil)
		x.read(1)
		time.Sleep(2 * replyPatience)
		synctest.Wait()
		if n := b.shared.Table.Len(); n != 3 { // $management twice, and the source of x
			t.Errorf("%d addresses are there", n)
		}
		x.c.Close()
	})
}

// Whoever asks and does not read keeps his own requests waiting, and then gets
// them refused; others are answered at once.
func TestAgent_NobodyReads(t *testing.T) {
	manage(t, func(t *testing.T, b *bench) {
		var idle []*client
		for i := range 5 { // together more than the agent takes
			x := b.dial(fmt.Sprint("idle", i), "$management", 1)
			for id := range uint64(1000) {
				x.ask(id, "operation=GET-SCHEMA", nil)
			}
			idle = append(idle, x)
		}
		synctest.Wait()
		y := b.dial("y", "$management", 1)
		for id := range uint64(300) {
			y.ask(id, "operation=READ", nil)
			y.read(id)
		}
		accepted, rejected := 0, 0
		for _, x := range idle {
			accepted += x.count(messaging.StateAccepted)
			rejected += x.count(messaging.StateRejected)
		}
		if accepted > 5*(fewReplies+20) || rejected == 0 {
			t.Errorf("%d requests were answered, and %d refused", accepted, rejected)
		}
		// Who reads after all gets what has been answered.
		for id := range uint64(fewReplies) {
			idle[0].read(id)
		}
		for _, x := range idle {
			x.c.Close()
		}
		y.c.Close()
	})
}

// A large reply crosses whole, and one that is not read holds up nobody; it is
// given up in the end.
func TestAgent_LargeReplies(t *testing.T) {
	manage(t, func(t *testing.T, b *bench) {
		long := strings.Repeat("x", 1000)
		b.router.addresses = map[string]Address{}
		b.agent.maxWaiting = 4 << 20
		for i := range 1000 {
			key := fmt.Sprintf("M0a.%05d", i)
			b.router.addresses[key] = Address{Key: key, Gate: long}
		}
		var idle []*client
		for i := range 8 { // together more than may wait
			x := b.dial(fmt.Sprint("idle", i), "$management", 1)
			x.ask(0, "operation=READ", nil)
			x.ask(1, "operation=QUERY, entityType=router.address", nil)
			idle = append(idle, x)
		}
		time.Sleep(time.Second)
		y := b.dial("y", "$management", 1)
		for id := range uint64(3) {
			y.ask(id, "operation=QUERY, entityType=router.address", nil)
			if m := y.read(id); len(m.Body.(encoding.Map)[1].Value.([]any)) != 1000 {
				t.Error("rows are missing")
			}
		}
		y.ask(3, "operation=READ", nil)
		y.read(3)
		time.Sleep(2 * replyPatience)
		y.ask(4, "operation=READ", nil)
		y.read(4)
		for _, x := range idle {
			x.c.Close()
		}
		y.c.Close()
	})
}

// The agent connects again when it loses the router.
func TestAgent_Reconnects(t *testing.T) {
	manage(t, func(t *testing.T, b *bench) {
		b.mu.Lock()
		d := b.drivers[0]
		b.mu.Unlock()
		d.Abort()
		time.Sleep(time.Second)
		x := b.dial("x", "$management", 1)
		x.ask(1, "operation=READ", nil)
		x.read(1)
		x.c.Close()
	})
}
