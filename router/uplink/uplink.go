package uplink

import (
	"slices"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/forward"
	"sluice/router/table"
	"sluice/router/trunk"
)

const (
	// The existing routers grant 32, a round trip for as many addresses.
	trackingCredit  = 1000
	trackingMessage = 64 << 10 // bytes; a key is as long as an address may be
	heartbeatQueue  = 4 << 10  // bytes; more than a few that wait are of no use

	// heartbeatWaiting is what two heartbeats that wait take of the queue, at
	// least. With a credit of 2 and one every 2 s that is so after 8 s of silence,
	// which is also when an interior router gives up a silent edge router.
	heartbeatWaiting = 2 * 64

	// Messages that come down have been paid for with credit where they entered
	// the network.
	downCredit = 1000

	// Marks of what may be under way up the anonymous link without an outcome, in
	// messages and bytes. The senders' credit bounds it; this only keeps one with
	// very large messages from being the only one.
	upWindow = 1 << 20
	upHigh   = 64 << 20

	// wholeBytes is up to which size a message from the interior is complete
	// before it is forwarded on.
	wholeBytes = 256 << 10
)

// A Control decides what an uplink does. Its methods are called under the lock of
// the uplink's connection and do not block.
type Control interface {
	// Up tells that the connection is open; Down that it has ended.
	Up(*Uplink)
	Down(*Uplink)
	// Ready tells that an active uplink can be used.
	Ready(*Uplink)
	// Tracked tells whether the address with this key has a destination beyond.
	Tracked(u *Uplink, key string, has bool)
	// Answered tells that the proxy for the address is attached, and Lost that it
	// has ended by itself, or was not taken, and why.
	Answered(u *Uplink, p Proxy)
	Lost(u *Uplink, p Proxy, err *amqp.Error)
}

// A Shared is what all uplinks of an edge router have in common.
type Shared struct {
	Identity address.Identity
	Table    *table.Table
	Control  Control
	// Side is what lies beyond the uplinks, and Hop the way there, over the
	// anonymous link of the active one.
	Side *links.Side
	Hop  *links.Hop
	// Bridge leads nowhere. It keeps what waits at an address from being lost
	// between one uplink and the next.
	Bridge *links.Hop
}

// NewShared returns what the uplinks of a router have in common, without its
// control.
func NewShared(id address.Identity, t *table.Table) *Shared {
	side := new(links.Side)
	l := links.Limits{Side: side, Capacity: upWindow, OutgoingHigh: upHigh, OutgoingLow: upHigh / 2}
	return &Shared{Identity: id, Table: t, Side: side, Hop: links.NewHop("uplink", l), Bridge: links.NewHop("next uplink", l)}
}

// An Uplink is a connection to an interior router. The exported fields are set
// before it starts; it is guarded by the connection's lock.
type Uplink struct {
	*Shared
	ID     uint64 // of the connection
	Conn   *transport.Conn
	Limits links.Limits
	// Down is what the messages that come down go to, apart from Far.
	Down forward.Anonymous
	// In and Out are what links have carried that have gone, apart from those of
	// Way.
	In, Out links.Totals

	way       *links.Way
	endpoint  *transport.Session // where proxies are attached
	heartbeat *links.ControlSender
	streams   links.Limits // of what comes in without an address
	proxies   map[Proxy]*proxy
	essential int // links that there must be, and are
	active    bool
	closed    bool
}

// Start makes the uplink ready when the connection has been opened. It attaches
// nothing.
func (u *Uplink) Start(c *transport.Conn, peer *frames.Open) {
	u.Conn = c
	u.Limits.StripIn, u.Limits.TrustIn = false, true
	u.Limits.Annotate = links.AnnotateTo
	u.Limits.SettleLate = trunk.SettlesLate(peer)
	u.Limits.Side, u.Limits.Private = u.Side, true
	u.way = links.NewWay(c, u.Limits, u.stream)
	if !slices.Contains(peer.OfferedCapabilities, trunk.CapStreaming) {
		u.way.NoStreams()
	}
	u.streams = u.Limits
	u.streams.Transit, u.streams.Capacity = true, max(u.Limits.Capacity, downCredit)
	u.Limits.Streams = u.Hop
	u.Limits.ByNeed = true
	u.proxies = make(map[Proxy]*proxy)
	u.Control.Up(u)
}

// Activate attaches the links that do not depend on addresses.
func (u *Uplink) Activate() error {
	if u.closed || u.active {
		return nil
	}
	u.active = true
	var err error
	if u.endpoint, err = u.Conn.Begin(); err != nil {
		return err
	}
	core, err := u.Conn.Begin()
	if err != nil {
		return err
	}
	up := u.way.NewWhole(0)
	up.Watch(&links.Watch{Answered: u.has, Ended: func(err *amqp.Error) { u.lost("anonymous", err) }})
	if _, err := u.endpoint.Attach(up, AttachOf(amqp.RoleSender, "", "")); err != nil {
		return err
	}
	a := AttachOf(amqp.RoleReceiver, u.Identity.ID, "", CapDownlink)
	down := u.receiver(a, true)
	down.Watch(&links.Watch{Answered: u.has, Ended: func(err *amqp.Error) { u.lost("downlink", err) }})
	if _, err := u.endpoint.Attach(down, a); err != nil {
		return err
	}
	tracking := links.NewControlReceiver(nil, links.ControlReceiverOptions{
		Credit: trackingCredit, MaxMessageSize: trackingMessage, Deliver: u.track,
		ControlEvents: links.ControlEvents{
			Answered: func(*frames.Attach) { u.has() },
			Ended:    func(err *amqp.Error) { u.lost("tracking", err) },
		},
	})
	if _, err := core.Attach(tracking, AttachOf(amqp.RoleReceiver, Tracking, "")); err != nil {
		return err
	}
	// An interior router that does not want it can do without.
	u.heartbeat = links.NewControlSender(nil, links.ControlSenderOptions{QueueBytes: heartbeatQueue})
	a = AttachOf(amqp.RoleSender, "", Heartbeat)
	a.Source = nil
	_, err = core.Attach(u.heartbeat, a)
	return err
}

// receiver returns a link for what comes down and names its address itself.
func (u *Uplink) receiver(a *frames.Attach, whole bool) *links.Receiver {
	l := u.streams
	f := u.Down
	if whole {
		l.UnboundBytes, f.Far = 2*wholeBytes, true
	}
	return links.NewReceiver(a, l, &f, links.Info{Class: links.EdgeUplink, Past: &u.In})
}

// has counts a link without which the uplink is of no use.
func (u *Uplink) has() {
	if u.essential++; u.essential < 3 || u.closed {
		return
	}
	u.Hop.SetWays([]*links.Way{u.way})
	u.Control.Ready(u)
}

// lost ends the connection if one of them is gone, so that another takes over.
func (u *Uplink) lost(what string, err *amqp.Error) {
	if u.ending() {
		return
	}
	if err == nil {
		err = amqp.Errorf(amqp.CondDetachForced, "no reason was given")
	}
	u.Conn.Close(amqp.Errorf(err.Condition, "the %s link is gone, without which the uplink is of no use: %v", what, err))
}

// track reads a tracking message.
func (u *Uplink) track(m links.ControlMessage) {
	key, has, err := DecodeTracked(m.Bytes)
	if err != nil {
		m.Done(messaging.Rejected(amqp.Errorf(amqp.CondDecodeError, "%v", err)))
		return
	}
	m.Done(messaging.Accepted)
	u.Control.Tracked(u, key, has)
}

// Heartbeat sends the n-th sign of life. Interior routers give the credit for it
// back at once; one that lets several wait is gone, or the way there is, and the
// connection ends so that another uplink takes over.
func (u *Uplink) Heartbeat(n uint32) {
	if u.ending() {
		return
	}
	if u.heartbeat.Queued() >= heartbeatWaiting {
		u.Conn.Close(amqp.Errorf(amqp.CondConnectionForced, "the interior router takes no heartbeats any more"))
		return
	}
	u.heartbeat.Send(AppendHeartbeat(nil, n), true, nil)
}

// stream attaches a link for messages that are not complete, in a session of its
// own.
func (u *Uplink) stream(s *links.Sender) error {
	session, err := u.Conn.BeginWith(transport.SessionOptions{Bytes: 1})
	if err != nil {
		return err
	}
	_, err = session.Attach(s, AttachOf(amqp.RoleSender, "", ""))
	return err
}

// Attach answers the interior router's attach: of a link for messages that are
// not complete.
func (u *Uplink) Attach(a *frames.Attach) (transport.Link, *frames.Attach, *amqp.Error) {
	if t := a.Target.Target; a.Role != amqp.RoleSender || t == nil || t.Address != "" || t.Dynamic {
		return nil, nil, amqp.Errorf("qd:connection-role", "an edge router takes only anonymous links from an interior one")
	}
	reply := &frames.Attach{SenderSettleMode: amqp.SenderSettleMixed, Source: a.Source, Target: a.Target}
	return u.receiver(a, false), reply, nil
}

// Attached is called when a link that Attach has made has been answered.
func (u *Uplink) Attached(l transport.Link) {
	if l, ok := l.(*links.Receiver); ok {
		l.Begin()
	}
}

// Way is the connection's links for messages that are not of one address.
func (u *Uplink) Way() *links.Way { return u.way }

// ending tells whether links end because the connection does.
func (u *Uplink) ending() bool { return u.closed || u.Conn.Ended() || u.Conn.Closing() }

// Close ends what depends on the connection, which has ended.
func (u *Uplink) Close() {
	if u.way == nil {
		return
	}
	u.closed = true
	if w := u.Hop.Ways(); len(w) > 0 && w[0] == u.way {
		u.Hop.SetWays(nil)
	}
	u.way.Close()
	u.Control.Down(u)
}
