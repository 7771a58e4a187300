package edges

import (
	"slices"
	"sync/atomic"
	"time"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/forward"
	"sluice/router/trunk"
	"sluice/router/uplink"
)

const (
	heartbeatCredit  = 2
	heartbeatMessage = 4 << 10  // bytes
	trackingQueue    = 64 << 10 // bytes; what changes while the edge router does not read is kept as a set

	// upCredit is what an edge router may send that names its addresses itself.
	upCredit = 1000

	// wholeBytes is up to which size a message from an edge router is complete
	// before it is forwarded, if it names its address itself.
	wholeBytes = 256 << 10
)

// An Edge is the connection of an edge router. The exported fields are set before
// it starts; but for what says otherwise it is guarded by the connection's lock.
type Edge struct {
	ID     uint64 // of the connection
	Peer   string // host and port, for others to be told
	Edges  *Edges
	Conn   *transport.Conn
	Limits links.Limits
	// Up is what the messages go to that name their addresses themselves, apart
	// from Far.
	Up forward.Anonymous
	// In and Out are what links have carried that have gone, apart from those of
	// Way.
	In, Out links.Totals

	container string
	instance  uint64
	router    string // the id that the downlink names, empty before; guarded by Edges
	tracking  *tracking
	beating   atomic.Bool  // there is a link for heartbeats
	heard     atomic.Int64 // UnixNano of the last heartbeat or attach of the downlink
	hop       *links.Hop
	way       *links.Way
	closed    bool
}

// Start makes the edge ready when the connection has been opened.
func (e *Edge) Start(c *transport.Conn, peer *frames.Open) {
	e.Conn, e.container = c, peer.ContainerID
	e.instance = instance(peer.Properties)
	e.Limits.StripIn, e.Limits.TrustIn = false, false
	e.Limits.Annotate = links.AnnotateAll
	e.Limits.SettleLate = trunk.SettlesLate(peer)
	e.tracking = &tracking{conn: c}
	e.Limits.Side = &links.Side{Reach: e.tracking.reach}
	e.way = links.NewStreams(c, e.Limits, e.stream)
	e.hop = links.NewHop(peer.ContainerID, e.Limits)
	if slices.Contains(peer.OfferedCapabilities, trunk.CapStreaming) {
		e.hop.SetWays([]*links.Way{e.way})
	} else {
		e.way.NoStreams()
	}
	e.Limits.Streams = e.hop
	e.Edges.add(e)
}

// stream attaches a link for messages that are not complete, in a session of its
// own.
func (e *Edge) stream(s *links.Sender) error {
	session, err := e.Conn.BeginWith(transport.SessionOptions{Bytes: 1})
	if err != nil {
		return err
	}
	_, err = session.Attach(s, uplink.AttachOf(amqp.RoleSender, "", ""))
	return err
}

// Attach answers the attaches of an edge router that are unlike a client's. Of
// others it says that they are not its.
func (e *Edge) Attach(a *frames.Attach) (l transport.Link, reply *frames.Attach, refusal *amqp.Error, mine bool) {
	reply = &frames.Attach{
		SenderSettleMode:        amqp.SenderSettleMixed,
		Source:                  a.Source,
		Target:                  a.Target,
		HasInitialDeliveryCount: a.Role == amqp.RoleReceiver,
	}
	if a.Role == amqp.RoleReceiver {
		switch s := a.Source; {
		case s == nil:
			return nil, nil, nil, false
		case slices.Contains(s.Capabilities, uplink.CapDownlink):
			l, refusal = e.downlink(a)
		case s.Address == uplink.Tracking:
			l = e.tracking.attach(a)
		default:
			return nil, nil, nil, false
		}
		return l, reply, refusal, true
	}
	switch t := a.Target.Target; {
	case t == nil || t.Dynamic:
		return nil, nil, nil, false
	case t.Address == "":
		l = e.anonymous(a)
	case t.Address == uplink.Heartbeat:
		l = e.heartbeat(a)
	default:
		return nil, nil, nil, false
	}
	return l, reply, nil, true
}

// Attached is called when a link that Attach has made has been answered. Of
// others it says that they are not its.
func (e *Edge) Attached(l transport.Link) bool {
	switch l := l.(type) {
	case *links.ControlReceiver:
		l.Begin()
	case *links.ControlSender:
		e.tracking.flush()
	case *links.Receiver:
		if !l.Anonymous() {
			return false
		}
		l.Begin()
	default:
		return false
	}
	return true
}

// downlink answers the attach of the link for everything inside the edge router.
func (e *Edge) downlink(a *frames.Attach) (transport.Link, *amqp.Error) {
	id := a.Source.Address
	if id == "" {
		return nil, amqp.Errorf(amqp.CondInvalidField, "a downlink needs the id of the edge router as its address")
	}
	e.hear()
	if refusal := e.Edges.claim(e, id); refusal != nil {
		e.end(refusal) // when this has been answered
		return nil, refusal
	}
	at := e.Edges.Table.Acquire(address.Address{Class: address.Edge, Text: id})
	return links.NewSender(a, e.Limits, at, links.Info{Address: id, Key: at.Key, Class: links.EdgeUplink, Past: &e.Out}), nil
}

// anonymous answers the attach of a link whose messages name their addresses:
// those that the edge router cannot place, and those that are not complete.
func (e *Edge) anonymous(a *frames.Attach) transport.Link {
	l, f := e.Limits, e.Up
	l.Transit, l.Capacity = true, max(l.Capacity, upCredit)
	l.UnboundBytes, f.Far = 2*wholeBytes, true
	return links.NewReceiver(a, l, &f, links.Info{Class: links.EdgeUplink, Past: &e.In})
}

// heartbeat answers the attach of the link for signs of life.
func (e *Edge) heartbeat(a *frames.Attach) transport.Link {
	e.beating.Store(true)
	e.hear()
	return links.NewControlReceiver(a, links.ControlReceiverOptions{
		Credit: heartbeatCredit, MaxMessageSize: heartbeatMessage,
		Deliver: func(m links.ControlMessage) {
			e.hear()
			m.Done(messaging.Accepted)
		},
		ControlEvents: links.ControlEvents{Ended: func(*amqp.Error) { e.beating.Store(false) }},
	})
}

func (e *Edge) hear() { e.heard.Store(time.Now().UnixNano()) }

// A closer is the driver of a connection.
type closer interface{ Close(*amqp.Error) }

// end closes the connection. It may be called from anywhere, under the lock of
// any connection.
func (e *Edge) end(err *amqp.Error) {
	if d, ok := e.Conn.Owner().(closer); ok {
		go d.Close(err)
	}
}

// Way is the connection's links for messages that are not complete.
func (e *Edge) Way() *links.Way { return e.way }

// Close ends what depends on the connection, which has ended.
func (e *Edge) Close() {
	if e.way == nil || e.closed {
		return
	}
	e.closed = true
	e.hop.SetWays(nil)
	e.way.Close()
	e.Edges.remove(e)
}
