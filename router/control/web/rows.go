package web

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// An Address is what one address measures.
type Address struct {
	Name      string
	Temporary bool // its name is of no interest: it is folded

	In, Out, Dropped               uint64 // deliveries
	Waiting                        int
	WaitingBytes                   int64
	Gate                           int // 0: credit is granted; 1: full; 2: nobody receives
	Consumers, Producers, NextHops int
	Credit                         int64 // of the consumers, left
	Outstanding                    int64 // deliveries bound and without an outcome
}

// A Peer is what the connections of one user with one container-id measure, for
// one role; those that have ended count, too.
type Peer struct {
	Container, User, Role string

	Open, Links, Blocked        int
	OutgoingBytes               int64
	BytesIn, BytesOut           uint64 // on the sockets
	DeliveriesIn, DeliveriesOut uint64
}

// Carried is what links have carried.
type Carried struct{ Deliveries, Bytes uint64 }

// A Class is what the links of one class measure, by the direction in which they
// carry messages.
type Class struct {
	Name                  string
	LinksIn, LinksOut     int
	CarriedIn, CarriedOut Carried
}

// other is what stands for all that are not shown.
const other = "other"

// maxLabel is the most bytes of a name that are shown: peers choose them.
const maxLabel = 128

// label makes a label of a name.
func label(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if len(name) <= maxLabel {
		return name
	}
	n := maxLabel
	for !utf8.RuneStart(name[n]) {
		n--
	}
	return name[:n] + "…"
}

// Generated stands for container-ids that are made up for each connection.
const Generated = "generated"

var (
	ownTool = regexp.MustCompile(`^(sluice-(?:stat|manage|check|send|receive|bench))-[0-9]+$`)
	// madeUp are a UUID, or 20 letters and digits in a row that are no word: with two
	// digits at least.
	madeUp = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-z_]{20,}`)
)

// ContainerLabel returns the label of a container-id. Clients that make one up for
// each connection would leave a series each time: they are one, called [Generated],
// for each user and role. Tools of this router are known without their process.
func ContainerLabel(id string) string {
	if m := ownTool.FindStringSubmatch(id); m != nil {
		return m[1]
	}
	for _, run := range madeUp.FindAllString(id, -1) {
		if digits := strings.Count(strings.Map(func(c rune) rune {
			if c < '0' || c > '9' {
				return -1
			}
			return '0'
		}, run), "0"); digits >= 2 {
			return Generated
		}
	}
	return id
}

var (
	descAddressDel     = gauge("address_deliveries_total", "Deliveries received for an address (in) and bound to its destinations (out).", "address", "direction")
	descAddressDrop    = gauge("address_dropped_total", "Deliveries to an address that found no receiver.", "address")
	descAddressWaiting = gauge("address_waiting", "Deliveries that wait at an address for a destination with credit.", "address")
	descAddressBytes   = gauge("address_waiting_bytes", "Bytes of those.", "address")
	descAddressGate    = gauge("address_gate", "What senders to an address get: 0 credit, 1 none because it is full, 2 none because nobody receives.", "address")
	descAddressIn      = gauge("address_consumers", "Links of this router that receive from an address.", "address")
	descAddressOut     = gauge("address_producers", "Links of this router that send to an address.", "address")
	descAddressHops    = gauge("address_next_hops", "Other routers by which consumers of an address are reached.", "address")
	descAddressCredit  = gauge("address_credit", "Credit that the consumers of an address here have left.", "address")
	descAddressOpen    = gauge("address_outstanding", "Deliveries of an address that are bound and have no outcome.", "address")

	peerLabels      = []string{"container", "user", "role"}
	descPeerOpen    = gauge("connection_open", "Connections of a peer.", peerLabels...)
	descPeerLinks   = gauge("connection_links", "Links on them.", peerLabels...)
	descPeerBlocked = gauge("connection_blocked", "Those whose socket does not take what is to be written.", peerLabels...)
	descPeerOut     = gauge("connection_outgoing_bytes", "Bytes handed to their outgoing links and not written.", peerLabels...)
	descPeerBytes   = gauge("connection_bytes_total", "Bytes read from (in) and written to (out) the sockets of a peer.", append(peerLabels[:3:3], "direction")...)
	descPeerDel     = gauge("connection_deliveries_total", "Deliveries received from (in) and sent to (out) a peer.", append(peerLabels[:3:3], "direction")...)

	descClassLinks = gauge("class_links", "Links of a class that are attached.", "class", "direction")
	descClassDel   = gauge("class_deliveries_total", "Deliveries on links of a class.", "class", "direction")
	descClassBytes = gauge("class_bytes_total", "Payload bytes on links of a class.", "class", "direction")

	descFolded = gauge("series_folded", "Addresses and peers that are not shown by themselves, but in the series other.", "by")
)

// addresses reports the busiest addresses.
func (c *collection) addresses(list []Address, totals []uint64, f *folder, now time.Time) {
	rows := make([]Row, len(list))
	for i := range list {
		a := &list[i]
		rows[i] = Row{
			Labels:   []string{label(a.Name)},
			Counters: []uint64{a.In, a.Out, a.Dropped},
			Gauges: []float64{float64(a.Waiting), float64(a.WaitingBytes), float64(a.Consumers), float64(a.Producers), float64(a.NextHops),
				float64(a.Credit), float64(a.Outstanding), float64(a.Gate)},
			Activity: a.In + a.Out,
			Folded:   a.Temporary || a.Name == other,
		}
	}
	shown, rest, folded := f.fold(merge(rows), totals, now)
	report := func(r *Row, name string) {
		c.count(descAddressDel, r.Counters[0], name, "in")
		c.count(descAddressDel, r.Counters[1], name, "out")
		c.count(descAddressDrop, r.Counters[2], name)
		for i, d := range []*prometheus.Desc{descAddressWaiting, descAddressBytes, descAddressIn, descAddressOut, descAddressHops, descAddressCredit, descAddressOpen} {
			if r.Gauges != nil {
				c.gauge(d, r.Gauges[i], name)
			}
		}
	}
	for i := range shown {
		report(&shown[i], shown[i].Labels[0])
		c.gauge(descAddressGate, shown[i].Gauges[7], shown[i].Labels[0])
	}
	if folded > 0 || sum(rest.Counters) > 0 {
		report(&rest, other)
	}
	c.gauge(descFolded, float64(folded), "address")
}

// peers reports the busiest peers.
func (c *collection) peers(list []Peer, all Peer, f *folder, now time.Time) {
	rows := make([]Row, len(list))
	for i := range list {
		p := &list[i]
		rows[i] = Row{
			Labels:   []string{label(p.Container), label(p.User), p.Role},
			Counters: []uint64{p.BytesIn, p.BytesOut, p.DeliveriesIn, p.DeliveriesOut},
			Gauges:   []float64{float64(p.Open), float64(p.Links), float64(p.Blocked), float64(p.OutgoingBytes)},
			Activity: p.BytesIn + p.BytesOut,
		}
	}
	shown, rest, folded := f.fold(merge(rows), []uint64{all.BytesIn, all.BytesOut, all.DeliveriesIn, all.DeliveriesOut}, now)
	report := func(r *Row, container, user, role string) {
		for i, d := range []*prometheus.Desc{descPeerOpen, descPeerLinks, descPeerBlocked, descPeerOut} {
			if r.Gauges != nil {
				c.gauge(d, r.Gauges[i], container, user, role)
			}
		}
		c.count(descPeerBytes, r.Counters[0], container, user, role, "in")
		c.count(descPeerBytes, r.Counters[1], container, user, role, "out")
		c.count(descPeerDel, r.Counters[2], container, user, role, "in")
		c.count(descPeerDel, r.Counters[3], container, user, role, "out")
	}
	for i := range shown {
		l := shown[i].Labels
		report(&shown[i], l[0], l[1], l[2])
	}
	if folded > 0 || sum(rest.Counters) > 0 {
		report(&rest, other, "", "") // no connection is without a role
	}
	c.gauge(descFolded, float64(folded), "connection")
}

// classes reports the classes of links.
func (c *collection) classes(list []Class) {
	for i := range list {
		k := &list[i]
		c.gauge(descClassLinks, float64(k.LinksIn), k.Name, "in")
		c.gauge(descClassLinks, float64(k.LinksOut), k.Name, "out")
		c.count(descClassDel, k.CarriedIn.Deliveries, k.Name, "in")
		c.count(descClassDel, k.CarriedOut.Deliveries, k.Name, "out")
		c.count(descClassBytes, k.CarriedIn.Bytes, k.Name, "in")
		c.count(descClassBytes, k.CarriedOut.Bytes, k.Name, "out")
	}
}

// merge adds up rows whose names are the same once they are labels.
func merge(rows []Row) []Row {
	at := make(map[string]int, len(rows))
	merged := rows[:0]
	for _, r := range rows {
		key := keyOf(r.Labels)
		i, twice := at[key]
		if !twice {
			at[key] = len(merged)
			merged = append(merged, r)
			continue
		}
		m := &merged[i]
		for j, n := range r.Counters {
			m.Counters[j] += n
		}
		for j, n := range r.Gauges {
			m.Gauges[j] += n
		}
		m.Activity += r.Activity
		m.Folded = m.Folded && r.Folded
	}
	return merged
}

func sum(list []uint64) (n uint64) {
	for _, v := range list {
		n += v
	}
	return n
}
