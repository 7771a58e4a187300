package pressure

import (
	"hash/crc32"
	"sync"
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// Defaults of the configuration that the formula uses, in bytes.
const (
	maxFrameSize  = 16 << 10
	sessionBytes  = 4 << 20
	linkBytes     = 1 << 20
	unboundBytes  = 128 << 10
	outgoingHigh  = 512 << 10
	outputBatch   = 256 << 10
	waitingHigh   = 16 << 20
	compactRatio  = 4
	readChunk     = 256 << 10
	fixedOverhead = 48 << 20 // the process itself, its stacks, and what the Go heap keeps ahead
)

// bound is the README's formula for payload bytes: stage 1 for each session
// that sends, stages 2 and 3 for each stream, an output batch for each
// connection.
func bound(sendingSessions, streams, connections int) int64 {
	return int64(sendingSessions)*sessionBytes +
		int64(streams)*(outgoingHigh+maxFrameSize) +
		int64(connections)*(outputBatch+readChunk)
}

// rate counts what a pair moves in a time.
func rate(in *raw.Receiver, during time.Duration) float64 {
	from := in.Messages()
	start := time.Now()
	time.Sleep(during)
	return float64(in.Messages()-from) / time.Since(start).Seconds()
}

// rates measures a few times and returns the median.
func rates(in *raw.Receiver, n int, each time.Duration) float64 {
	var r []float64
	for range n {
		r = append(r, rate(in, each))
	}
	return median(r)
}

// Eight senders of large messages, whose receivers stop reading half-way: memory
// stays under the formula, an unrelated pair keeps its rate, and when reading
// goes on every byte arrives.
func TestStoppedReceivers_HoldLittleAndHarmNobody(t *testing.T) {
	const streams = 8
	size := int64(sized(100<<20, 24<<20))
	b := harness.Start(t, harness.Loopback)

	// The unrelated pair.
	other := receiver(t, session(t, b.Addr()), "other", raw.ReceiverOptions{Credit: 1000})
	otherOut := sender(t, session(t, b.Addr()), "other", raw.SenderOptions{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		message := raw.Data(make([]byte, small))
		for {
			select {
			case <-stop:
				return
			default:
			}
			if otherOut.Send(message, false) != nil {
				return
			}
		}
	})
	defer wg.Wait()
	defer close(stop)

	type stream struct {
		conn *raw.Conn
		in   *raw.Receiver
		sum  uint32
		want uint32
		err  error
		half chan struct{}
	}
	all := make([]*stream, streams)
	var senders sync.WaitGroup
	for i := range all {
		s := &stream{half: make(chan struct{})}
		all[i] = s
		s.conn = dial(t, b.Addr(), raw.Options{ReadBuffer: 64 << 10})
		address := "large." + string(rune('a'+i))
		var got int64
		s.in = receiver(t, s.conn.MustSession(), address, raw.ReceiverOptions{Credit: 10, Frame: func(f *raw.Frame) {
			p := f.Payload
			if f.First {
				p = p[len(raw.DataHeader(int(size))):]
			}
			s.sum = crc32.Update(s.sum, castagnoli, p)
			before := got
			got += int64(len(p))
			if before < size/2 && got >= size/2 {
				close(s.half)
			}
		}})
	}
	idle := rates(other, 3, sampleTime)
	base := b.RSS()
	sampler := b.SampleRSS(20 * time.Millisecond)
	start := time.Now()
	for i, s := range all {
		address := "large." + string(rune('a'+i))
		out := sender(t, dial(t, b.Addr(), raw.Options{SendBuffer: 64 << 10}).MustSession(), address, raw.SenderOptions{})
		senders.Go(func() {
			n := raw.NewNoise(uint32(i))
			if s.err = out.Stream(size, n, false); s.err == nil {
				s.err = out.WaitSettled(1)
			}
			s.want = n.Sum()
		})
		senders.Go(func() { <-s.half; s.conn.Pause() })
	}
	for _, s := range all {
		select {
		case <-s.half:
		case <-time.After(harness.Patience):
			t.Fatal("a stream did not come half-way")
		}
	}
	// Everything is full now: nothing of the streams moves any more.
	b.WaitMetric("sluice_links_held", "8", func(v float64) bool { return v == streams })
	// Other work on the machine may slow the pair down for a while; stopped
	// streams would do so for as long as they stand.
	stopped := rates(other, 5, sampleTime)
	for i := 0; i < 5 && stopped < 0.8*idle; i++ {
		stopped = max(stopped, rates(other, 5, sampleTime))
	}
	m := b.Metrics()
	staged := m[`sluice_stage_bytes{stage="session"}`] + m[`sluice_stage_bytes{stage="content"}`] + m[`sluice_stage_bytes{stage="outgoing"}`]
	peak := sampler.Stop()
	limit := bound(streams, streams, 2*streams)
	report(t, "%d stopped streams of %s: by stage session %s, content %s, outgoing %s; buffers %s; formula %s; peak RSS %s over %s",
		streams, mib(size), mib(int64(m[`sluice_stage_bytes{stage="session"}`])), mib(int64(m[`sluice_stage_bytes{stage="content"}`])),
		mib(int64(m[`sluice_stage_bytes{stage="outgoing"}`])), mib(int64(m["sluice_buffer_bytes"])), mib(limit), mib(peak), mib(base))
	if int64(staged) > limit {
		t.Errorf("%s in the stages, the formula allows %s", mib(int64(staged)), mib(limit))
	}
	if int64(m["sluice_buffer_bytes"]) > compactRatio*limit {
		t.Errorf("%s in buffers, at most %d times the formula's %s", mib(int64(m["sluice_buffer_bytes"])), compactRatio, mib(limit))
	}
	if peak > limit*2+fixedOverhead {
		t.Errorf("peak RSS %s, want less than %s", mib(peak), mib(limit*2+fixedOverhead))
	}
	report(t, "unrelated pair: %.0f/s before, %.0f/s beside stopped streams: %.0f %%", idle, stopped, 100*stopped/idle)
	if stopped < 0.6*idle {
		t.Errorf("an unrelated pair moves %.0f/s beside stopped streams, %.0f/s before", stopped, idle)
	}
	for _, s := range all {
		s.conn.Resume()
	}
	senders.Wait()
	for i, s := range all {
		must(t, s.err)
		must(t, s.in.WaitMessages(1))
		if s.sum != s.want {
			t.Errorf("stream %d: checksum %08x, want %08x", i, s.sum, s.want)
		}
	}
	report(t, "all %s after %v", mib(size*streams), time.Since(start).Round(time.Millisecond))
	b.WaitMetric(`sluice_stage_bytes{stage="outgoing"}`, "0 of the streams", func(v float64) bool { return v < 1<<20 })
}

// sampleTime is how long a rate is measured.
const sampleTime = 400 * time.Millisecond
