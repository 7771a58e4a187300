package router

import (
	"crypto/tls"
	"slices"
	"strings"
	"time"

	"sluice/amqp/encoding"
	"sluice/amqp/transport"
	"sluice/buffers"
	"sluice/links"
	"sluice/router/control/management"
	"sluice/router/forward"
)

// Connections are the numbers of those with peers.
func (m *manager) Connections() []uint64 {
	var list []uint64
	for _, c := range m.r.connections() {
		list = append(list, c.id)
	}
	return list
}

// Connection looks at a connection.
func (m *manager) Connection(id uint64) (v management.Connection, ok bool) {
	c := m.connection(id)
	if c == nil {
		return v, false
	}
	v = management.Connection{
		ID: id, Host: c.peer, Role: c.role, In: c.dir == "in", TLS: c.tls, Started: c.started, Active: true,
		BytesIn: c.driver.BytesIn.Load(), BytesOut: c.driver.BytesOut.Load(),
	}
	if s := c.secured; s != nil {
		v.TLSProto, v.TLSCipher = protocolName(s.Version), tls.CipherSuiteName(s.CipherSuite)
	}
	c.driver.Do(func(tc *transport.Conn) {
		v.Closing = tc.Closing() || tc.Ended()
		v.Opened, v.Links = tc.Opened() || v.Closing, tc.LinkCount()
		v.Traced = c.traced
		v.FramesIn, v.FramesOut, v.Blocked = tc.FramesIn, tc.FramesOut, tc.Blocked.Load()
		v.User, v.SASL, v.Container = c.handler.User, c.handler.Mechanism, tc.Remote().ContainerID
		v.Properties = openProperties(tc.Remote().Properties)
		if tc.Carried != 0 {
			v.LastDelivery = time.Unix(0, tc.Carried)
		}
	})
	v.Authenticated = v.SASL != "" // ANONYMOUS too, as the tools expect
	switch {
	case c.uplink != nil:
		v.Active = m.r.Edge().Active == id
	case c.edge != nil:
		for _, e := range m.r.edges.All() {
			if e.Conn == id {
				v.Active = e.Router != ""
			}
		}
	}
	return v, true
}

// openProperties reads the properties of an open; what cannot be read is none.
func openProperties(encoded []byte) encoding.Map {
	d := encoding.NewDecoder(encoded)
	v, err := d.Any()
	if err != nil {
		return nil
	}
	m, _ := v.(encoding.Map)
	return m
}

// protocolName is the name that OpenSSL has for a version of TLS, which tools
// show.
func protocolName(version uint16) string {
	switch version {
	case tls.VersionTLS10:
		return "TLSv1"
	case tls.VersionTLS11:
		return "TLSv1.1"
	case tls.VersionTLS12:
		return "TLSv1.2"
	case tls.VersionTLS13:
		return "TLSv1.3"
	}
	return tls.VersionName(version)
}

// Pools are those of buffers.
func (m *manager) Pools() []management.Pool {
	var list []management.Pool
	for _, c := range buffers.Classes() {
		list = append(list, management.Pool{Size: c.Size, Made: c.Made, InUse: c.Held})
	}
	return list
}

// Addresses are the keys of those that a link uses. Those of replies are the last:
// they come and go all the time, and who asks for page after page would miss as
// many others as have gone before them.
func (m *manager) Addresses() []string {
	var list []string
	m.r.shared.Table.All(func(a *forward.Address) { list = append(list, a.Key) })
	local := func(key string) bool { return strings.HasPrefix(key, "L") }
	slices.SortFunc(list, func(a, b string) int {
		switch {
		case local(a) == local(b):
			return strings.Compare(a, b)
		case local(a):
			return 1
		}
		return -1
	})
	return list
}

// Address looks at an address.
func (m *manager) Address(key string) (v management.Address, ok bool) {
	a := m.addressOf(key)
	if a == nil {
		return v, false
	}
	state, far := a.View(), a.Far()
	v = management.Address{
		Key: key, Distribution: state.Distribution.String(), Priority: a.Priority,
		Subscribers: a.Near(), Remotes: len(far), Senders: state.Senders, RemoteRouters: []string{},
		Ingress: a.Stats.Ingress.Load(), Egress: a.Stats.Egress.Load(),
		Waiting: state.Waiting, WaitingBytes: state.WaitingBytes, RetainedBytes: state.Retained, Gate: gateNames[state.Gate],
		DroppedNoDestination: a.Stats.DroppedNoDestination.Load(), DroppedExpired: a.Stats.DroppedExpired.Load(),
		DroppedSlow: a.Stats.DroppedSlow.Load(), Redelivered: a.Stats.Redelivered.Load(), FullTimes: a.Stats.GateClosed.Load(),
	}
	// What came from other interior routers entered the network there.
	v.Ingress -= min(a.Stats.FromRouters.Load(), v.Ingress)
	v.InProcess = max(state.Destinations-v.Subscribers-v.Remotes-m.uplinksOf(a), 0)
	for _, f := range far {
		if f.Routers == nil { // what is behind an edge connection is not known
			f.Routers = []string{f.Hop}
		}
		v.RemoteRouters = append(v.RemoteRouters, f.Routers...)
	}
	slices.Sort(v.RemoteRouters)
	v.Remotes = len(v.RemoteRouters)
	v.Transit = a.Stats.ToRouters.Load()
	v.Egress -= min(v.Transit, v.Egress)
	if v.InProcess > 0 && v.Subscribers == 0 { // all that left went to a service
		v.Egress, v.ToContainer = 0, v.Egress
	}
	return v, true
}

// uplinksOf is the number of destinations of an address that lead to the network of
// this edge router.
func (m *manager) uplinksOf(a *forward.Address) (n int) {
	if m.r.uplinks != nil {
		a.Destinations(func(s *links.Sender) {
			if s.Info().Class == links.EdgeUplink {
				n++
			}
		})
	}
	return n
}

var gateNames = [...]string{"open", "full", "closed"}
