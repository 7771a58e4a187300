package network

import (
	"time"

	"sluice/router/control/mesh"
	"sluice/router/trunk"
)

// Status is what management shows of the network. It does not change.
type Status struct {
	Self      string
	Joined    bool // a neighbour has been there, and what the mesh knows was known
	Radius    int
	Neighbors []NeighborStatus
	Routers   []mesh.Route
	Addresses int // remote ones
}

// NeighborStatus is the state of a neighbour router.
type NeighborStatus struct {
	ID             string
	Cost           int
	Heard          time.Time      // its last HELLO
	Trunks         []*trunk.Trunk // the connections to it
	Sent, Received uint64         // routing messages
	Lost           uint64         // routing messages that could not be sent
}

// Status returns the state of the network of about now.
func (n *Network) Status() *Status { return n.status.Load() }

// report makes the status anew.
func (n *Network) report() {
	s := &Status{Self: n.cfg.Engine.ID, Joined: n.status.Load().Joined, Addresses: len(n.reach)}
	if r := n.routes; r != nil {
		s.Radius, s.Routers = r.Radius, r.Routers
		s.Addresses -= len(r.Routers)
		for i := range r.Neighbors {
			nb := &r.Neighbors[i]
			st := NeighborStatus{ID: nb.ID, Cost: nb.Cost}
			for _, id := range nb.Links {
				if p := n.trunks[id]; p != nil {
					st.Sent += p.sent
					st.Received += p.received
					st.Lost += p.lost
					st.Trunks = append(st.Trunks, p.trunk)
					if p.heard.After(st.Heard) {
						st.Heard = p.heard
					}
				}
			}
			s.Neighbors = append(s.Neighbors, st)
		}
		s.Joined = s.Joined || len(s.Neighbors) > 0 && n.engine.Unknown() == 0
	}
	n.status.Store(s)
}
