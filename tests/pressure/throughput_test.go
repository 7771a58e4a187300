package pressure

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// small is the size of small bodies in bytes.
const small = 100

// ordered checks sequence numbers at the beginning of bodies of one sender.
type ordered struct {
	next     uint64
	wrong    atomic.Uint64
	received atomic.Uint64
}

func (o *ordered) frame(f *raw.Frame) {
	if !f.First || !f.Last || len(f.Payload) < 13 {
		o.wrong.Add(1)
		return
	}
	n := binary.BigEndian.Uint64(f.Payload[5:])
	if n != o.next {
		o.wrong.Add(1)
	}
	o.next = n + 1
	o.received.Add(1)
}

// numbered returns a message of one data section, and a function to number it.
func numbered(size int) ([]byte, func(uint64)) {
	m := raw.Data(make([]byte, size))
	at := len(m) - size
	return m, func(n uint64) { binary.BigEndian.PutUint64(m[at:], n) }
}

// A million small unsettled messages are all accepted, exactly once each.
func TestUnsettled_AllAccepted(t *testing.T) { throughput(t, false) }

// A million small presettled messages at full speed arrive, in order, and none
// is dropped.
func TestPresettled_NoneDropped(t *testing.T) { throughput(t, true) }

func throughput(t *testing.T, settled bool) {
	n := sized(1_000_000, 300_000)
	b := harness.Start(t, harness.Loopback)
	var order ordered
	in := receiver(t, session(t, b.Addr()), "queue", raw.ReceiverOptions{Credit: 1000, Frame: order.frame})
	out := sender(t, session(t, b.Addr()), "queue", raw.SenderOptions{})
	message, number := numbered(small)
	sampler := b.SampleRSS(50 * time.Millisecond)
	start, cpu := time.Now(), b.CPU()
	for i := range n {
		number(uint64(i))
		must(t, out.Send(message, settled))
	}
	must(t, in.WaitMessages(n))
	if !settled {
		must(t, out.WaitSettled(n))
	}
	took, used, peak := time.Since(start), b.CPU()-cpu, sampler.Stop()
	report(t, "settled=%v: %d messages, %d/s, %.2f µs of CPU each, peak RSS %s",
		settled, n, perSecond(n, took), used.Seconds()*1e6/float64(n), mib(peak))
	if order.wrong.Load() != 0 || order.received.Load() != uint64(n) {
		t.Errorf("%d of %d messages came, %d out of order", order.received.Load(), n, order.wrong.Load())
	}
	if r := out.Result(); !settled && (r.Accepted != n || r.Settled != n || r.Twice != 0) {
		t.Errorf("%+v, want %d accepted", r, n)
	}
	m := b.Metrics()
	for _, cause := range []string{"no-destination", "ttl", "slow-multicast"} {
		if v := m[`sluice_deliveries_dropped_total{cause="`+cause+`"}`]; v != 0 {
			t.Errorf("%v messages dropped: %s", v, cause)
		}
	}
}
