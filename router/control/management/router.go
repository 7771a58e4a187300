package management

import (
	"time"

	"sluice/amqp/encoding"
	"sluice/router/control/config"
	"sluice/router/control/logging"
)

// A Router is what is managed. Its methods may be called from any goroutine and
// without any lock. They look at live state in short holds, one entity at a
// time; an entity may have gone between the call that lists it and that which
// looks at it.
type Router interface {
	// Self is the router entity of the configuration.
	Self() config.Router
	// Overview adds up all that there is: it takes longer than other methods.
	Overview() Overview

	// Connections are the numbers of those with peers, ascending.
	Connections() []uint64
	Connection(id uint64) (Connection, bool)
	// CloseConnection closes one with amqp:connection:forced. One that has ended
	// already is no error.
	CloseConnection(id uint64) error
	// TraceConnection has every frame of one logged, or no more.
	TraceConnection(id uint64, on bool) error

	// Links are the numbers of those with peers, ascending.
	Links() []uint64
	Link(id uint64) (Link, bool)
	// DetachLink detaches one with amqp:link:detach-forced.
	DetachLink(id uint64) error

	// Addresses are the keys of those that a link uses, in order.
	Addresses() []string
	Address(key string) (Address, bool)

	// Nodes are the interior routers of the network, this one first; none for a
	// router that is alone.
	Nodes() []Node

	Listeners() []Listener
	// ListenerWhere returns the first one that matches. Match must not call the router.
	ListenerWhere(match func(*config.Listener) bool) (l Listener, ok bool)
	CreateListener(config.Listener) error
	DeleteListener(config.Listener) error
	Connectors() []Connector
	// ConnectorWhere is as ListenerWhere.
	ConnectorWhere(match func(*config.Connector) bool) (c Connector, ok bool)
	CreateConnector(config.Connector) error
	DeleteConnector(config.Connector) error
	SSLProfiles() []config.SSLProfile
	SSLProfile(name string) (p config.SSLProfile, ok bool)
	CreateSSLProfile(config.SSLProfile) error
	DeleteSSLProfile(name string) error

	// ConfigAddresses are the numbers of the address entities, ascending.
	ConfigAddresses() []uint64
	ConfigAddress(id uint64) (config.Address, bool)
	// ConfigAddressNamed returns the number of the one with a name.
	ConfigAddressNamed(name string) (uint64, bool)
	CreateAddress(config.Address) (id uint64, err error)
	DeleteAddress(id uint64) error

	// Pools are those of buffers, the smallest first.
	Pools() []Pool

	Logs() *logging.Logs
	// LogsChanged is told when settings of logs have changed.
	LogsChanged()
}

// An Overview is the router as a whole.
type Overview struct {
	Version string
	Host    string
	Started time.Time

	Addresses, Links, Nodes, Connections                                  int
	ConnectionsTotal                                                      uint64 // there have ever been
	BlockedLinks                                                          int    // without credit for 10 s
	Presettled, DroppedPresettled, Accepted, Rejected, Released, Modified uint64
	Stuck                                                                 int    // deliveries unsettled for 10 s, on both links that they are on
	Delayed, VeryDelayed                                                  uint64 // settled a second, ten seconds after they had come
	Ingress, Egress, Transit                                              uint64
	ContainerIn, ContainerOut                                             uint64           // on connections of role route-container
	MemoryUsage                                                           uint64           // bytes of the process; 0 if not known
	Resident                                                              int64            // bytes; 0 if not known
	MemoryParts                                                           map[string]int64 // that it is made of
	IncomingBytes, MessageBytes, OutgoingBytes, BufferBytes               int64
	Managed                                                               []string // "+ listener extra", "- address a/#"
}

// A Connection is one with a peer.
type Connection struct {
	ID                  uint64
	Host                string // ip:port of who connected, configured host:port of others
	Container           string
	Role                config.Role
	In                  bool // the peer has connected
	Opened, Closing     bool
	Traced              bool // every frame is logged
	Active              bool // false for an uplink of an edge router that is not used
	Authenticated       bool
	User, SASL          string
	TLS                 bool
	TLSProto, TLSCipher string
	Properties          encoding.Map // of the peer's open
	Started             time.Time
	LastDelivery        time.Time // zero if there was none
	Links               int
	FramesIn, FramesOut uint64
	BytesIn, BytesOut   uint64
	Blocked             bool // the socket does not take what is to be written
}

// A Link is one with a peer.
type Link struct {
	ID, Connection uint64
	Name           string
	Type           string // endpoint, router-control, inter-router, edge-downlink
	In             bool   // the peer sends
	Key            string // of its address; empty if it has none of its own
	Priority       int    // of the messages it carries; -1 for any
	Capacity       uint32
	Credit         uint32
	Window         uint32 // of the session, in frames: incoming-window or remote-incoming-window

	// Counted tells whether deliveries on the link are counted: those of the control
	// plane are not.
	Counted                                                                           bool
	Deliveries, Presettled, DroppedPresettled, Accepted, Rejected, Released, Modified uint64
	TransferredBytes                                                                  uint64
	Delayed, VeryDelayed                                                              uint64 // settled a second, ten seconds after they had come
	Undelivered                                                                       int64  // deliveries
	Unsettled                                                                         int64
	Stuck                                                                             int    // unsettled for 10 s
	Rate                                                                              uint32 // settled per second, of late
	NoCredit                                                                          time.Duration

	// Bytes at the three stages: frames not pulled, messages not sent on, messages
	// bound to the link and not written.
	IncomingBytes, MessageBytes, OutgoingBytes int64

	WaitsFor     string   // what the link waits for; empty if it does not
	WaitsForPeer []string // containers that it waits for
	// WaitsForAddress is the key of the address of what it waits with; empty if it
	// does not wait, or there is none.
	WaitsForAddress string
	Waits           time.Duration // how long it does, as far as it has been seen
	Oldest          time.Time     // when the oldest unsettled delivery was sent; zero if there is none
}

// An Address is one that a link uses.
type Address struct {
	Key                                  string
	Distribution                         string
	Priority                             int // -1: that of messages
	InProcess, Subscribers, Remotes      int // destinations: of services, of peers, other routers
	RemoteRouters                        []string
	Senders                              int
	Ingress, Egress, Transit             uint64
	ToContainer, FromContainer           uint64
	Waiting                              int
	WaitingBytes, RetainedBytes          int64
	Gate                                 string // open, full, closed
	DroppedNoDestination, DroppedExpired uint64
	DroppedSlow, Redelivered, FullTimes  uint64
}

// A Node is an interior router of the network.
type Node struct {
	ID           string
	Self         bool
	Instance     int64    // 0 if not known
	Neighbors    []string // nil if not known
	NextHop      string   // empty for this router and its neighbours
	ValidOrigins []string
	Link         int // of a neighbour: the number of a connection to it; -1 if it is none
	Cost         int64
	Index        int
	Changed      time.Time // of the topology, as far as this router has seen it; zero if not known
}

// A Pool holds buffers of one size.
type Pool struct {
	Size        int   // bytes of a buffer
	Made, InUse int64 // buffers that there are, and those that hold something
}

// A Listener is a listener entity.
type Listener struct {
	config.Listener
}

// A Connector is a connector entity and how it is doing.
type Connector struct {
	config.Connector
	Status, Message string
	FailoverURLs    []string
}
