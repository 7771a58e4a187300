package web

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A Snapshot is what a router measures, at one moment.
type Snapshot struct {
	Connections, Links, Addresses int
	ConnectionsTotal              uint64
	AttachesTotal, RefusalsTotal  uint64
	LogLinesDropped               uint64

	// Bytes by stage (the README explains them).
	SessionBytes  int64 // stage 1: frames received and not pulled
	ContentBytes  int64 // stage 2: deliveries without a destination yet
	OutgoingBytes int64 // stage 3: handed to outgoing links and not written
	ChunkBytes    int64 // memory of all buffers that somebody holds

	LinksHeld       int // incoming links that are held off by a threshold
	LinksNoCredit   int // incoming links without credit
	AddressesFull   int // addresses over their high mark
	GateClosedTotal uint64
	Waiting         int // deliveries that wait at addresses

	OldestUnsettled time.Duration // since the oldest unsettled delivery was sent

	Ingress, Egress                                uint64
	DroppedNoDestination, DroppedTTL, DroppedSlow  uint64
	DroppedAstray                                  uint64
	Redelivered, TimedOut                          uint64
	Accepted, Rejected, Released, Modified, Preset uint64

	Mesh *Mesh // nil for a router that is alone
	Edge *Edge // nil for a router that neither is nor has an edge router
}

type collector struct{ snapshot func() Snapshot }

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("sluice_"+name, help, labels, nil)
}

var (
	descConnections = gauge("connections", "Connections that are open.")
	descConnTotal   = gauge("connections_total", "Connections accepted or made since the start.")
	descLinks       = gauge("links", "Links that are attached.")
	descAddresses   = gauge("addresses", "Addresses that a link uses.")
	descAttaches    = gauge("attaches_total", "Attaches asked for by peers.")
	descRefusals    = gauge("attaches_refused_total", "Attaches that were refused.")
	descStage       = gauge("stage_bytes", "Payload bytes held, by stage of the pipeline.", "stage")
	descChunks      = gauge("buffer_bytes", "Memory of the buffers in use, in bytes.")
	descHeld        = gauge("links_held", "Incoming links held off by a threshold.")
	descNoCredit    = gauge("links_without_credit", "Incoming links that have no credit.")
	descFull        = gauge("addresses_full", "Addresses over their high mark, which grant no new credit.")
	descGate        = gauge("addresses_full_total", "Times that an address reached its high mark.")
	descWaiting     = gauge("deliveries_waiting", "Deliveries that wait at addresses for a destination with credit.")
	descOldest      = gauge("oldest_unsettled_seconds", "Age of the oldest delivery that a receiver has not settled.")
	descIngress     = gauge("deliveries_ingress_total", "Deliveries received at addresses.")
	descEgress      = gauge("deliveries_egress_total", "Deliveries bound to destinations of addresses.")
	descDropped     = gauge("deliveries_dropped_total", "Deliveries that found no receiver, by cause.", "cause")
	descRetried     = gauge("deliveries_redelivered_total", "Deliveries sent again after their receiver was lost.")
	descTimedOut    = gauge("deliveries_unsettled_timeout_total", "Deliveries resolved because their receiver did not settle them in time.")
	descLogLines    = gauge("log_lines_dropped_total", "Log lines that were lost because an output did not take them.")
	descOutcomes    = gauge("deliveries_outcomes_total", "Outcomes passed to senders; presettled counts deliveries that want none.", "outcome")
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := c.snapshot()
	g := func(d *prometheus.Desc, v float64, l ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, l...)
	}
	n := func(d *prometheus.Desc, v uint64, l ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), l...)
	}
	g(descConnections, float64(s.Connections))
	n(descConnTotal, s.ConnectionsTotal)
	g(descLinks, float64(s.Links))
	g(descAddresses, float64(s.Addresses))
	n(descAttaches, s.AttachesTotal)
	n(descRefusals, s.RefusalsTotal)
	g(descStage, float64(s.SessionBytes), "session")
	g(descStage, float64(s.ContentBytes), "content")
	g(descStage, float64(s.OutgoingBytes), "outgoing")
	g(descChunks, float64(s.ChunkBytes))
	g(descHeld, float64(s.LinksHeld))
	g(descNoCredit, float64(s.LinksNoCredit))
	g(descFull, float64(s.AddressesFull))
	n(descGate, s.GateClosedTotal)
	g(descWaiting, float64(s.Waiting))
	g(descOldest, s.OldestUnsettled.Seconds())
	n(descIngress, s.Ingress)
	n(descEgress, s.Egress)
	n(descDropped, s.DroppedNoDestination, "no-destination")
	n(descDropped, s.DroppedTTL, "ttl")
	n(descDropped, s.DroppedSlow, "slow-multicast")
	n(descDropped, s.DroppedAstray, "astray")
	n(descRetried, s.Redelivered)
	n(descTimedOut, s.TimedOut)
	n(descLogLines, s.LogLinesDropped)
	n(descOutcomes, s.Accepted, "accepted")
	n(descOutcomes, s.Rejected, "rejected")
	n(descOutcomes, s.Released, "released")
	n(descOutcomes, s.Modified, "modified")
	n(descOutcomes, s.Preset, "presettled")
	if s.Mesh != nil {
		s.Mesh.collect(g, n)
	}
	if s.Edge != nil {
		s.Edge.collect(g)
	}
}
