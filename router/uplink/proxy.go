package uplink

import (
	"errors"
	"fmt"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/forward"
)

// A Direction is that of a proxy's messages.
type Direction uint8

const (
	In  Direction = iota // down, to consumers here: the proxy is a receiver
	Out                  // up, from producers here: the proxy is a sender
)

func (d Direction) String() string { return [...]string{"in", "out"}[d] }

// A Proxy names a link for one address on an uplink.
type Proxy struct {
	Key string // of a mobile address
	Direction
}

// proxy is such a link.
type proxy struct {
	a        *forward.Address
	in       *links.Receiver // one of both
	out      *links.Sender
	ep       *transport.Endpoint
	answered bool
	joined   bool // the sender is a destination, or will be when it is attached
	dropped  bool // by this end
}

// cost is that of the way up: consumers here are closer.
const cost = 1

// Add attaches a proxy. One that is there is left alone.
func (u *Uplink) Add(id Proxy) error {
	if u.closed || !u.active || u.proxies[id] != nil {
		return nil
	}
	name, ok := address.ParseKey(id.Key)
	if !ok {
		return fmt.Errorf("%q is no key", id.Key)
	}
	text := name.Text
	if address.Parse(text, u.Identity) != name {
		text = "amqp:/" + text // as it is would mean something else
	}
	p := &proxy{a: u.Table.Acquire(name)}
	info := links.Info{Address: text, Key: id.Key, Class: links.EdgeUplink}
	watch := &links.Watch{
		Answered: func() {
			p.answered = true
			if p.joined {
				p.out.Join()
			}
			u.Control.Answered(u, id)
		},
		Leaving: func() { u.bridge(p, name) },
		Ended: func(err *amqp.Error) {
			if u.proxies[id] == p {
				delete(u.proxies, id)
			}
			if !p.dropped && !u.ending() {
				u.Control.Lost(u, id, err)
			}
		},
	}
	var l transport.Link
	a := AttachOf(amqp.RoleReceiver, text, "")
	if id.Direction == In {
		info.Past = &u.In
		p.in = links.NewReceiver(a, u.Limits, p.a, info)
		p.in.Watch(watch)
		l = p.in
	} else {
		a = AttachOf(amqp.RoleSender, "", text)
		info.Past = &u.Out
		p.out = links.NewSender(a, u.Limits, p.a, info)
		p.out.Dest.Cost = cost
		p.out.Watch(watch)
		l = p.out
	}
	u.proxies[id] = p
	ep, err := u.attach(l, a)
	if err != nil {
		delete(u.proxies, id)
		p.a.Forsake()
		return err
	}
	p.ep = ep
	return nil
}

// attach attaches a link to the session of proxies, and begins another when that
// has no handle left, or has ended.
func (u *Uplink) attach(l transport.Link, a *frames.Attach) (*transport.Endpoint, error) {
	ep, err := u.endpoint.Attach(l, a)
	var le *transport.LinkError
	if err == nil || !errors.As(err, &le) || le.Wire.Condition == amqp.CondNotAllowed || le.Wire.Condition == amqp.CondFrameSizeTooSmall {
		return ep, err
	}
	s, err := u.Conn.Begin()
	if err != nil {
		return nil, err
	}
	u.endpoint = s
	return s.Attach(l, a)
}

// Join makes a proxy sender a destination, and Leave ends that.
func (u *Uplink) Join(key string) {
	p := u.proxies[Proxy{key, Out}]
	if p == nil || p.joined || u.closed {
		return
	}
	p.joined = true
	if p.answered {
		p.out.Join()
	}
}

// Leave tells that nobody is there beyond.
func (u *Uplink) Leave(key string) {
	p := u.proxies[Proxy{key, Out}]
	if p == nil || !p.joined || u.closed {
		return
	}
	p.joined = false
	if p.answered {
		p.out.Leave()
	}
}

// Remove detaches a proxy for which there is nobody here any more. It returns
// false, and does not, while messages need it: those that have come down and
// whose outcome is on its way up, or those that go up or wait for that, whose
// sender has gone before. Once the connection ends it is too late: messages may
// wait for the next uplink already.
func (u *Uplink) Remove(id Proxy) bool {
	if u.ending() {
		return false
	}
	p := u.proxies[id]
	if p == nil {
		return true
	}
	if p.answered {
		switch {
		case p.in != nil && p.in.Unsettled() > 0:
			return false
		case p.out != nil && (p.out.Load() > 0 || p.joined && p.a.View().Waiting > 0):
			return false
		}
	}
	p.dropped = true
	delete(u.proxies, id)
	p.ep.Detach(true, nil)
	return true
}

// bridge keeps what waits at the address of a proxy sender that is lost with its
// connection, until Release.
func (u *Uplink) bridge(p *proxy, name address.Address) {
	if p.out == nil || !p.joined || p.dropped || !u.ending() {
		return
	}
	if u.Table.Acquire(name); !p.a.SetFar(u.Bridge, cost, nil, nil) {
		p.a.Forsake()
	}
}

// Release ends what bridge has begun: another uplink has told whether the address
// has a destination beyond, or there is none.
func (s *Shared) Release(key string) {
	if name, ok := address.ParseKey(key); ok {
		if a := s.Table.Find(name); a != nil {
			a.DropFar(s.Bridge)
		}
	}
}

// Counts are the numbers of proxies: receivers, senders, and senders that lead to
// somebody.
func (u *Uplink) Counts() (in, out, joined int) {
	for id, p := range u.proxies {
		switch {
		case id.Direction == In:
			in++
		case p.joined:
			joined++
			fallthrough
		default:
			out++
		}
	}
	return in, out, joined
}
