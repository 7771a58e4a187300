package pressure

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// Many senders of large messages to one slow receiver: memory is the sum of
// their budgets, whatever the size of the messages.
func TestBC09_ManyStreamsToOneReceiver(t *testing.T) {
	senders := sized(200, 60)
	size := int64(sized(64<<20, 16<<20))
	b := harness.Start(t, harness.Listeners("sessionBytes: 256Ki"))
	slow := dial(t, b.Addr(), raw.Options{ReadBuffer: 32 << 10})
	in := receiver(t, slow.MustSession(), "q", raw.ReceiverOptions{Credit: uint32(senders)})
	slow.Pause()
	var wg sync.WaitGroup
	var conns []*raw.Conn
	for i := range senders {
		c := dial(t, b.Addr(), raw.Options{SendBuffer: 16 << 10})
		conns = append(conns, c)
		out := sender(t, c.MustSession(), "q", raw.SenderOptions{})
		wg.Go(func() { out.Stream(size, raw.NewNoise(uint32(i)), false) })
	}
	// Nothing moves any more when memory stays the same.
	last := -1.0
	harness.Eventually(harness.Patience, func() bool {
		time.Sleep(200 * time.Millisecond)
		v := b.Metric("sluice_buffer_bytes")
		same := v == last
		last = v
		return same
	})
	m := b.Metrics()
	staged := int64(m[`sluice_stage_bytes{stage="session"}`] + m[`sluice_stage_bytes{stage="content"}`] + m[`sluice_stage_bytes{stage="outgoing"}`])
	// One link is being written; the others wait at the receiver's turn.
	limit := int64(senders)*(256<<10+unboundBytes+maxFrameSize) + outgoingHigh + maxFrameSize + int64(senders+1)*outputBatch
	s := b.Sample()
	report(t, "%d streams of %s to a stopped receiver: stages %s, buffers %s, RSS %s; formula %s", senders, mib(size), mib(staged), mib(int64(m["sluice_buffer_bytes"])), mib(s.RSS), mib(limit))
	if staged > limit {
		t.Errorf("%s in the stages, the formula allows %s", mib(staged), mib(limit))
	}
	if s.Peak > 2*limit+fixedOverhead {
		t.Errorf("peak RSS %s", mib(s.Peak))
	}
	if n := in.Messages(); n > 1 {
		t.Errorf("%d messages came while the receiver stood still", n)
	}
	// Another address is at its ease.
	other := receiver(t, session(t, b.Addr()), "other", raw.ReceiverOptions{Credit: 100})
	out := sender(t, session(t, b.Addr()), "other", raw.SenderOptions{})
	for range 1000 {
		must(t, out.Send(raw.Data(make([]byte, small)), false))
	}
	must(t, other.WaitMessages(1000))
	for _, c := range conns {
		c.Abort()
	}
	wg.Wait()
	slow.Abort()
	b.WaitMetric(`sluice_stage_bytes{stage="outgoing"}`, "0", is(0))
	b.WaitMetric(`sluice_stage_bytes{stage="session"}`, "0", is(0))
	b.WaitMetric("sluice_buffer_bytes", "nearly nothing", func(v float64) bool { return v < 2<<20 })
}

// One slow receiver of a multicast: with patience its copies are dropped, with
// an outcome and a counter, and the others get everything; memory is bounded.
func TestBC31_SlowMulticastReceiver(t *testing.T) {
	n := sized(1_000_000, 100_000)
	b := harness.Start(t, harness.Listeners("", "address {\n prefix: news\n distribution: multicast\n multicastPatienceSeconds: 1\n}"))
	slow := receiver(t, session(t, b.Addr()), "news", raw.ReceiverOptions{})
	slow.AddCredit(10)
	var fast []*raw.Receiver
	for range 3 {
		fast = append(fast, receiver(t, session(t, b.Addr()), "news", raw.ReceiverOptions{Credit: 500}))
	}
	out := sender(t, session(t, b.Addr()), "news", raw.SenderOptions{})
	sampler := b.SampleRSS(50 * time.Millisecond)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // ten messages a second
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-tick.C:
				slow.AddCredit(10)
			case <-stop:
				tick.Stop()
				return
			}
		}
	})
	message := raw.Data(make([]byte, small))
	sent := 0
	for end := time.Now().Add(time.Duration(sized(60, 6)) * time.Second); sent < n && time.Now().Before(end); sent++ {
		must(t, out.Send(message, false))
	}
	for _, r := range fast {
		must(t, r.WaitMessages(sent))
	}
	close(stop)
	wg.Wait()
	peak := sampler.Stop()
	dropped := b.Metric(`sluice_deliveries_dropped_total{cause="slow-multicast"}`)
	report(t, "multicast with a slow receiver, patience 1 s: %d messages in all, %v copies dropped, peak RSS %s", sent, dropped, mib(peak))
	if peak > 200<<20 {
		t.Errorf("peak RSS %s", mib(peak))
	}
	if dropped == 0 || sent < 500 {
		t.Errorf("%d messages sent, %v slow copies dropped", sent, dropped)
	}
	must(t, out.WaitSettled(sent))
}

// The processor time for a message grows with its size and no faster, even in
// frames of 512 bytes.
func TestBC35_TimeIsLinearInSize(t *testing.T) {
	unit := int64(sized(64<<20, 16<<20))
	b := harness.Start(t, harness.Loopback)
	used := make([]float64, 3)
	for i := range used {
		size := unit << i
		in := receiver(t, dial(t, b.Addr(), raw.Options{MaxFrame: 512}).MustSession(), "q", raw.ReceiverOptions{Credit: 1})
		// Frames from the sender are small too.
		out := sender(t, dial(t, b.Addr(), raw.Options{}).MustSession(), "q", raw.SenderOptions{})
		out.FrameSize(512)
		before := b.CPU()
		must(t, out.Stream(size, raw.NewNoise(1), false))
		must(t, in.WaitMessages(1))
		used[i] = (b.CPU() - before).Seconds()
		must(t, in.Detach())
	}
	report(t, "messages of %s, twice and four times that, in frames of 512 bytes: %.2f, %.2f, %.2f s of CPU", mib(unit), used[0], used[1], used[2])
	// Four times the bytes: four times the work, with room for a noisy machine.
	if used[2] > 10*used[0] {
		t.Errorf("four times the size costs %.1f times the processor", used[2]/used[0])
	}
}

// Partial writes into tiny socket buffers corrupt nothing. The binary poisons
// buffers that are returned.
func TestBC39_TinySocketBuffers(t *testing.T) {
	// With 4 KiB the kernel itself needs some 40 ms for a message.
	t.Run("4KiB", func(t *testing.T) { tinyBuffers(t, 4<<10, sized(2000, 80)) })
	t.Run("64KiB", func(t *testing.T) { tinyBuffers(t, 64<<10, sized(100_000, 2000)) })
}

func tinyBuffers(t *testing.T, size, n int) {
	b := harness.Start(t, harness.Loopback, harness.Race(t))
	var wrong atomic.Int64
	var message []byte
	check := func(f *raw.Frame) {
		if f.First {
			message = message[:0]
		}
		message = append(message, f.Payload...)
		if !f.Last {
			return
		}
		head := 5
		if len(message) > 3 && message[3] == 0xb0 {
			head = 8
		}
		if len(message) < head+4 || crc32.Checksum(message[head+4:], castagnoli) != binary.BigEndian.Uint32(message[head:]) {
			wrong.Add(1)
		}
	}
	in := receiver(t, dial(t, b.Addr(), raw.Options{ReadBuffer: size, MaxFrame: 4096}).MustSession(), "q", raw.ReceiverOptions{Credit: 50, Frame: check})
	out := sender(t, dial(t, b.Addr(), raw.Options{SendBuffer: 4 * size}).MustSession(), "q", raw.SenderOptions{})
	noise := raw.NewNoise(3)
	for i := range n {
		body := make([]byte, 4+i*37%9000)
		noise.Read(body[4:])
		binary.BigEndian.PutUint32(body, crc32.Checksum(body[4:], castagnoli))
		must(t, out.Send(raw.Data(body), i%3 == 0))
	}
	must(t, in.WaitMessages(n))
	if wrong.Load() != 0 {
		t.Errorf("%d of %d messages are damaged", wrong.Load(), n)
	}
}

// A thousand clients with one container-id and the same link names, as copies
// of one container are: none is disconnected.
func TestBC51_SameNamesOnManyConnections(t *testing.T) {
	const n = 1000
	b := harness.Start(t, harness.Loopback)
	type client struct {
		conn *raw.Conn
		in   *raw.Receiver
		out  *raw.Sender
	}
	clients := make([]client, n)
	for i := range clients {
		c := dial(t, b.Addr(), raw.Options{Container: "worker"})
		s := c.MustSession()
		clients[i] = client{c, receiver(t, s, "q", raw.ReceiverOptions{Name: "link", Credit: 10}), sender(t, s, "q", raw.SenderOptions{Name: "link"})}
	}
	for _, c := range clients {
		must(t, c.out.Send(raw.Data(make([]byte, small)), false))
	}
	for i, c := range clients {
		must(t, c.out.WaitSettled(1))
		if c.conn.Err() != nil || c.in.Detached() != nil || c.out.Detached() != nil {
			t.Fatalf("client %d was disturbed: %v", i, c.conn.Err())
		}
	}
	s := b.Sample()
	report(t, "%d connections with two links each: RSS %s, %d goroutines, %d fds", n, mib(s.RSS), s.Goroutines, s.FDs)
}

// Refused coordinators leave nothing behind.
func TestBC55_RefusalsLeaveNothing(t *testing.T) {
	const n = 10_000
	b := harness.Start(t, harness.Loopback)
	s := session(t, b.Addr())
	refuse := func(k int) {
		for range k {
			_, err := s.Sender("", raw.SenderOptions{Name: "txn", Coordinator: true})
			if d, ok := err.(*raw.DetachError); !ok || d.Err == nil || d.Err.Condition != amqp.CondNotImplemented {
				t.Fatalf("the coordinator was answered with %v", err)
			}
		}
	}
	refuse(n / 10)
	before := b.Sample()
	refuse(n)
	after := b.Sample()
	report(t, "%d refusals: RSS %s, before %s", n, mib(after.RSS), mib(before.RSS))
	if after.RSS > before.RSS+16<<20 || after.Goroutines > before.Goroutines+5 {
		t.Errorf("RSS %s after %s, goroutines %d after %d", mib(after.RSS), mib(before.RSS), after.Goroutines, before.Goroutines)
	}
	if v := after.Metrics["sluice_links"]; v != 0 {
		t.Errorf("%v links are attached", v)
	}
}

// Subscribers that stop reading and never close: memory stays flat, and they are
// gone after the idle time.
func TestBC73_SilentSubscribers(t *testing.T) {
	n := sized(10_000, 500)
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		n = min(n, int(limit.Cur)/2)
	}
	b := harness.Start(t, harness.Listeners("idleTimeoutSeconds: 4", "address {\n prefix: news\n distribution: multicast\n multicastPatienceSeconds: 1\n}"))
	for range n {
		c := dial(t, b.Addr(), raw.Options{ReadBuffer: 4 << 10, Silent: true})
		receiver(t, c.MustSession(), "news", raw.ReceiverOptions{Credit: 10_000})
		c.Pause()
	}
	before := b.RSS()
	sampler := b.SampleRSS(50 * time.Millisecond)
	c := dial(t, b.Addr(), raw.Options{})
	out := sender(t, c.MustSession(), "news", raw.SenderOptions{})
	gone := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		message := raw.Data(make([]byte, 1000))
		for {
			select {
			case <-gone:
				return
			default:
				if out.Send(message, true) != nil {
					return
				}
			}
		}
	})
	start := time.Now()
	b.WaitMetric("sluice_connections", "at most 1", func(v float64) bool { return v <= 1 })
	took := time.Since(start)
	close(gone)
	c.Abort()
	wg.Wait()
	peak := sampler.Stop()
	report(t, "%d silent subscribers: RSS %s to %s at most, gone after %v", n, mib(before), mib(peak), took.Round(time.Millisecond))
	if limit := before + int64(n)*(outgoingHigh/2) + fixedOverhead; peak > limit {
		t.Errorf("peak RSS %s", mib(peak))
	}
	if took > 10*time.Second {
		t.Errorf("gone after %v, the idle time is 4 s", took)
	}
}

// What is no AMQP on the port makes no noise, and what has a chance is told
// what is spoken here.
func TestBC75_OtherOpenings(t *testing.T) {
	b := harness.Start(t, harness.Listeners("initialHandshakeTimeoutSeconds: 1"))
	amqpHeader := frames.ProtocolHeader(frames.ProtoAMQP)
	for _, o := range []struct {
		name, send string
		answer     []byte // what must come before the end; nil: anything
		half       bool
	}{
		{name: "nothing and close", half: true},
		{name: "silence"},
		{name: "one byte", send: "A"},
		{name: "HTTP", send: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", answer: amqpHeader[:]},
		{name: "TLS", send: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", answer: amqpHeader[:]},
		{name: "AMQP 0-9-1", send: "AMQP\x00\x00\x09\x01", answer: amqpHeader[:]},
		{name: "AMQP 0-10", send: "AMQP\x01\x01\x00\x0a", answer: amqpHeader[:]},
		{name: "AMQP 1.1", send: "AMQP\x00\x01\x01\x00", answer: amqpHeader[:]},
		{name: "AMQP TLS", send: "AMQP\x02\x01\x00\x00", answer: amqpHeader[:]},
		{name: "PROXY v1", send: "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n", answer: amqpHeader[:]},
		{name: "PROXY v2", send: "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00", answer: amqpHeader[:]},
		{name: "zeros", send: strings.Repeat("\x00", 100), answer: amqpHeader[:]},
		{name: "noise after the header", send: string(amqpHeader[:]) + "\xff\xff\xff\xff\xff\xff\xff\xff"},
	} {
		t.Run(o.name, func(t *testing.T) {
			c, err := net.Dial("tcp", b.Addr())
			must(t, err)
			defer c.Close()
			c.Write([]byte(o.send))
			if o.half {
				c.(*net.TCPConn).CloseWrite()
			}
			c.SetReadDeadline(time.Now().Add(20 * time.Second))
			var got []byte
			buf := make([]byte, 4096)
			for {
				n, err := c.Read(buf)
				got = append(got, buf[:n]...)
				if err == nil {
					continue
				}
				if e, ok := err.(net.Error); ok && e.Timeout() {
					t.Fatalf("the connection stays open; got %q", got)
				}
				break
			}
			if o.answer != nil && !bytes.HasPrefix(got, o.answer) {
				t.Errorf("answered %q, want %q first", got, o.answer)
			}
		})
	}
	b.WaitMetric("sluice_connections", "0", is(0))
	if n := strings.Count(b.Log(), "SERVER (info)") + strings.Count(b.Log(), "SERVER (warning)"); n > 2 {
		t.Errorf("%d lines for probes:\n%s", n, b.Log())
	}
}

// Ten thousand links on one connection: the time for each does not grow with
// their number.
func TestBC89_ManyLinks(t *testing.T) {
	n := sized(50_000, 10_000)
	b := harness.Start(t, harness.Listeners("maxLinks: 100000"))
	open := func(n int, conn *raw.Conn) time.Duration {
		s := conn.MustSession()
		start := time.Now()
		links := make([]*raw.Sender, n)
		for i := range links {
			x, err := s.Sender(fmt.Sprintf("a.%d", i), raw.SenderOptions{Name: fmt.Sprint("l", i), Async: true})
			must(t, err)
			links[i] = x
		}
		for _, x := range links {
			must(t, x.Await())
		}
		return time.Since(start)
	}
	before := b.CPU()
	few := dial(t, b.Addr(), raw.Options{})
	open(n/4, few)
	cpuFew := b.CPU() - before
	few.Abort()
	b.WaitMetric("sluice_links", "0", is(0))
	before = b.CPU()
	many := dial(t, b.Addr(), raw.Options{})
	took := open(n, many)
	cpuMany := b.CPU() - before
	// Dropping them does not keep others waiting.
	s := session(t, b.Addr())
	in := receiver(t, s, "control", raw.ReceiverOptions{Credit: 10})
	out := sender(t, s, "control", raw.SenderOptions{})
	many.Abort()
	var worst time.Duration
	for i := range 200 {
		start := time.Now()
		must(t, out.Send(raw.Data(make([]byte, small)), false))
		must(t, out.WaitSettled(i+1))
		worst = max(worst, time.Since(start))
	}
	must(t, in.WaitMessages(200))
	b.WaitMetric("sluice_links", "2", is(2))
	b.WaitMetric("sluice_addresses", "1", is(1))
	report(t, "%d links on one connection in %v (%v of CPU; a quarter of them %v); worst of 200 messages beside their end %v", n, took.Round(time.Millisecond), cpuMany, cpuFew, worst.Round(time.Millisecond))
	if cpuMany > 12*max(cpuFew, 20*time.Millisecond) {
		t.Errorf("four times the links cost %v, after %v", cpuMany, cpuFew)
	}
	if worst > time.Second {
		t.Errorf("a message took %v while %d links were dropped", worst, n)
	}
}

// Memory comes back after a burst of connections, data, links and addresses.
func TestBC93_MemoryComesBack(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	warm := session(t, b.Addr())
	receiver(t, warm, "x", raw.ReceiverOptions{})
	idle := b.RSS()
	// 300 connections, each with as much in the stages as they hold.
	burst := sized(300, 100)
	var wg sync.WaitGroup
	var conns []*raw.Conn
	for i := range burst {
		address := fmt.Sprint("burst.", i)
		in := dial(t, b.Addr(), raw.Options{ReadBuffer: 16 << 10})
		receiver(t, in.MustSession(), address, raw.ReceiverOptions{Credit: 1})
		in.Pause()
		c := dial(t, b.Addr(), raw.Options{SendBuffer: 64 << 10})
		conns = append(conns, in, c)
		out := sender(t, c.MustSession(), address, raw.SenderOptions{})
		wg.Go(func() { out.Stream(1<<30, raw.NewNoise(uint32(i)), false) })
	}
	links := sized(50, 10)
	for i := range links {
		c := dial(t, b.Addr(), raw.Options{})
		conns = append(conns, c)
		s := c.MustSession()
		for j := range 1000 {
			_, err := s.Receiver(fmt.Sprintf("links/%d/%d", i, j), raw.ReceiverOptions{Credit: 1, Async: true})
			must(t, err)
		}
	}
	b.WaitMetric("sluice_links", "all links", func(v float64) bool { return v >= float64(1000*links) })
	want := float64(burst << 20)
	b.WaitMetric(`sluice_stage_bytes{stage="session"}`, "a MiB of each", func(v float64) bool { return v > want })
	held, rss := b.Metric("sluice_buffer_bytes"), b.RSS()
	for _, c := range conns {
		c.Abort()
	}
	wg.Wait()
	b.WaitMetric("sluice_connections", "1", is(1))
	b.WaitMetric("sluice_buffer_bytes", "nearly nothing", func(v float64) bool { return v < 2<<20 })
	var now, own int64
	start := time.Now()
	// What the Go runtime has for itself, a fiftieth of the largest heap that there
	// was, it keeps.
	harness.Eventually(harness.Patience, func() bool {
		time.Sleep(time.Second) // looking costs memory, too
		own = int64(b.Metric(`sluice_memory_bytes{part="runtime"}`))
		now = b.RSS() - own
		return now < idle*3/2
	})
	report(t, "burst of %s in buffers and %d links, RSS %s; idle again %s and %s of the runtime's own after %v, before %s",
		mib(int64(held)), 1000*links, mib(rss), mib(now), mib(own), time.Since(start).Round(time.Second), mib(idle))
	if now > 2*idle {
		t.Errorf("RSS %s without the runtime's own a while after the burst, %s before", mib(now), mib(idle))
	}
}

// A shutdown in the middle of large messages on many connections ends in order.
func TestBC97_ClosingBusyConnections(t *testing.T) {
	b := harness.Start(t, harness.Loopback, harness.Race(t))
	var wg sync.WaitGroup
	var conns []*raw.Conn
	start := make(chan struct{})
	for i := range 50 {
		address := fmt.Sprint("busy.", i)
		in := dial(t, b.Addr(), raw.Options{})
		receiver(t, in.MustSession(), address, raw.ReceiverOptions{Credit: 10})
		c := dial(t, b.Addr(), raw.Options{})
		out := sender(t, c.MustSession(), address, raw.SenderOptions{})
		conns = append(conns, in, c)
		wg.Go(func() {
			<-start
			for out.Send(raw.Data(make([]byte, 200_000)), i%2 == 0) == nil {
			}
		})
	}
	close(start)
	time.Sleep(500 * time.Millisecond) // all are at work
	b.Stop()
	wg.Wait()
	for i, c := range conns {
		if e := c.Condition(); e == nil || e.Condition != amqp.CondConnectionForced {
			t.Errorf("connection %d ended with %v (%v)", i, e, c.Err())
		}
	}
}
