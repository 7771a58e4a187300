package pressure

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/tests/harness"
	"sluice/tests/raw"
)

// explained is the sum of the parts of the resident memory that metrics show.
func explained(m map[string]float64) (sum float64, parts string) {
	for name, v := range m {
		if part, ok := strings.CutPrefix(name, `sluice_memory_bytes{part="`); ok {
			sum += v
			parts += fmt.Sprintf(" %s %.1f", strings.TrimSuffix(part, `"}`), v/(1<<20))
		}
	}
	return sum, parts
}

// The byte gauges add up to the resident memory, within a tenth: idle, with many
// connections and links, with messages that wait, under load, and afterwards.
func TestMemoryIsExplained(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	check := func(when string) map[string]float64 {
		t.Helper()
		var sum, rss float64
		var parts string
		var m map[string]float64
		// Memory moves between the two readings; a router that cannot explain
		// itself never gets it right.
		ok := harness.Eventually(10*time.Second, func() bool {
			before := b.RSS()
			m = b.Metrics()
			rss = float64(before+b.RSS()) / 2
			sum, parts = explained(m)
			return sum > 0.9*rss && sum < 1.1*rss
		})
		report(t, "%s: %s explained of %s resident (%.0f %%):%s", when, mib(int64(sum)), mib(int64(rss)), 100*sum/rss, parts)
		if !ok {
			t.Errorf("%s: %s explained of %s resident:%s", when, mib(int64(sum)), mib(int64(rss)), parts)
		}
		return m
	}
	check("idle")
	connections, links := sized(2000, 500), sized(20000, 5000)
	for range connections {
		session(t, b.Addr())
	}
	many := session(t, b.Addr())
	attached := make([]*raw.Receiver, links)
	for i := range attached {
		attached[i] = receiver(t, many, fmt.Sprint("many.", i), raw.ReceiverOptions{})
	}
	check(fmt.Sprintf("%d connections, %d links", connections, links))

	// Messages that wait: their receiver gives no credit.
	receiver(t, session(t, b.Addr()), "waits", raw.ReceiverOptions{})
	out := sender(t, session(t, b.Addr()), "waits", raw.SenderOptions{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 250 {
			if out.Send(raw.Data(make([]byte, 60<<10)), false) != nil {
				return
			}
		}
	})
	b.WaitMetric("sluice_deliveries_waiting", "one", func(v float64) bool { return v >= 1 })
	m := check("messages that wait")
	if m["sluice_deliveries_waiting"] < 1 {
		t.Error("no message waits")
	}

	stop := make(chan struct{})
	for i := range 4 {
		address := fmt.Sprint("load.", i)
		receiver(t, session(t, b.Addr()), address, raw.ReceiverOptions{Credit: 100})
		out := sender(t, session(t, b.Addr()), address, raw.SenderOptions{})
		wg.Go(func() {
			message := raw.Data(make([]byte, 10<<10))
			for {
				select {
				case <-stop:
					return
				default:
					if out.Send(message, false) != nil {
						return
					}
				}
			}
		})
	}
	b.WaitMetric("sluice_deliveries_egress_total", "some thousands", func(v float64) bool { return v > 5000 })
	for range 3 {
		check("under load")
	}
	close(stop)
	out.Detach()
	wg.Wait()
	check("afterwards")
}

// What connections, links and addresses are said to take is what they do.
func TestOverheads(t *testing.T) {
	b := harness.Start(t, harness.Loopback, harness.Args("--pprof", "127.0.0.1:0"))
	_, after, _ := strings.Cut(b.Log(), "address=")
	profile := "http://" + strings.Fields(after)[0] + "/debug/pprof/heap?gc=1"
	// look returns what there is on the heap besides buffers, and what the three
	// are said to take.
	look := func() (objects, estimate float64) {
		for range 3 { // pools keep what they have for one more
			r, err := http.Get(profile)
			must(t, err)
			io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
		m := b.Metrics()
		for _, part := range []string{"connections", "links", "addresses"} {
			estimate += m[`sluice_memory_bytes{part="`+part+`"}`]
		}
		return m[`sluice_memory_bytes{part="objects"}`] + estimate, estimate
	}
	many := session(t, b.Addr())
	n := sized(10000, 3000)
	for _, step := range []struct {
		what string
		make func(i int)
	}{
		{"connections", func(int) { session(t, b.Addr()) }},
		{"outgoing links and addresses", func(i int) { receiver(t, many, fmt.Sprint("many.", i), raw.ReceiverOptions{}) }},
		{"incoming links", func(i int) { sender(t, many, fmt.Sprint("many.", i), raw.SenderOptions{}) }},
	} {
		objects, estimate := look()
		for i := range n {
			step.make(i)
		}
		objectsThen, estimateThen := look()
		is, said := (objectsThen-objects)/float64(n), (estimateThen-estimate)/float64(n)
		report(t, "%s: %.0f bytes of heap each, estimated as %.0f", step.what, is, said)
		if said < 0.5*is || said > 2*is { // maps grow in leaps
			t.Errorf("%s take %.0f bytes each, and are estimated as %.0f", step.what, is, said)
		}
	}
}

// A scrape with 10,000 links takes little time, and single holds of a
// connection's lock are short: what passes on it meanwhile does not notice.
func TestScrapesCostLittle(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	conn := dial(t, b.Addr(), raw.Options{})
	s := conn.MustSession()
	const links = 10000
	for i := range links {
		receiver(t, s, fmt.Sprint("many.", i), raw.ReceiverOptions{Credit: 1})
	}
	in := receiver(t, conn.MustSession(), "q", raw.ReceiverOptions{Credit: 1000})
	out := sender(t, session(t, b.Addr()), "q", raw.SenderOptions{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		message := raw.Data(make([]byte, small))
		for {
			select {
			case <-stop:
				return
			default:
			}
			if out.Send(message, false) != nil {
				return
			}
		}
	})
	defer close(stop)
	before := rates(in, 3, sampleTime)
	var took []float64
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for range 10 {
			took = append(took, b.Metric("sluice_measurement_seconds"))
			time.Sleep(200 * time.Millisecond)
		}
	})
	during := rates(in, 5, sampleTime)
	<-done
	report(t, "a scrape with %d links takes %.1f ms; a pair on the same connection moves %.0f/s, and %.0f/s while it is scraped five times a second",
		links, median(took)*1000, before, during)
	if median(took) > 0.25 {
		t.Errorf("a scrape takes %v s", median(took))
	}
	if during < 0.6*before {
		t.Errorf("%.0f/s while metrics are read, %.0f/s before", during, before)
	}
	m := b.Metrics()
	series := 0
	for name := range m {
		if strings.HasPrefix(name, "sluice_address_waiting{") {
			series++
		}
	}
	if series > 101 || m[`sluice_series_folded{by="address"}`] < links-100 {
		t.Errorf("%d addresses are shown, %v folded", series, m[`sluice_series_folded{by="address"}`])
	}
}
