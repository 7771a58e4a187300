package mesh

import (
	"slices"
)

// SelfNumber is the number of the own router. Those of others are above.
const SelfNumber = 0

// Routes is the mesh as seen from one router: all routers that have a path, and how to go there. It never changes once
// it was handed out.
type Routes struct {
	Self      string
	Radius    int        // hops to the farthest router; 0 when alone
	Neighbors []Neighbor // by id
	Routers   []Route    // nearest first: by cost, then id; the own router is not among them

	byID     map[string]int32
	byNumber []int32 // index in Routers, or -1
}

// Neighbor is a router at the other end of at least one usable link.
type Neighbor struct {
	ID     string
	Number int
	Cost   int      // of the cheapest link
	Links  []uint64 // all usable links to it, ascending
}

// Route is the way to a router.
type Route struct {
	ID      string
	Number  int      // small, and the same for as long as the router is known
	Cost    int64    // sum along the path
	Hops    int      // links along the path, from 1
	NextHop string   // neighbour that the path begins with; the router itself if that is one
	Links   []uint64 // of that neighbour, shared with Neighbors
	Before  int      // number of the neighbour by which comes what enters the mesh at the router; -1 for none

	// Peers are what the router has told of its neighbours, in order of their ids; none if it has told nothing yet.
	Peers []Peer

	// ValidOrigins holds the numbers of the routers whose messages may pass through here on their way to this router.
	// A multicast message that goes to routers of valid origin only reaches each once, on any graph. SelfNumber is always
	// in it.
	ValidOrigins NumberSet
}

// Lookup returns the way to a router, or nil if there is none.
func (r *Routes) Lookup(id string) *Route {
	if i, ok := r.byID[id]; ok {
		return &r.Routers[i]
	}
	return nil
}

// ByNumber returns the way to the router with a number, or nil if there is none.
func (r *Routes) ByNumber(n int) *Route {
	if n < 0 || n >= len(r.byNumber) || r.byNumber[n] < 0 {
		return nil
	}
	return &r.Routers[r.byNumber[n]]
}

// Neighbor returns the neighbour with an id, or nil if there is none.
func (r *Routes) Neighbor(id string) *Neighbor {
	i, ok := slices.BinarySearchFunc(r.Neighbors, id, func(n Neighbor, id string) int { return compareIDs(n.ID, id) })
	if !ok {
		return nil
	}
	return &r.Neighbors[i]
}

// NumberSet is a set of numbers of routers.
type NumberSet []uint64

// Has reports whether n is in the set.
func (s NumberSet) Has(n int) bool {
	return n >= 0 && n>>6 < len(s) && s[n>>6]&(1<<(n&63)) != 0
}

// add puts n, for which there must be room, into the set.
func (s NumberSet) add(n int) { s[n>>6] |= 1 << (n & 63) }

func newNumberSet(most int) NumberSet { return make(NumberSet, most>>6+1) }

func (r *Routes) equal(o *Routes) bool {
	return o != nil && r.Radius == o.Radius &&
		slices.EqualFunc(r.Neighbors, o.Neighbors, func(a, b Neighbor) bool {
			return a.ID == b.ID && a.Number == b.Number && a.Cost == b.Cost && slices.Equal(a.Links, b.Links)
		}) &&
		slices.EqualFunc(r.Routers, o.Routers, func(a, b Route) bool {
			return a.ID == b.ID && a.Number == b.Number && a.Cost == b.Cost && a.Hops == b.Hops && a.NextHop == b.NextHop &&
				a.Before == b.Before && slices.Equal(a.Links, b.Links) && slices.Equal(a.Peers, b.Peers) &&
				slices.Equal(a.ValidOrigins, b.ValidOrigins)
		})
}
