package mesh

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

func ring(s *sim, n int) {
	for i := range n {
		s.add(fmt.Sprintf("R%02d", i))
	}
	for i := range n {
		s.connect(fmt.Sprintf("R%02d", i), fmt.Sprintf("R%02d", (i+1)%n), 1)
	}
}

func full(s *sim, n int) {
	for i := range n {
		s.add(fmt.Sprintf("R%02d", i))
		for j := range i {
			s.connect(fmt.Sprintf("R%02d", j), fmt.Sprintf("R%02d", i), 1)
		}
	}
}

func TestStart(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(*sim, int)
		n     int
		most  time.Duration
	}{
		{"pair", full, 2, 100 * time.Millisecond},
		{"full mesh", full, 6, 200 * time.Millisecond},
		{"ring", ring, 50, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSim(t, 1)
			c.build(s, c.n)
			for id := range s.nodes {
				s.localAdd(id, "M0of."+id)
			}
			took := s.converge(c.most)
			s.checkForwarding()
			t.Logf("%v, messages %v", took, s.sent)
			s.run(20 * time.Second)
			if why := s.disagreement(); why != "" {
				t.Error(why)
			}
			t.Logf("after 20 s %v, %v", s.sent, s.notices)
		})
	}
}

// A new address is known everywhere within 200 ms, and costs one MAU and one RA on each link in each direction at most.
func TestNewAddress(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(*sim, int)
		n     int
	}{{"full mesh", full, 6}, {"ring", ring, 50}} {
		t.Run(c.name, func(t *testing.T) {
			s := newSim(t, 2)
			c.build(s, c.n)
			s.converge(5 * time.Second)
			s.run(40 * time.Second) // until RAs are rare
			clear(s.sent)
			s.localAdd("R00", "M0x")
			took := s.converge(200 * time.Millisecond)
			s.run(time.Second)
			t.Logf("%v, messages %v", took, s.sent)
			most := 2 * len(s.edges)
			if s.sent[OpcodeMAU] > most || s.sent[OpcodeMAR] > 0 || s.sent[OpcodeLSR] > 0 || s.sent[OpcodeLSU] > 0 {
				t.Errorf("messages %v, at most %d MAU expected", s.sent, most)
			}
		})
	}
}

// Whatever happens to connections and routers, in the end all agree with the truth, and nothing is left of the dead.
func TestRandomCutsAndRestarts(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newSim(t, uint64(seed))
			n := 4 + s.rng.IntN(12)
			if seed == 0 {
				n = 50
			}
			for i := range n {
				id := fmt.Sprintf("R%02d", i)
				s.add(id)
				s.localAdd(id, "M0of."+id)
				for range 1 + s.rng.IntN(2) {
					if i > 0 {
						s.connect(fmt.Sprintf("R%02d", s.rng.IntN(i)), id, 1+s.rng.IntN(3))
					}
				}
			}
			for range 60 {
				s.disturb()
				s.run(time.Duration(s.rng.IntN(400)) * time.Millisecond)
			}
			// Those who are stopped stay so.
			took := s.converge(20 * time.Second)
			s.checkForwarding()
			s.run(65 * time.Second)
			if why := s.disagreement(); why != "" {
				t.Error(why)
			}
			s.checkForgotten()
			t.Logf("%d routers, converged after %v, %v, %v", n, took, s.sent, s.notices)
		})
	}
}

// disturb does one thing at random.
func (s *sim) disturb() {
	ids := slices.Sorted(maps.Keys(s.nodes))
	id := ids[s.rng.IntN(len(ids))]
	n := s.nodes[id]
	e := s.edges[s.rng.IntN(len(s.edges))]
	switch k := s.rng.IntN(10); {
	case k < 3:
		if e.up {
			s.cut(e)
		}
	case k < 6:
		if !e.up && !s.nodes[e.ends[0]].dead && !s.nodes[e.ends[1]].dead {
			s.heal(e)
		}
	case k < 7:
		if n.dead {
			s.add(id)
		} else {
			s.stop(id)
		}
	case n.dead:
	case k < 9:
		s.localAdd(id, fmt.Sprintf("M0x%d", s.rng.IntN(20)))
	default:
		if keys := slices.Sorted(maps.Keys(n.local)); len(keys) > 0 {
			s.localRemove(id, keys[s.rng.IntN(len(keys))])
		}
	}
}

// checkForgotten checks that each router knows those that it can reach, and no others.
func (s *sim) checkForgotten() {
	s.t.Helper()
	for id, n := range s.nodes {
		if n.dead {
			continue
		}
		taken := 0
		for _, t := range n.engine.numbers {
			if t {
				taken++
			}
		}
		if len(n.engine.routers) != len(n.routes.Routers) || taken != len(n.routes.Routers)+1 {
			s.t.Errorf("%s knows %d routers by %d numbers and can reach %d", id, len(n.engine.routers), taken-1, len(n.routes.Routers))
		}
		for router, keys := range n.remote {
			if n.routes.Lookup(router) == nil && len(keys) > 0 {
				s.t.Errorf("%s has addresses of %s: %v", id, router, keys)
			}
		}
	}
}
