package web

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are what a router measures, for whoever asks. All listeners of a
// router share them.
type Metrics struct {
	registry *prometheus.Registry
	snapshot func() Snapshot

	mu        sync.Mutex // guards the fields below, and is held while everything is measured
	last      map[series]uint64
	addresses *folder
	peers     *folder
}

// A series is a counter with its labels.
type series struct {
	desc   *prometheus.Desc
	labels string
}

// maxScrapes is how many requests for metrics are answered at a time. Each looks
// at every connection and address.
const maxScrapes = 2

// NewMetrics returns the metrics of what snapshot returns. Of addresses and of
// peers no more than most are shown one by one.
func NewMetrics(most int, snapshot func() Snapshot) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), snapshot: snapshot, last: make(map[series]uint64),
		addresses: newFolder(most, 3), peers: newFolder(most, 4),
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m)
	return m
}

// handler serves them.
func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}

// Describe implements prometheus.Collector: what there is shows when it is
// measured.
func (m *Metrics) Describe(chan<- *prometheus.Desc) {}

// A collection is one time that all is measured.
type collection struct {
	ch         chan<- prometheus.Metric
	last, next map[series]uint64
}

// gauge reports what goes up and down.
func (c *collection) gauge(d *prometheus.Desc, v float64, labels ...string) {
	c.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// count reports what only goes up, and returns it. What is counted is read while
// links and addresses come and go; one that leaves meanwhile may be missed, and is
// there the next time.
func (c *collection) count(d *prometheus.Desc, v uint64, labels ...string) uint64 {
	s := series{d, keyOf(labels)}
	v = max(v, c.last[s])
	c.next[s] = v
	c.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	return v
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	start := time.Now()
	s := m.snapshot()
	c := &collection{ch: ch, last: m.last, next: make(map[series]uint64, len(m.last))}
	c.gauge(descInfo, 1, label(s.Version), label(s.ID), s.Mode)
	c.gauge(descConnections, float64(s.Connections))
	c.gauge(descWebSockets, float64(s.WebSockets))
	c.count(descConnTotal, s.ConnectionsTotal)
	c.gauge(descLinks, float64(s.Links))
	c.gauge(descAddresses, float64(s.Addresses-s.Services))
	c.count(descAttaches, s.AttachesTotal)
	c.count(descRefusals, s.RefusalsTotal)
	c.gauge(descStage, float64(s.SessionBytes), "session")
	c.gauge(descStage, float64(s.ContentBytes), "content")
	c.gauge(descStage, float64(s.OutgoingBytes), "outgoing")
	c.gauge(descChunks, float64(s.ChunkBytes))
	c.gauge(descBufferLimit, float64(s.BufferLimit))
	c.gauge(descHeld, float64(s.LinksHeld))
	c.gauge(descNoCredit, float64(s.LinksNoCredit))
	c.gauge(descFull, float64(s.AddressesFull))
	c.count(descGate, s.GateClosedTotal)
	c.gauge(descWaiting, float64(s.Waiting))
	c.gauge(descOldest, s.OldestUnsettled.Seconds())
	c.gauge(descStuck, float64(s.Stuck))
	c.gauge(descLinksStuck, float64(s.LinksStuck))
	in, out := c.count(descIngress, s.Ingress), c.count(descEgress, s.Egress)
	dropped := c.count(descDropped, s.DroppedNoDestination, "no-destination") +
		c.count(descDropped, s.DroppedTTL, "ttl") +
		c.count(descDropped, s.DroppedSlow, "slow-multicast")
	c.count(descDropped, s.DroppedAstray, "astray")
	c.count(descRetried, s.Redelivered)
	c.count(descTimedOut, s.TimedOut)
	c.count(descLogLines, s.LogLinesDropped)
	c.count(descOutcomes, s.Accepted, "accepted")
	c.count(descOutcomes, s.Rejected, "rejected")
	c.count(descOutcomes, s.Released, "released")
	c.count(descOutcomes, s.Modified, "modified")
	c.count(descOutcomes, s.Preset, "presettled")
	c.classes(s.ByClass)
	c.addresses(s.ByAddress, []uint64{in, out, dropped}, m.addresses, start)
	c.peers(s.ByPeer, s.PeersAll, m.peers, start)
	if s.Totals != nil {
		s.Totals.collect(c)
	}
	if s.Mesh != nil {
		s.Mesh.collect(c)
	}
	if s.Edge != nil {
		s.Edge.collect(c)
	}
	for _, p := range s.Memory() {
		c.gauge(descMemory, float64(p.Bytes), p.Name)
	}
	c.gauge(descMemoryLimit, float64(s.MemoryLimit))
	c.gauge(descDuration, time.Since(start).Seconds())
	m.last = c.next
}
