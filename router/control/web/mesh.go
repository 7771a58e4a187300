package web

import "time"

// Mesh is what a router measures of the others, at one moment.
type Mesh struct {
	Joined    bool
	Radius    int
	Addresses int // that other routers have
	Routers   []MeshRouter
	Neighbors []Neighbor
}

// MeshRouter is a router that there is a path to.
type MeshRouter struct {
	ID, NextHop string
	Cost        int64
	Hops        int
}

// Neighbor is a router at the other end of a connection.
type Neighbor struct {
	ID                      string
	Cost                    int
	Connections             int
	Heard                   time.Duration // since its last HELLO
	Sent, Received, Lost    uint64        // routing messages
	Streams                 int           // links that carry a message that is not complete
	Queued                  int64         // bytes of those not written
	DeliveriesIn, BytesIn   uint64        // also on connections that have ended
	DeliveriesOut, BytesOut uint64
}

var (
	descJoined        = gauge("mesh_joined", "1 when the router has joined a mesh and knows its addresses.")
	descRadius        = gauge("mesh_radius_hops", "Hops to the farthest router.")
	descFarAddresses  = gauge("mesh_remote_addresses", "Addresses that other routers have consumers for.")
	descRouters       = gauge("mesh_routers", "Other routers that there is a path to.")
	descRouteCost     = gauge("mesh_route_cost", "Cost of the path to a router; it begins with the next hop.", "router", "next_hop")
	descRouteHops     = gauge("mesh_route_hops", "Hops of the path to a router.", "router")
	descNeighborUp    = gauge("mesh_neighbor_up", "1 for each router that is a neighbour.", "router")
	descNeighborCost  = gauge("mesh_neighbor_cost", "Cost of the cheapest connection to a neighbour.", "router")
	descNeighborConns = gauge("mesh_neighbor_connections", "Connections to a neighbour.", "router")
	descNeighborHeard = gauge("mesh_neighbor_hello_age_seconds", "Time since the last HELLO of a neighbour.", "router")
	descNeighborCtl   = gauge("mesh_neighbor_routing_messages_total", "Routing messages exchanged on the connections to a neighbour.", "router", "direction")
	descNeighborLost  = gauge("mesh_neighbor_routing_messages_lost_total", "Routing messages that could not be sent to a neighbour.", "router")
	descNeighborDel   = gauge("mesh_neighbor_deliveries_total", "Deliveries on the connections to a neighbour.", "router", "direction")
	descNeighborBytes = gauge("mesh_neighbor_bytes_total", "Payload bytes on the connections to a neighbour.", "router", "direction")
	descNeighborFlows = gauge("mesh_neighbor_streams", "Messages on their way to a neighbour on links of their own.", "router")
	descNeighborQueue = gauge("mesh_neighbor_stream_bytes", "Bytes of those that are not written.", "router")
)

// collect reports the mesh.
func (m *Mesh) collect(c *collection) {
	joined := 0.0
	if m.Joined {
		joined = 1
	}
	c.gauge(descJoined, joined)
	c.gauge(descRadius, float64(m.Radius))
	c.gauge(descFarAddresses, float64(m.Addresses))
	c.gauge(descRouters, float64(len(m.Routers)))
	for i := range m.Routers {
		r := &m.Routers[i]
		c.gauge(descRouteCost, float64(r.Cost), r.ID, r.NextHop)
		c.gauge(descRouteHops, float64(r.Hops), r.ID)
	}
	for i := range m.Neighbors {
		v := &m.Neighbors[i]
		c.gauge(descNeighborUp, 1, v.ID)
		c.gauge(descNeighborCost, float64(v.Cost), v.ID)
		c.gauge(descNeighborConns, float64(v.Connections), v.ID)
		c.gauge(descNeighborHeard, v.Heard.Seconds(), v.ID)
		c.count(descNeighborCtl, v.Sent, v.ID, "out")
		c.count(descNeighborCtl, v.Received, v.ID, "in")
		c.count(descNeighborLost, v.Lost, v.ID)
		c.count(descNeighborDel, v.DeliveriesOut, v.ID, "out")
		c.count(descNeighborDel, v.DeliveriesIn, v.ID, "in")
		c.count(descNeighborBytes, v.BytesOut, v.ID, "out")
		c.count(descNeighborBytes, v.BytesIn, v.ID, "in")
		c.gauge(descNeighborFlows, float64(v.Streams), v.ID)
		c.gauge(descNeighborQueue, float64(v.Queued), v.ID)
	}
}
