package transport

import (
	"sync"
	"sync/atomic"
	"time"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/sasl"
)

// Config is what the layer above decides about a connection before it starts.
// Durations of zero mean none.
type Config struct {
	ContainerID  string
	Hostname     string // sent in open; the client role only
	MaxFrameSize uint32 // bytes; raised to 512 (§2.7.1)
	ChannelMax   uint16
	HandleMax    uint32
	IdleTimeout  time.Duration // silence after which the peer is given up; half of it is announced

	OfferedCapabilities []amqp.Symbol
	DesiredCapabilities []amqp.Symbol
	Properties          []byte // encoded map

	// SessionBytes is the budget of stage one: the bytes that the unpulled
	// frames of one session may occupy. Divided by MaxFrameSize it gives the
	// incoming-window; MaxSessionFrames, if not zero, limits that further.
	SessionBytes     int
	MaxSessionFrames uint32

	// Client makes this end speak first.
	Client bool
	// SASLServer starts the server side of an exchange; nil offers no SASL.
	SASLServer func() *sasl.Server
	// SASLClient is the client side of the exchange; nil skips the SASL layer.
	SASLClient *sasl.Client
	// RequireSASL refuses peers that start without SASL.
	RequireSASL bool

	// Trace, if not nil, is called with every frame body in both directions.
	Trace func(out bool, channel uint16, body []byte)
}

// A Handler is the layer above: it answers open and attach.
type Handler interface {
	// Authenticated tells who the peer is, before its open. It is called once,
	// with an empty name when there was no SASL layer.
	Authenticated(c *Conn, user, mechanism string)
	// Opened answers the peer's open. An error refuses the connection.
	Opened(c *Conn, open *frames.Open) *amqp.Error
	// Attach answers the peer's attach with a link and the reply to send, in
	// which handle, name and role are filled in by the session. An error
	// refuses the link.
	Attach(s *Session, a *frames.Attach) (Link, *frames.Attach, *amqp.Error)
	// Attached is called after the reply has been queued.
	Attached(l Link)
	// Closed is called once, when no frame will be handled any more. The error
	// is nil when both sides closed without one.
	Closed(c *Conn, cause *CloseCause)
}

// A CloseCause tells why a connection ended.
type CloseCause struct {
	Err    *amqp.Error
	Remote bool // the peer sent it
}

type connState uint8

// The states are those of §2.4.6 as far as they make a difference here.
const (
	stateHeader    connState = iota // a protocol header is expected
	stateSASL                       // a SASL exchange is going on
	stateOpenWait                   // the peer's open is expected
	stateOpened                     // both have sent open
	stateCloseSent                  // we sent close; what comes is discarded until the peer's
	stateEnd                        // nothing more comes or goes
)

// An Owner moves the bytes of a Conn: the driver.
type Owner interface {
	// Kick makes the owner process the inbox and the output soon. It never
	// blocks and may be called from any goroutine.
	Kick()
}

// A Locker is an Owner that lets others at its Conn, under the lock: the driver.
type Locker interface{ Do(func(*Conn)) }

// A Conn is the AMQP state of one connection. It owns no goroutine, clock or
// socket: frames go in through Consume, come out through Encode, and time is
// an argument. It is not safe for concurrent use, and is guarded by its driver;
// only Post may be called from anywhere.
type Conn struct {
	cfg     Config
	handler Handler
	owner   Owner
	// Tag is the layer above's name for this connection. Transport ignores it.
	Tag any

	state         connState
	headerSent    bool
	openSent      bool
	gone          bool // handler.Closed has been called
	peerClosed    bool // the peer\'s close has been received
	sasl          *sasl.Server
	saslDone      bool
	saslMechanism string

	remote       frames.Open
	maxFrameSize int // the peer's: what we may send

	// PeerSession, if not nil, gives the budget of stage one of the nth session
	// that the peer begins, in bytes, where it is smaller than
	// Config.SessionBytes; 0 for that.
	PeerSession func(n int) int
	peerBegun   int

	byRemote dense[Session]
	byLocal  []*Session // nil where a channel is free
	names    map[linkName]*Endpoint
	links    int

	control   []byte     // control frames in the order in which they were made
	flows     []*Session // sessions or their links have a flow to send
	settles   []*Session // sessions have dispositions to send
	ready     []*Session // sessions have links with something to send
	touched   []*Conn    // connections with new work because of what was handled
	settling  run        // outcomes on their way to another connection
	spareRefs int32      // references to the Chunk being consumed, taken ahead
	batch     []Batcher  // who has collected something during Consume

	// Blocked tells whether the socket does not take what is to be written. It
	// may be read from anywhere, as a hint.
	Blocked atomic.Bool

	// Now is the time of the batch that is being handled, in UnixNano.
	Now      int64
	lingers  []*linger
	transfer frames.Transfer // reused by the decoder
	dispo    frames.Disposition
	flow     frames.Flow
	outDispo frames.Disposition // reused by the encoder
	outFlow  frames.Flow

	// Counters for management; guarded like everything else.
	FramesIn, FramesOut uint64
	// Carried is when the latest delivery began to arrive or to leave, in UnixNano;
	// 0 if there was none. Links set it.
	Carried int64

	inboxMu sync.Mutex // a leaf lock; guards inbox
	inbox   []Post
	spare   []Post
}

// NewConn returns a connection in its first state.
func NewConn(cfg Config, handler Handler, owner Owner) *Conn {
	cfg.MaxFrameSize = max(cfg.MaxFrameSize, MinMaxFrameSize)
	return &Conn{
		cfg:          cfg,
		handler:      handler,
		owner:        owner,
		maxFrameSize: MinMaxFrameSize,
		names:        make(map[linkName]*Endpoint),
	}
}

// Config returns what the connection was made with.
func (c *Conn) Config() *Config { return &c.cfg }

// Remote is the peer's open. It is zero before that has arrived.
func (c *Conn) Remote() *frames.Open { return &c.remote }

// Opened tells whether both sides have sent open and none close.
func (c *Conn) Opened() bool { return c.state == stateOpened }

// LinkCount is the number of links attached.
func (c *Conn) LinkCount() int { return c.links }

// Closing tells whether a close was sent and the peer's answer is awaited.
func (c *Conn) Closing() bool { return c.state == stateCloseSent }

// PeerClosed tells whether the peer has sent close: it sends nothing more.
func (c *Conn) PeerClosed() bool { return c.peerClosed }

// Ended tells whether nothing more will be read.
func (c *Conn) Ended() bool { return c.state == stateEnd }

// Congested tells whether the peer leaves so many answers unread that no more
// of its frames should be read.
func (c *Conn) Congested() bool { return len(c.control) > controlLimit }

// Sessions calls f for every session that has not ended.
func (c *Conn) Sessions(f func(*Session)) {
	for _, s := range c.byLocal {
		if s != nil {
			f(s)
		}
	}
}

// RemoteIdle is the time within which the peer wants to hear something, zero if
// it does not care.
func (c *Conn) RemoteIdle() time.Duration {
	if !c.remote.HasIdleTimeout {
		return 0
	}
	return time.Duration(c.remote.IdleTimeout) * time.Millisecond
}

// Heartbeat queues an empty frame (§2.4.5).
func (c *Conn) Heartbeat() {
	if c.state == stateOpened && len(c.control) == 0 {
		c.control = frames.AppendHeartbeat(c.control)
	}
}

// appender is a performative that can encode itself.
type appender interface{ Append([]byte) []byte }

func (c *Conn) sendSASL(f appender) {
	at := len(c.control)
	c.control = frames.AppendFrame(c.control, frames.TypeSASL, 0, f)
	if c.cfg.Trace != nil {
		c.cfg.Trace(true, 0, c.control[at+frames.HeaderSize:])
	}
}

// Touch notes that other has new work. The driver kicks it after this
// connection's lock has been released.
func (c *Conn) Touch(other *Conn) {
	if n := len(c.touched); n > 0 && c.touched[n-1] == other {
		return
	}
	for _, t := range c.touched {
		if t == other {
			return
		}
	}
	c.touched = append(c.touched, other)
}

// Touched moves the noted connections' owners to dst.
func (c *Conn) Touched(dst []Owner) []Owner {
	c.flushSettling()
	for i, t := range c.touched {
		dst = append(dst, t.owner)
		c.touched[i] = nil
	}
	c.touched = c.touched[:0]
	return dst
}

// A Batcher collects what arrives and passes it on in one go.
type Batcher interface{ EndBatch() }

// Defer has b.EndBatch called when the frames at hand have been handled.
func (c *Conn) Defer(b Batcher) { c.batch = append(c.batch, b) }

// EndBatch calls those who have asked for it.
func (c *Conn) EndBatch() {
	for i := 0; i < len(c.batch); i++ {
		c.batch[i].EndBatch()
		c.batch[i] = nil
	}
	c.batch = c.batch[:0]
}

// Owner is the driver that this connection was made with.
func (c *Conn) Owner() Owner { return c.owner }
