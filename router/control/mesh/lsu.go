package mesh

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
)

// LSU, link-state update, tells the link state of a router: its neighbours, and what it costs to reach each.
type LSU struct {
	ID       string
	Instance int64 // as in Hello
	LSSeq    int64
	Peers    []Peer

	has uint8
}

// Peer is a neighbour in a link state.
type Peer struct {
	ID   string
	Cost int // from 1
}

func (u *LSU) Opcode() Opcode { return OpcodeLSU }
func (u *LSU) Origin() string { return u.ID }

func (u *LSU) appendValue(b []byte) []byte {
	w := beginBody(b, false)
	w.common(u.ID)
	w.integer("instance", u.Instance)
	w.integer("ls_seq", u.LSSeq)
	w.key("ls")
	ls := beginBody(w.b, false)
	ls.text("id", u.ID)
	ls.text("area", Area)
	ls.integer("ls_seq", u.LSSeq)
	ls.key("peers")
	peers := beginBody(ls.b, false)
	for _, p := range u.Peers {
		peers.integer(p.ID, int64(p.Cost))
	}
	ls.b = peers.end()
	w.b = ls.end()
	return w.end()
}

// The number of the link state stands twice. The one within it is the one that belongs to it.
func (u *LSU) field(key string, d *encoding.Decoder) (known bool, err error) {
	switch key {
	case "id":
		u.ID, err = text(d)
	case "instance":
		u.Instance, err = integer(d)
	case "ls_seq":
		_, err = integer(d)
		u.has |= 1
	case "ls":
		u.has |= 2
		err = eachEntry(d, u.linkState)
	default:
		return false, nil
	}
	return true, err
}

func (u *LSU) linkState(key string, d *encoding.Decoder) (known bool, err error) {
	switch key {
	case "id":
		u.has |= 4
		_, err = text(d)
	case "ls_seq":
		u.has |= 8
		u.LSSeq, err = integer(d)
	case "peers":
		u.has |= 16
		u.Peers = nil
		err = eachEntry(d, u.peer)
	default:
		return false, nil
	}
	return true, err
}

func (u *LSU) peer(id string, d *encoding.Decoder) (bool, error) {
	const mostCost = 1 << 30 // so that the cost of a path of 2^32 hops still fits
	cost, err := integer(d)
	if err == nil && len(u.Peers) >= maxSeen {
		err = amqp.Errorf(amqp.CondDecodeError, "link state with more than %d peers", maxSeen)
	}
	u.Peers = append(u.Peers, Peer{ID: id, Cost: int(min(cost, mostCost))})
	return true, err
}

func (u *LSU) check() error {
	for i, key := range []string{"ls_seq", "ls", "ls.id", "ls.ls_seq", "ls.peers"} {
		if u.has&(1<<i) == 0 {
			return missing(OpcodeLSU, key)
		}
	}
	u.has = 0
	return nil
}
