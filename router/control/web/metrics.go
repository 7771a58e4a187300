package web

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A Snapshot is what a router measures, at one moment.
type Snapshot struct {
	Connections, Links, Addresses int
	Services                      int // addresses that only services of the router use
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
	DroppedPreset                                  uint64 // sent settled, and nobody there to take it
	ContainerIn, ContainerOut                      uint64 // messages on connections of role route-container
	Delayed, VeryDelayed                           uint64 // settled a second, ten seconds after they had come

	Stuck      int // deliveries that a receiver has not settled for long
	LinksStuck int // links with such deliveries, or that wait for something for long

	PooledBytes int64 // memory of buffers that nobody holds
	BufferLimit int64 // of ChunkBytes, above which peers are asked for nothing more; 0 for none
	MemoryLimit int64 // of the process; 0 for none
	ByClass     []Class
	ByAddress   []Address
	ByPeer      []Peer
	PeersAll    Peer // of all peers that there have ever been
	Version     string
	ID, Mode    string
	WebSockets  int // connections that are such

	Totals *Totals // of the router entity; nil if they are not known

	Mesh *Mesh // nil for a router that is alone
	Edge *Edge // nil for a router that neither is nor has an edge router
}

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
	descStuck       = gauge("deliveries_stuck", "Deliveries that a receiver has not settled for stuckDeliverySeconds.")
	descLinksStuck  = gauge("links_stuck", "Links that have had deliveries and waited for something for that long.")
	descMemory      = gauge("memory_bytes", "Resident memory of the process, by what it is for.", "part")
	descMemoryLimit = gauge("memory_limit_bytes", "Memory that the process may use; 0 if there is no limit.")
	descBufferLimit = gauge("buffer_limit_bytes", "Memory of buffers above which peers are asked for nothing more; 0 if there is no limit.")
	descWebSockets  = gauge("websockets", "Connections that are WebSockets.")
	descInfo        = gauge("info", "1; the labels say what runs.", "version", "id", "mode")
	descDuration    = gauge("measurement_seconds", "Time that it took to measure all this.")
	descOutcomes    = gauge("deliveries_outcomes_total", "Outcomes passed to senders; presettled counts deliveries that want none.", "outcome")
)
