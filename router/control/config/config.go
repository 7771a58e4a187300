package config

import (
	"crypto/tls"
	"net"
	"time"

	"sluice/router/address"
	"sluice/router/control/auth"
	"sluice/router/control/logging"
	"sluice/router/control/tlsprofile"
)

// Config is a whole configuration with every default applied. Entities are in
// the order of the files.
type Config struct {
	Router      Router
	Listeners   []Listener // of AMQP and HTTP; see Listener.HTTP
	Connectors  []Connector
	SSLProfiles []SSLProfile
	Addresses   []Address
	Logs        []Log
	LogLevels   *logging.Mask // for all modules, whatever Logs says; nil: not overridden
	Warnings    Problems      // what does not keep the router from running
}

// Position is a place in a file. Line and Column count from 1; Column counts
// bytes. They are 0 for what stands in no file.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Embedded reports whether the place is in the default configuration, which is
// in no file.
func (p Position) Embedded() bool { return p.File == defaultFile }

// Mode is the mode of a router.
type Mode string

const (
	Standalone Mode = "standalone"
	Interior   Mode = "interior"
	EdgeMode   Mode = "edge"
)

// Role is what a listener or connector is for.
type Role string

const (
	RoleNormal         Role = "normal"
	RoleInterRouter    Role = "inter-router"
	RoleRouteContainer Role = "route-container"
	RoleEdge           Role = "edge"
)

// Distribution is the way in which an address chooses destinations.
type Distribution string

const (
	Multicast   Distribution = "multicast"
	Closest     Distribution = "closest"
	Balanced    Distribution = "balanced"
	Unavailable Distribution = "unavailable"
)

// Strip says at which side of a connection router annotations are removed.
type Strip string

const (
	StripIn   Strip = "in"
	StripOut  Strip = "out"
	StripBoth Strip = "both"
	StripNone Strip = "no"
)

// In reports whether annotations of incoming messages are removed.
func (s Strip) In() bool { return s == StripIn || s == StripBoth }

// Out reports whether annotations of outgoing messages are removed.
func (s Strip) Out() bool { return s == StripOut || s == StripBoth }

// Router is the router entity. There is exactly one.
type Router struct {
	Pos                     Position
	ID                      string // never empty
	Mode                    Mode
	Metadata                string
	HelloInterval           time.Duration
	HelloMaxAge             time.Duration
	RAInterval              time.Duration
	RAIntervalFlux          time.Duration
	RemoteLSMaxAge          time.Duration
	WorkerThreads           int
	AllowUnsettledMulticast bool
	AllowResumableLinkRoute bool
	DefaultDistribution     Distribution
	TimestampsInUTC         bool

	// Own attributes.
	MemoryLimit     int64         // bytes; 0: from the container, or none
	ShutdownTimeout time.Duration // how long a shutdown may drain
	MetricsSeries   int           // addresses, and peers, that are measured one by one
	StuckDelivery   time.Duration // age from which a delivery is warned of; 0: never
}

// Limits are what listeners and connectors have in common: how a connection
// may use the router. Byte budgets are explained in the design: session
// (stage 1), content (stage 2), outgoing (stage 3).
type Limits struct {
	MaxFrameSize     uint32 // at least 512
	MaxSessions      int    // channel-max + 1; 1 to 32768
	MaxSessionFrames uint32 // upper limit of incoming-window, in frames; 0: none
	MaxLinks         uint32 // per session: handle-max + 1; at least 1
	LinkCapacity     int    // deliveries of credit per link; at least 1
	SessionBytes     int64  // budget of a session's incoming-window
	LinkBytes        int64  // budget of one incoming link: credit × recent size
	OutgoingHigh     int64  // an outgoing link holds off its feeders at this many bytes …
	OutgoingLow      int64  // … and releases them at this many
	UnboundBytes     int64  // budget of a delivery that has no destination yet
	MaxMessageSize   uint64 // 0: none
	IdleTimeout      time.Duration
	StripAnnotations Strip
	Trace            bool // log every frame
}

// minWindow is the least incoming-window that a byte budget may lead to, in
// frames. Below it a session waits for the network more than it sends.
const minWindow = 8

// IncomingWindow returns the incoming-window of a session, in frames, for the
// max-frame-size that was negotiated.
func (l *Limits) IncomingWindow(maxFrameSize uint32) uint32 {
	window := uint32(minWindow)
	if maxFrameSize > 0 {
		if w := l.SessionBytes / int64(maxFrameSize); w > int64(window) {
			window = uint32(min(w, 1<<31-1))
		}
	}
	if l.MaxSessionFrames > 0 && window > l.MaxSessionFrames {
		window = l.MaxSessionFrames
	}
	return window
}

// Listener is a listener entity.
type Listener struct {
	Limits
	Pos              Position
	Name             string // as given; empty if not
	Host             string // empty: all addresses
	Port             string // number or service name; "0": any free port
	Family           string // "", "IPv4" or "IPv6"
	Role             Role
	Cost             int
	SSLProfile       string   // name of an SSLProfile, or empty
	SASLMechanisms   []string // upper case; empty: all that can be offered
	SASLUsersFile    string   // users for PLAIN, or empty
	AuthenticatePeer bool
	RequireEncrypted bool // requireEncryption
	RequireSSL       bool
	HandshakeTimeout time.Duration // 0: the router's own deadline
	FailoverURLs     []string      // sent to peers
	OpenProperties   map[string]any
	AllowInsecure    bool // no warning for an open door
	HTTP             bool // speaks HTTP, not AMQP
	HTTPRootDir      string
	Healthz          bool // with HTTP
	Metrics          bool // with HTTP
	WebSockets       bool // with HTTP
	WebSocketOrigins []string
}

// Address returns host:port for net.Listen.
func (l *Listener) Address() string { return net.JoinHostPort(l.Host, dialPort(l.Port)) }

// Network returns the network for net.Listen.
func (l *Listener) Network() string { return network(l.Family, l.Host) }

// ClientAuth says what TLS asks of clients. A certificate is demanded where
// nothing else lets a client in: where EXTERNAL is the only mechanism of those
// listed that can be used, and over HTTP, where authenticatePeer means one unless
// there are users with passwords. Beside other mechanisms it is asked for, and
// verified if it is given.
func (l *Listener) ClientAuth() tls.ClientAuthType {
	external := contains(l.SASLMechanisms, "EXTERNAL")
	plain := contains(l.SASLMechanisms, "PLAIN") && l.SASLUsersFile != ""
	anonymous := contains(l.SASLMechanisms, "ANONYMOUS") && !l.AuthenticatePeer
	switch {
	case l.HTTP && l.AuthenticatePeer:
		if l.TakesPasswords() {
			return tls.VerifyClientCertIfGiven
		}
		return tls.RequireAndVerifyClientCert
	case !external:
		return tls.NoClientCert
	case plain || anonymous:
		return tls.VerifyClientCertIfGiven
	}
	return tls.RequireAndVerifyClientCert
}

// TakesPasswords tells whether users may show who they are with a password.
func (l *Listener) TakesPasswords() bool {
	return l.SASLUsersFile != "" && (len(l.SASLMechanisms) == 0 || contains(l.SASLMechanisms, "PLAIN"))
}

// Connector is a connector entity.
type Connector struct {
	Limits
	Pos            Position
	Name           string // as given; empty if not
	Host           string
	Port           string
	Family         string
	Role           Role
	Cost           int
	SSLProfile     string
	VerifyHostname bool
	SASLMechanisms []string
	SASLUsername   string
	SASLPassword   auth.Secret // resolved
	OpenProperties map[string]any
	AllowInsecure  bool
}

// Address returns host:port for net.Dial.
func (c *Connector) Address() string { return net.JoinHostPort(c.Host, dialPort(c.Port)) }

// Network returns the network for net.Dial.
func (c *Connector) Network() string { return network(c.Family, "") }

// SSLProfile is an sslProfile entity; its files were read once to check them.
type SSLProfile struct {
	tlsprofile.Spec
	Pos Position
}

// Address is an address entity: how addresses that match are treated.
type Address struct {
	Pos          Position
	Name         string
	Prefix       string // as given; one of Prefix and Pattern is set
	Pattern      string // as given
	Match        address.Pattern
	Distribution Distribution
	Waypoint     bool
	IngressPhase int // -1: not given
	EgressPhase  int // -1: not given
	Priority     int // -1: not given
	Fallback     bool

	// Own attributes.
	WaitingHighBytes  int64         // no new credit from here …
	WaitingLowBytes   int64         // … until here; bytes of waiting deliveries
	WaitingHighCount  int           // the same in deliveries
	WaitingLowCount   int           //
	UnsettledTimeout  time.Duration // an unsettled delivery becomes modified; 0: never
	Redeliver         bool          // requeue what a lost receiver had not settled
	MulticastPatience time.Duration // a slow copy is dropped after; 0: never
}

// DefaultAddress returns the treatment of addresses that match no entity.
func DefaultAddress() Address {
	return Address{
		Distribution: Balanced, IngressPhase: -1, EgressPhase: -1, Priority: -1,
		WaitingHighBytes: 16 << 20, WaitingLowBytes: 8 << 20,
		WaitingHighCount: 10000, WaitingLowCount: 5000,
	}
}

// Log is a log entity.
type Log struct {
	logging.Setting
	Pos Position
}

// LogSettings returns what logging.Logs.Apply wants.
func (c *Config) LogSettings() []logging.Setting {
	settings := make([]logging.Setting, len(c.Logs))
	for i := range c.Logs {
		settings[i] = c.Logs[i].Setting
	}
	return settings
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// dialPort turns service names that not every system lists into numbers.
func dialPort(port string) string {
	switch port {
	case "amqp":
		return "5672"
	case "amqps":
		return "5671"
	}
	return port
}

func network(family, host string) string {
	switch {
	case family == "IPv4", host == "0.0.0.0":
		return "tcp4"
	case family == "IPv6", host == "::":
		return "tcp6"
	}
	return "tcp"
}
