package network

import (
	"time"

	"github.com/rs/zerolog"

	"sluice/router/control/mesh"
)

const (
	// applyAtOnce is how many addresses are brought up to date before anything
	// else is done, in some milliseconds.
	applyAtOnce = 8192

	// hold is for how long others are not told what is not in force here yet.
	// It is reached only if what is told changes all the time.
	hold = time.Second
)

// act does what the engine wants done. What the data plane must know is done
// first: a neighbour that has the news acts on them at once, and what it sends
// because of them must not arrive before they are in force here. HELLOs do not
// wait for that.
func (n *Network) act(now time.Time) {
	known, told := sorted(n.engine.Ready())
	for _, o := range known {
		switch o := o.(type) {
		case *mesh.Routes:
			n.follow(o)
		case mesh.RemoteAdd:
			n.add(o)
		case mesh.RemoteRemove:
			if r := n.reach[o.Key]; r != nil {
				r.unset(o.Router)
				n.fresh[o.Key] = struct{}{}
			}
		}
	}
	for _, o := range told {
		if isHello(o) {
			n.send(o.(mesh.Send))
		} else {
			n.told = append(n.told, o)
		}
	}
	switch {
	case n.applied(), !n.held.IsZero() && now.Sub(n.held) >= hold:
		n.tellAll()
		n.held = time.Time{}
	case n.held.IsZero():
		n.held = now
	}
	n.report()
}

func isHello(o mesh.Output) bool {
	s, ok := o.(mesh.Send)
	if !ok {
		return false
	}
	_, ok = s.Message.Body.(*mesh.Hello)
	return ok
}

// applied brings addresses up to date and reports whether all are. Those that
// have come or gone come before those to which the way has changed.
func (n *Network) applied() bool {
	left := applyAtOnce
	for _, keys := range []map[string]struct{}{n.fresh, n.dirty} {
		for key := range keys {
			if left--; left < 0 {
				n.poke()
				return false
			}
			n.apply(key)
			delete(keys, key)
		}
	}
	n.dropHops()
	return true
}

// tellAll tells others what they have been kept waiting for.
func (n *Network) tellAll() {
	for _, o := range n.told {
		switch o := o.(type) {
		case mesh.Send:
			n.send(o)
		case mesh.Refuse:
			if p := n.trunks[o.Link]; p != nil {
				n.cfg.Log.Error().Uint64("conn", o.Link).Msg("neighbour refused: " + o.Error.Description)
				n.cfg.Close(p.trunk, o.Error)
			}
		case mesh.Notice:
			n.notice(o)
		}
	}
	n.told = nil
}

// sorted separates what the data plane must know from what others are told, each
// in its order.
func sorted(outputs []mesh.Output) (known, told []mesh.Output) {
	for _, o := range outputs {
		switch o.(type) {
		case *mesh.Routes, mesh.RemoteAdd, mesh.RemoteRemove:
			known = append(known, o)
		default:
			told = append(told, o)
		}
	}
	return known, told
}

func (n *Network) send(o mesh.Send) {
	p := n.trunks[o.Link]
	if p == nil {
		return
	}
	if err := p.trunk.Send(o.Message.Append(nil)); err != nil {
		p.lost++
		log := n.log("send")
		log.Warn().Err(err).Uint64("conn", o.Link).Msg("a routing message was not sent")
		return
	}
	p.sent++
}

func (n *Network) notice(o mesh.Notice) {
	log := n.log(string(o.Kind)) // peers choose the ids, and as many as they like
	level := zerolog.WarnLevel
	switch o.Kind {
	case mesh.NoticeNeighborUp, mesh.NoticeRestart:
		level = zerolog.InfoLevel
	case mesh.NoticeNeighborDown:
		if n.cfg.Ending != nil && n.cfg.Ending() {
			level = zerolog.InfoLevel
		}
	case mesh.NoticeNoPath:
		level = zerolog.DebugLevel
	}
	e := log.WithLevel(level).Str("kind", string(o.Kind))
	if o.Router != "" {
		e = e.Str("router", o.Router)
	}
	if o.Link != 0 {
		e = e.Uint64("conn", o.Link)
	}
	e.Msg(o.Text)
}
