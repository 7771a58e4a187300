package mesh

import (
	"container/heap"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A sim is a mesh in memory: engines, links with delays that keep the order of messages, and a clock that jumps from
// event to event.
type sim struct {
	t     testing.TB
	rng   *rand.Rand
	now   time.Time
	began time.Time
	queue simQueue
	seq   int
	nodes map[string]*simNode
	edges []*simEdge
	delay func() time.Duration

	sent    map[Opcode]int // messages on all links, a message that is passed on counted each time
	refused []string
	notices map[NoticeKind]int
	lives   int64
	twin    *twin // of the mesh when it was last looked at
}

type simNode struct {
	name   string // in the sim; not the id if two have the same
	id     string
	engine *Engine
	dead   bool
	tickAt time.Time
	routes *Routes
	local  map[string]int
	remote map[string]map[string]int // by router, key
}

// A simEdge is a connection between two routers. Its number is the Link at both ends.
type simEdge struct {
	number uint64
	ends   [2]string
	cost   int
	up     bool
	life   int // messages of the life before are lost
	free   [2]time.Time
}

type simEvent struct {
	at  time.Time
	seq int
	do  func()
}

type simQueue []simEvent

func (q simQueue) Len() int { return len(q) }
func (q simQueue) Less(i, j int) bool {
	return q[i].at.Before(q[j].at) || q[i].at.Equal(q[j].at) && q[i].seq < q[j].seq
}
func (q simQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *simQueue) Push(x any)   { *q = append(*q, x.(simEvent)) }
func (q *simQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func newSim(t testing.TB, seed uint64) *sim {
	start := time.Unix(1_800_000_000, 0)
	s := &sim{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: start, began: start, nodes: map[string]*simNode{},
		sent: map[Opcode]int{}, notices: map[NoticeKind]int{},
	}
	s.delay = func() time.Duration { return time.Duration(200+s.rng.IntN(800)) * time.Microsecond }
	return s
}

func (s *sim) at(t time.Time, do func()) {
	s.seq++
	heap.Push(&s.queue, simEvent{t, s.seq, do})
}

// run lets d pass.
func (s *sim) run(d time.Duration) {
	end := s.now.Add(d)
	for len(s.queue) > 0 && !s.queue[0].at.After(end) {
		ev := heap.Pop(&s.queue).(simEvent)
		s.now = ev.at
		ev.do()
	}
	s.now = end
}

// add starts a router, or starts one again that was stopped. A router that has restarted has the same local addresses.
func (s *sim) add(id string) *simNode {
	s.lives++
	return s.addAs(id, id, s.lives)
}

func (s *sim) addAs(name, id string, life int64) *simNode {
	e, err := New(Config{ID: id, Instance: life}, s.now)
	if err != nil {
		s.t.Fatal(err)
	}
	n := &simNode{name: name, id: id, engine: e, local: map[string]int{}, remote: map[string]map[string]int{}}
	if old := s.nodes[name]; old != nil {
		n.local = old.local
	}
	s.nodes[name] = n
	for _, key := range slices.Sorted(maps.Keys(n.local)) {
		e.Step(s.now, LocalAdd{key, n.local[key]})
	}
	s.take(n)
	return n
}

// stop ends a router without a word, and its connections.
func (s *sim) stop(id string) {
	s.nodes[id].dead = true
	for _, e := range s.edges {
		if e.up && slices.Contains(e.ends[:], id) {
			s.cut(e)
		}
	}
}

func (s *sim) connect(a, b string, cost int) *simEdge {
	e := &simEdge{number: uint64(len(s.edges) + 1), ends: [2]string{a, b}, cost: cost}
	s.edges = append(s.edges, e)
	s.heal(e)
	return e
}

func (s *sim) heal(e *simEdge) {
	e.up = true
	e.free = [2]time.Time{}
	for _, id := range e.ends {
		s.step(s.nodes[id], LinkUp{Link: e.number, Cost: e.cost})
	}
}

func (s *sim) cut(e *simEdge) {
	e.up = false
	e.life++
	for _, id := range e.ends {
		s.step(s.nodes[id], LinkDown{Link: e.number})
	}
}

func (s *sim) localAdd(id, key string) {
	s.nodes[id].local[key] = TreatmentBalanced
	s.step(s.nodes[id], LocalAdd{key, TreatmentBalanced})
}

func (s *sim) localRemove(id, key string) {
	delete(s.nodes[id].local, key)
	s.step(s.nodes[id], LocalRemove{key})
}

func (s *sim) step(n *simNode, ev Event) {
	if n.dead {
		return
	}
	n.engine.Step(s.now, ev)
	s.take(n)
}

// take does what an engine wants done, and arranges its next tick.
func (s *sim) take(n *simNode) {
	for _, o := range n.engine.Ready() {
		switch o := o.(type) {
		case Send:
			s.transmit(n, o)
		case *Routes:
			n.routes = o
		case RemoteAdd:
			if n.remote[o.Router] == nil {
				n.remote[o.Router] = map[string]int{}
			}
			if _, twice := n.remote[o.Router][o.Key]; twice {
				s.t.Fatalf("%s: %s added twice for %s", n.id, o.Key, o.Router)
			}
			n.remote[o.Router][o.Key] = o.Treatment
		case RemoteRemove:
			if _, there := n.remote[o.Router][o.Key]; !there {
				s.t.Fatalf("%s: %s of %s removed, but was not there", n.id, o.Key, o.Router)
			}
			delete(n.remote[o.Router], o.Key)
		case RouterGone:
			if len(n.remote[o.Router]) > 0 {
				s.t.Fatalf("%s: %s is gone, its addresses are not: %v", n.id, o.Router, n.remote[o.Router])
			}
			if n.routes != nil && n.routes.ByNumber(o.Number) != nil {
				s.t.Fatalf("%s: %s is gone and still in Routes", n.id, o.Router)
			}
		case Refuse:
			s.refused = append(s.refused, fmt.Sprintf("%s: %v", n.name, o.Error))
			e := s.edges[o.Link-1]
			life := e.life
			s.at(s.now.Add(5*time.Millisecond), func() {
				if e.up && e.life == life {
					s.cut(e)
				}
			})
		case Notice:
			s.notices[o.Kind]++
		}
	}
	next := n.engine.Next()
	if next.Before(s.now) {
		next = s.now
	}
	if n.tickAt.IsZero() || next.Before(n.tickAt) {
		n.tickAt = next
		s.at(next, func() {
			if !n.dead && n.tickAt.Equal(next) {
				n.tickAt = time.Time{}
				n.engine.Tick(s.now)
				s.take(n)
			}
		})
	}
}

func (s *sim) transmit(n *simNode, o Send) {
	if len(o.Message.Trace) == 0 || o.Message.Trace[len(o.Message.Trace)-1] != NodeView(n.id) {
		s.t.Fatalf("%s sends a message that does not end its trace with itself: %+v", n.id, o.Message)
	}
	e := s.edges[o.Link-1]
	if !e.up {
		return
	}
	s.sent[o.Message.Body.Opcode()]++
	b := o.Message.Append(nil)
	side := 0
	if e.ends[1] == n.name {
		side = 1
	}
	at := s.now.Add(s.delay())
	if at.Before(e.free[side]) {
		at = e.free[side]
	}
	e.free[side] = at
	life := e.life
	s.at(at, func() {
		peer := s.nodes[e.ends[1-side]]
		if e.life != life || peer.dead {
			return
		}
		m, err := Decode(b)
		if err != nil || m.Problem != nil {
			s.t.Fatalf("%s sent what cannot be read: %v, %v", n.id, err, m.Problem)
		}
		s.step(peer, Received{Link: e.number, Message: m})
	})
}

// alive returns the ids of running routers, sorted, and the costs between them as the connections have them.
func (s *sim) alive() (ids []string, cost [][]int64) {
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		if !s.nodes[id].dead {
			ids = append(ids, id)
		}
	}
	for range ids {
		row := make([]int64, len(ids))
		for i := range row {
			row[i] = -1
		}
		cost = append(cost, row)
	}
	for _, e := range s.edges {
		if !e.up {
			continue
		}
		a, b := slices.Index(ids, e.ends[0]), slices.Index(ids, e.ends[1])
		if c := cost[a][b]; c < 0 || int64(e.cost) < c {
			cost[a][b], cost[b][a] = int64(e.cost), int64(e.cost)
		}
	}
	return ids, cost
}

// disagreement says where the routers' pictures differ from the true mesh, or is empty.
func (s *sim) disagreement() string {
	ids, cost := s.alive()
	if s.twin == nil || !slices.Equal(s.twin.ids, ids) || !slices.EqualFunc(s.twin.cost, cost, slices.Equal) {
		s.twin = newTwin(ids, cost)
	}
	w := s.twin
	for self, id := range ids {
		n := s.nodes[id]
		count := 0
		for v, other := range ids {
			route := n.routes.Lookup(other)
			if v == self || w.dist[self][v] < 0 {
				if route != nil {
					return fmt.Sprintf("%s has a route to %s: %+v", id, other, *route)
				}
				if len(n.remote[other]) > 0 {
					return fmt.Sprintf("%s has addresses of %s, to which there is no path: %v", id, other, n.remote[other])
				}
				continue
			}
			count++
			if route == nil {
				return fmt.Sprintf("%s has no route to %s", id, other)
			}
			p := w.path[self][v]
			if route.Cost != w.dist[self][v] || route.Hops != len(p)-1 || route.NextHop != ids[p[1]] {
				return fmt.Sprintf("%s goes to %s by %+v, not by %v", id, other, *route, p)
			}
			if back := w.path[v][self]; n.routes.ByNumber(route.Before) != n.routes.Lookup(ids[back[len(back)-2]]) {
				return fmt.Sprintf("%s: what enters at %s comes by router %d, not by %v", id, other, route.Before, back)
			}
			if n.routes.ByNumber(route.Number) != route || !route.ValidOrigins.Has(SelfNumber) {
				return fmt.Sprintf("%s: numbers of %+v", id, *route)
			}
			for o, origin := range ids {
				if o == self || w.dist[self][o] < 0 {
					continue
				}
				if n.routes.Lookup(origin) == nil {
					return fmt.Sprintf("%s has no route to %s", id, origin)
				}
				if got, want := route.ValidOrigins.Has(n.routes.Lookup(origin).Number), w.passes(o, self, v); got != want {
					return fmt.Sprintf("%s: %s as valid origin for %s is %t, not %t", id, origin, other, got, want)
				}
			}
			if !maps.Equal(n.remote[other], s.nodes[other].local) {
				return fmt.Sprintf("%s has for %s %v, not %v", id, other, n.remote[other], s.nodes[other].local)
			}
		}
		if len(n.routes.Routers) != count {
			return fmt.Sprintf("%s has routes to %d routers, not %d", id, len(n.routes.Routers), count)
		}
	}
	return ""
}

// converge runs until all routers agree with the true mesh, at most for d, and returns how long it took.
func (s *sim) converge(d time.Duration) time.Duration {
	s.t.Helper()
	began := s.now
	for why := s.disagreement(); why != ""; why = s.disagreement() {
		if s.now.Sub(began) >= d {
			s.t.Fatalf("not converged after %v: %s", d, why)
		}
		s.run(5 * time.Millisecond)
	}
	return s.now.Sub(began)
}

// checkForwarding follows next hops, and multicast from every router, as the data plane does.
func (s *sim) checkForwarding() {
	s.t.Helper()
	ids, _ := s.alive()
	for _, id := range ids {
		for _, to := range s.nodes[id].routes.Routers {
			at, hops := id, 0
			for at != to.ID {
				if hops++; hops > len(ids) {
					s.t.Fatalf("from %s to %s there is a loop", id, to.ID)
				}
				at = s.nodes[at].routes.Lookup(to.ID).NextHop
			}
			if hops != to.Hops {
				s.t.Fatalf("from %s to %s there are %d hops, not %d", id, to.ID, hops, to.Hops)
			}
		}
		got := map[string]int{}
		s.multicast(id, id, got)
		for _, to := range s.nodes[id].routes.Routers {
			if got[to.ID] != 1 {
				s.t.Fatalf("multicast from %s reaches %s %d times", id, to.ID, got[to.ID])
			}
		}
		if got[id] != 1 {
			s.t.Fatalf("multicast from %s comes back", id)
		}
	}
}

// multicast lets a message that entered at origin arrive at a router.
func (s *sim) multicast(origin, at string, got map[string]int) {
	if got[at]++; got[at] > 1 {
		return
	}
	routes := s.nodes[at].routes
	number := SelfNumber
	if at != origin {
		number = routes.Lookup(origin).Number
	}
	next := map[string]bool{}
	for _, r := range routes.Routers {
		if r.ValidOrigins.Has(number) && (at == origin || number != SelfNumber) {
			next[r.NextHop] = true
		}
	}
	for id := range next {
		s.multicast(origin, id, got)
	}
}

func (s *sim) total() (n int) {
	for o, c := range s.sent {
		if o != OpcodeHello {
			n += c
		}
	}
	return n
}
