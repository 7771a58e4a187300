package router

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sluice/amqp"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/control/config"
	"sluice/router/control/logging"
	"sluice/router/control/management"
	"sluice/router/forward"
	"sluice/router/shrink"
)

const (
	// watchInterval is how often links are looked at without anybody asking.
	watchInterval = 5 * time.Second
	// stuckAfter is the age from which on a delivery counts as stuck, and a link
	// without credit as blocked.
	stuckAfter = 10 * time.Second
	// lastWords is how long a connection that management closes has to say so. A
	// peer that does not answer for longer is not waited for.
	lastWords = 100 * time.Millisecond
	// maxPeers is how many peers are named that a link waits for.
	maxPeers = 3
)

// knownLink is a link that management has seen. Links have no numbers of their
// own, because nobody but management needs any.
type knownLink struct {
	id   uint64
	conn *connection
	link transport.Link
	seen time.Time // last

	tally    links.Tally
	noCredit time.Time // since when it has had no credit; zero if it has
	waits    string    // what it waits for
	since    time.Time // since when it does

	settled uint64 // deliveries, as of rated
	rated   time.Time
	rate    uint32
}

// lookLocked looks at the links of all connections, one connection at a time.
func (m *manager) lookLocked(now time.Time) {
	m.looked = now
	old := now.Add(-stuckAfter).UnixNano()
	stuck := now.Add(-time.Duration(m.r.stuck.age.Load())).UnixNano()
	for _, c := range m.r.connections() {
		c.driver.Do(func(tc *transport.Conn) {
			tc.Sessions(func(s *transport.Session) {
				tallies := links.Tallies(s, old, stuck)
				s.Links(func(l transport.Link) {
					k := m.known[l]
					if k == nil {
						m.numbered++
						k = &knownLink{id: m.numbered, conn: c, link: l, rated: now}
						m.known[l], m.byNumber[k.id] = k, k
					}
					k.seen = now
					m.look(k, tallies, now)
				})
			})
		})
	}
	for l, k := range m.known {
		if k.seen != now {
			delete(m.known, l)
			delete(m.byNumber, k.id)
		}
	}
	m.known = shrink.Map(m.known, &m.mostKnown)
	m.byNumber = shrink.Map(m.byNumber, &m.mostNumbered)
}

// look brings what is known of a link up to date, under the lock of its
// connection.
func (m *manager) look(k *knownLink, tallies map[transport.Link]links.Tally, now time.Time) {
	credit, settled := uint32(1), uint64(0)
	switch l := k.link.(type) {
	case *links.Receiver:
		k.tally = tallies[l]
		credit, settled = l.Credit(), concluded(&l.Counters)
	case *links.Sender:
		k.tally = tallies[l]
		credit, settled = l.Credit(), concluded(&l.Counters)
	}
	switch {
	case credit > 0:
		k.noCredit = time.Time{}
	case k.noCredit.IsZero():
		k.noCredit = now
	}
	if w := m.waitsFor(k); w != k.waits {
		k.waits, k.since = w, now
	}
	if k.waits == "outcome" && k.tally.Oldest != 0 {
		k.since = time.Unix(0, k.tally.Oldest)
	}
	if d := now.Sub(k.rated); d >= watchInterval {
		k.rate = uint32(float64(settled-k.settled)/d.Seconds() + 0.5)
		k.settled, k.rated = settled, now
	}
}

func concluded(c *links.Counters) uint64 {
	return c.Presettled + c.Accepted + c.Rejected + c.Released + c.Modified
}

// waitsFor says what keeps a link from going on, under the lock of its
// connection; nothing if it could, or has nothing to do.
func (m *manager) waitsFor(k *knownLink) string {
	switch l := k.link.(type) {
	case *links.Receiver:
		a := m.addressOf(l.Info().Key)
		switch {
		case l.Held():
			return "receivers"
		case l.Info().Class == links.Endpoint && k.tally.Old > 0:
			return "outcome" // links between routers wait for what the next one waits for
		case l.Credit() > 0 || a == nil:
			return ""
		case a.Gate() == links.GateClosed:
			return "receiver"
		case a.Gate() == links.GateFull:
			return "address"
		case l.Unsettled() > 0:
			return "outcome"
		}
	case *links.Sender:
		has := l.Pending() > 0
		if a := m.addressOf(l.Info().Key); a != nil && !has && l.Credit() == 0 {
			has = a.View().Waiting > 0
		}
		switch {
		case l.Conn().Blocked.Load() && l.Outgoing() > 0:
			return "socket"
		case has && l.Credit() == 0 && k.tally.Old == 0:
			return "credit"
		case has && l.Session().RemoteWindow() == 0:
			return "window"
		case k.tally.Old > 0:
			return "outcome"
		}
	}
	return ""
}

func (m *manager) addressOf(key string) *forward.Address {
	name, ok := address.ParseKey(key)
	if !ok {
		return nil
	}
	return m.r.shared.Table.Find(name)
}

// key returns the key of the address of a link, or of what it holds: a link between
// routers has no address of its own.
func (k *knownLink) key() string {
	var info links.Info
	switch l := k.link.(type) {
	case *links.Receiver:
		info = l.Info()
	case *links.Sender:
		info = l.Info()
	}
	if a, is := k.tally.Of.(*forward.Address); is && info.Key == "" {
		return a.Key
	}
	return info.Key
}

// Links are the numbers of the links of connections with peers.
func (m *manager) Links() []uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lookLocked(time.Now())
	list := make([]uint64, 0, len(m.byNumber))
	for id := range m.byNumber {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// link returns what is known of a link.
func (m *manager) link(id uint64) (k knownLink, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.byNumber[id]; e != nil {
		return *e, true
	}
	return k, false
}

// Link looks at a link.
func (m *manager) Link(id uint64) (v management.Link, ok bool) {
	k, known := m.link(id)
	if !known {
		return v, false
	}
	now := time.Now()
	v = management.Link{ID: id, Connection: k.conn.id, Stuck: k.tally.Old, Rate: k.rate, WaitsFor: k.waits, Priority: -1}
	if !k.noCredit.IsZero() {
		v.NoCredit = now.Sub(k.noCredit)
	}
	if k.waits != "" {
		v.Waits = now.Sub(k.since)
	}
	if k.tally.Oldest != 0 {
		v.Oldest = time.Unix(0, k.tally.Oldest)
	}
	k.conn.driver.Do(func(*transport.Conn) { ok = view(&v, &k) })
	key := k.key()
	if ok && k.waits != "" {
		v.WaitsForAddress, v.WaitsForPeer = key, m.peers(&k, key)
	}
	return v, ok
}

// view fills in what the link itself says, under the lock of its connection. It
// returns false if the link has gone.
func view(v *management.Link, k *knownLink) bool {
	var ep *transport.Endpoint
	switch l := k.link.(type) {
	case *links.Receiver:
		ep = l.Endpoint()
		v.In, v.Key, v.Type = true, l.Info().Key, linkType(l.Info().Class, k.conn)
		v.Capacity, v.Credit, v.Window = l.Limits().Capacity, l.Credit(), l.Session().Window()
		count(v, &l.Counters)
		v.DroppedPresettled, v.Unsettled = l.Dropped(), l.Unsettled()
		v.IncomingBytes, v.MessageBytes = l.Waiting(), l.Undelivered()
	case *links.Sender:
		ep = l.Endpoint()
		v.Key, v.Type = l.Info().Key, linkType(l.Info().Class, k.conn)
		v.Capacity, v.Credit, v.Window = l.Limits().Capacity, l.Credit(), l.Session().RemoteWindow()
		count(v, &l.Counters)
		v.Undelivered, v.Unsettled, v.OutgoingBytes = int64(l.Pending()), int64(k.tally.Deliveries), l.Outgoing()
		if p, ok := l.Priority(); ok {
			v.Priority = p
		}
	case interface{ Endpoint() *transport.Endpoint }: // of the control plane, which counts nothing
		ep = l.Endpoint()
		v.In, v.Type = ep.Role() == amqp.RoleReceiver, "router-control"
	default:
		return false
	}
	v.Name = ep.Name()
	return ep.Attached()
}

func count(v *management.Link, c *links.Counters) {
	v.Counted = true
	v.Deliveries, v.Presettled, v.Accepted, v.Rejected, v.Released, v.Modified = c.Deliveries, c.Presettled, c.Accepted, c.Rejected, c.Released, c.Modified
	v.TransferredBytes = c.Bytes
	v.Delayed, v.VeryDelayed = c.Delayed, c.VeryDelayed
}

func linkType(c links.Class, conn *connection) string {
	switch {
	case c == links.EdgeUplink && conn.edge != nil:
		return "edge-downlink"
	case c == links.Endpoint:
		return "endpoint"
	}
	return "inter-router"
}

// peers names those that a link waits for, as far as they are known.
func (m *manager) peers(k *knownLink, key string) []string {
	switch k.waits {
	case "credit", "window", "socket":
		return []string{k.conn.container()}
	case "outcome":
		if _, out := k.link.(*links.Sender); out {
			return []string{k.conn.container()}
		}
		return m.unsettled(key)
	case "receivers", "address":
	default:
		return nil
	}
	a := m.addressOf(key)
	if a == nil {
		return nil
	}
	var slow []*transport.Conn
	var names []string
	a.Destinations(func(s *links.Sender) {
		if len(slow) < maxPeers && !slices.Contains(slow, s.Conn()) {
			slow = append(slow, s.Conn())
		}
	})
	for _, c := range m.r.connections() {
		if slices.Contains(slow, c.driver.Conn()) {
			names = append(names, c.container())
		}
	}
	for _, f := range a.Far() {
		if len(names) < maxPeers && f.Pending > 0 {
			names = append(names, f.Hop)
		}
	}
	return names
}

// unsettled names those who have left deliveries of an address unsettled for long,
// and the routers to which such are on their way.
func (m *manager) unsettled(key string) (names []string) {
	a := m.addressOf(key)
	if a == nil {
		return nil
	}
	var late []*connection
	m.mu.Lock()
	a.Destinations(func(s *links.Sender) {
		if k := m.known[s]; k != nil && k.tally.Old > 0 && len(late) < maxPeers && !slices.Contains(late, k.conn) {
			late = append(late, k.conn)
		}
	})
	m.mu.Unlock()
	for _, c := range late {
		names = append(names, c.container())
	}
	for _, f := range a.Far() {
		if len(names) < maxPeers && f.Pending > 0 {
			names = append(names, f.Hop)
		}
	}
	return names
}

// container is the peer's container-id.
func (c *connection) container() (id string) {
	c.driver.Do(func(tc *transport.Conn) { id = tc.Remote().ContainerID })
	return id
}

// DetachLink detaches a link, which its peer may attach again.
func (m *manager) DetachLink(id uint64) error {
	k, ok := m.link(id)
	if !ok {
		return management.ErrNotFound
	}
	if joins(k.conn.role) {
		return management.Forbidden("Links between routers are the routers' own; " + k.conn.ending())
	}
	k.conn.log.Info().Uint64("link", id).Msg("the link is detached by management")
	k.conn.driver.Do(func(*transport.Conn) {
		if l, ok := k.link.(interface{ Endpoint() *transport.Endpoint }); ok && l.Endpoint().Attached() {
			l.Endpoint().Detach(true, amqp.Errorf(amqp.CondDetachForced, "the link was detached by management"))
		}
	})
	return nil
}

// joins tells whether connections of a role are to other routers, which
// management does not touch.
func joins(role config.Role) bool { return role == config.RoleInterRouter || role == config.RoleEdge }

// CloseConnection closes a connection; one that has ended is closed already.
func (m *manager) CloseConnection(id uint64) error {
	c := m.connection(id)
	if c == nil {
		m.r.mu.Lock()
		defer m.r.mu.Unlock()
		if id == 0 || id > m.r.nextID {
			return fmt.Errorf("there is no connection %d", id)
		}
		return nil
	}
	if joins(c.role) {
		return management.Forbidden(c.ending())
	}
	c.log.Info().Msg("Connection force-closed by management")
	c.driver.Close(amqp.Errorf(amqp.CondConnectionForced, "the connection was closed by management"))
	_, serving := m.r.running.contexts()
	m.r.running.start(serving, func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(lastWords):
			c.driver.Abort()
		}
	})
	return nil
}

// ending says how a connection to another router can be ended.
func (c *connection) ending() string {
	id := ""
	c.driver.Do(func(*transport.Conn) { id = c.handler.Container })
	if c.connector != nil {
		return fmt.Sprintf("The connection to router %s ends with its connector: delete %s.", id, c.connector.Name)
	}
	return fmt.Sprintf("The connection from router %s ends with its connector: delete that one, at router %[1]s.", id)
}

// TraceConnection has every frame of a connection logged, whatever the levels are,
// or no more.
func (m *manager) TraceConnection(id uint64, on bool) error {
	c := m.connection(id)
	if c == nil {
		return fmt.Errorf("there is no connection %d", id)
	}
	c.driver.Do(func(tc *transport.Conn) {
		c.traced = on
		tc.Config().Trace = m.r.traceOf(c)
	})
	return nil
}

// LogsChanged begins or ends to log frames where levels say so.
func (m *manager) LogsChanged() {
	for _, c := range m.r.connections() {
		c.driver.Do(func(tc *transport.Conn) { tc.Config().Trace = m.r.traceOf(c) })
	}
}

// traceOf returns what logs the frames of a connection; nil if nothing does.
func (r *Router) traceOf(c *connection) func(bool, uint16, []byte) {
	if !c.traced && !r.logs.Enabled(logging.Protocol, logging.Trace) {
		return nil
	}
	return r.tracer(c.id, r.logs.Logger(logging.Protocol), c.traced)
}

func (m *manager) connection(id uint64) *connection {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	return m.r.conns[id]
}
