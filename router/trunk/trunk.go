package trunk

import (
	"slices"
	"sync/atomic"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/forward"
)

// Capabilities of the termini of links between routers.
const (
	CapControl amqp.Symbol = "qd.router"
	CapData    amqp.Symbol = "qd.router-data"
)

// Capabilities of connections between routers.
const (
	CapStreaming amqp.Symbol = "qd.streaming-links"
	// CapSure says that this router knows unsettled transfers with the state
	// accepted as messages whose sender wants no outcome.
	CapSure amqp.Symbol = "sluice.sure"
)

const (
	dataLinks = 10 // one for each priority

	controlCredit  = 250
	controlMessage = 16 << 20 // bytes; the largest routing message
	controlQueue   = 24 << 20 // bytes of routing messages that wait for the peer

	// wholeBytes is up to which size a message on a data link is complete before
	// it is forwarded: a link that carries many must not wait for one.
	wholeBytes = 256 << 10

	// A trunk carries the messages of many, and what a peer may have under way is
	// bounded by the senders' credit where they enter the network.
	trunkCredit = 1000
)

// A Network is the control plane, as the trunks see it. Its methods are called
// under the lock of the trunk's connection and do not block.
type Network interface {
	// Up tells that routing messages can be exchanged.
	Up(t *Trunk)
	// Down tells that they cannot any more.
	Down(t *Trunk)
	// Received brings a routing message.
	Received(t *Trunk, m links.ControlMessage)
}

// A Picture is what the data plane knows of the network. It does not change.
type Picture struct {
	Numbers map[string]uint32 // of routers by name, "0/ID"; this one has 0
	Radius  int               // hops to the farthest
	// Before tells by which neighbour comes what enters the network at a router,
	// and Trunks to which one a trunk leads.
	Before map[uint32]uint32
	Trunks map[uint64]uint32
}

// again tells that a message to all that has entered at origin and comes by
// trunk has taken another path than the shortest, by which it comes, too.
func (p *Picture) again(origin uint32, trunk uint64) bool {
	before, known := p.Before[origin]
	from, there := p.Trunks[trunk]
	return known && there && before != from
}

// A Trunk is the connection to another router. Its fields are set before it
// starts; it is guarded by the connection's lock.
type Trunk struct {
	ID      uint64 // of the connection
	Cost    int
	Conn    *transport.Conn
	Network Network
	Picture *atomic.Pointer[Picture]
	// Transit is what the messages of the data links go to, apart from Far and
	// Enter.
	Transit forward.Anonymous
	Limits  links.Limits
	// Connects tells that this end has made the connection, and makes the links.
	Connects bool
	// Past is what links have brought that have gone.
	Past links.Totals

	way        *links.Way
	in         *links.ControlReceiver
	out        *links.ControlSender
	ins, outs  int // data links so far
	haveIn     bool
	haveOut    bool
	up, closed bool
}

// Start makes the trunk ready when the connection has been opened. The end that
// connects attaches the links.
func (t *Trunk) Start(c *transport.Conn, peer *frames.Open) error {
	t.Conn, t.Cost = c, max(t.Cost, costOf(peer.Properties))
	t.Limits.StripIn, t.Limits.TrustIn = false, true
	t.Limits.Annotate = links.AnnotateAll
	t.Limits.Sure = slices.Contains(peer.OfferedCapabilities, CapSure)
	t.Limits.SettleLate = SettlesLate(peer)
	t.way = links.NewWay(t.Conn, t.Limits, t.stream)
	if t.Limits.Sure {
		c.PeerSession = t.peerSession
	}
	if !t.Connects {
		return nil
	}
	s, err := t.Conn.Begin()
	if err != nil {
		return err
	}
	t.in, t.out = t.controlIn(nil), t.controlOut(nil)
	if _, err := s.Attach(t.in, attachOf(amqp.RoleReceiver, CapControl)); err != nil {
		return err
	}
	if _, err := s.Attach(t.out, attachOf(amqp.RoleSender, CapControl)); err != nil {
		return err
	}
	for p := range dataLinks {
		if s, err = t.Conn.Begin(); err != nil {
			return err
		}
		a := attachOf(amqp.RoleReceiver, CapData)
		a.MaxMessageSize = t.Limits.MaxMessageSize
		if _, err := s.Attach(t.dataIn(a), a); err != nil {
			return err
		}
		if _, err := s.Attach(t.way.NewWhole(p), attachOf(amqp.RoleSender, CapData)); err != nil {
			return err
		}
	}
	t.outs = dataLinks
	return nil
}

// Foreign tells that the other router is one of another kind.
func (t *Trunk) Foreign() bool { return !t.Limits.Sure }

// Way is where messages to the other router go. It is nil before Start.
func (t *Trunk) Way() *links.Way { return t.way }

// Send sends a routing message. It may be called from any goroutine, once the
// trunk is up.
func (t *Trunk) Send(message []byte) error { return t.out.Send(message, true, nil) }

// Close ends what depends on the connection, which has ended.
func (t *Trunk) Close() {
	if t.closed || t.way == nil {
		return
	}
	t.closed = true
	t.way.Close()
	t.down()
}

func (t *Trunk) down() {
	if t.up {
		t.up = false
		t.Network.Down(t)
	}
}

func (t *Trunk) controlIn(a *frames.Attach) *links.ControlReceiver {
	return links.NewControlReceiver(a, links.ControlReceiverOptions{
		MaxMessageSize: controlMessage,
		Credit:         controlCredit,
		Deliver: func(m links.ControlMessage) {
			if !t.up {
				m.Done(accepted)
				return
			}
			t.Network.Received(t, m)
		},
		ControlEvents: links.ControlEvents{Answered: func(*frames.Attach) { t.has(&t.haveIn) }, Ended: t.lostControl},
	})
}

func (t *Trunk) controlOut(a *frames.Attach) *links.ControlSender {
	return links.NewControlSender(a, links.ControlSenderOptions{
		QueueBytes:    controlQueue,
		ControlEvents: links.ControlEvents{Answered: func(*frames.Attach) { t.has(&t.haveOut) }, Ended: t.lostControl},
	})
}

// has notes that a control link is there.
func (t *Trunk) has(what *bool) {
	*what = true
	if t.haveIn && t.haveOut && !t.up {
		t.up = true
		t.Network.Up(t)
	}
}

// lostControl ends the neighbourhood. A router without it is of no use as a
// neighbour, and its connection is closed so that it is made again.
func (t *Trunk) lostControl(err *amqp.Error) {
	t.down()
	if t.closed || t.Conn.Ended() || t.Conn.Closing() {
		return
	}
	if err == nil {
		err = amqp.Errorf(amqp.CondConnectionForced, "a control link was detached")
	}
	t.Conn.Close(err)
}

// dataIn returns the next link on which the peer sends.
func (t *Trunk) dataIn(a *frames.Attach) *links.Receiver {
	l := t.Limits
	l.Transit, l.Capacity = true, max(l.Capacity, trunkCredit)
	f := t.Transit
	f.Enter = t.enter
	if t.ins < dataLinks {
		l.UnboundBytes, f.Far = 2*wholeBytes, true
	}
	t.ins++
	return links.NewReceiver(a, l, &f, links.Info{Class: links.RouterData, Past: &t.Past})
}

// enter completes what the data plane knows about a message of the other router,
// and tells whether it may go on: not if it goes in circles. A router of the first
// implementation passes what is for all on to whoever it has not been through, so
// that where there is more than one path it comes more than once.
func (t *Trunk) enter(d *links.Delivery, all bool) bool {
	p := t.Picture.Load()
	if hops, here := d.Passed(); here || hops > p.Radius+traceMargin {
		return false
	}
	ingress := d.Ingress()
	if ingress == nil {
		return true
	}
	n, known := p.Numbers[string(ingress)]
	if !known {
		n = unknown
	}
	d.Origin = n
	if all && t.Foreign() && p.again(n, t.ID) {
		return false
	}
	return true
}

// unknown is the number of a router that there is no path to: its messages go to
// destinations of this router only.
const unknown = ^uint32(0)

// traceMargin is by how much a message may have passed more routers than the
// farthest one is away: paths change.
const traceMargin = 8

// stream attaches a link for messages that are not complete, in a session of its
// own.
func (t *Trunk) stream(s *links.Sender) error {
	session, err := t.Conn.BeginWith(transport.SessionOptions{Bytes: 1})
	if err != nil {
		return err
	}
	_, err = session.Attach(s, attachOf(amqp.RoleSender, CapData))
	return err
}
