package mesh

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A cut is told by both ends to all, and costs a bounded number of messages.
func TestMessagesForOneCut(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(*sim, int)
		n     int
	}{{"full mesh", full, 6}, {"ring", ring, 50}} {
		t.Run(c.name, func(t *testing.T) {
			s := newSim(t, 3)
			c.build(s, c.n)
			s.converge(5 * time.Second)
			s.run(35 * time.Second) // between two rounds of RAs
			clear(s.sent)
			s.cut(s.edges[0])
			took := s.converge(300 * time.Millisecond)
			s.run(time.Second)
			t.Logf("%v, messages %v", took, s.sent)

			// Each of the two ends sends one LSU to each other router, which passes as many links as the way is long, and
			// one RA over each link in each direction at most.
			hops := 0
			for _, end := range s.edges[0].ends {
				for _, r := range s.nodes[end].routes.Routers {
					hops += r.Hops
				}
			}
			// Where an RA overtakes an LSU on another way, that is asked for.
			if s.sent[OpcodeLSU]+s.sent[OpcodeLSR] > hops+8 || s.sent[OpcodeRA] > 2*2*len(s.edges) {
				t.Errorf("messages %v, at most %d LSU and %d RA expected", s.sent, hops+8, 2*2*len(s.edges))
			}
			s.run(20 * time.Second)
			if most := (2 + 3*c.n) * 2 * len(s.edges); s.sent[OpcodeRA] > most {
				t.Errorf("%d RA in the time of flux, at most %d expected", s.sent[OpcodeRA], most)
			}
			if n := s.sent[OpcodeMAR] + s.sent[OpcodeMAU]; n > 0 {
				t.Errorf("messages %v, nothing about addresses expected", s.sent)
			}
		})
	}
}

// In a mesh where nothing happens, RAs and HELLOs are all there is.
func TestQuiet(t *testing.T) {
	s := newSim(t, 4)
	full(s, 6)
	s.localAdd("R01", "M0x")
	s.converge(time.Second)
	s.run(30 * time.Second)
	clear(s.sent)
	s.run(60 * time.Second)
	rounds := 60/30 + 1
	if s.sent[OpcodeRA] > rounds*6*2*len(s.edges) || s.total() != s.sent[OpcodeRA] {
		t.Errorf("messages of a minute: %v", s.sent)
	}
}

// Two halves that had changed while they were apart know all of each other soon after one link between them is back,
// and neither is asked for addresses that it has not changed.
func TestHalvesMeet(t *testing.T) {
	s := newSim(t, 5)
	ring(s, 20)
	for i := range 20 {
		s.localAdd(fmt.Sprintf("R%02d", i), "M0x")
	}
	s.converge(5 * time.Second)
	s.cut(s.edges[4])
	s.cut(s.edges[14])
	s.converge(time.Second)
	s.localAdd("R00", "M0y")
	s.localRemove("R10", "M0x")
	s.cut(s.edges[8])
	s.run(30 * time.Second)
	s.heal(s.edges[8])
	s.run(time.Second)
	clear(s.sent)
	s.heal(s.edges[4])
	took := s.converge(time.Second)
	s.checkForwarding()
	t.Logf("%v, messages %v", took, s.sent)
}

// A router that joins is known everywhere, and knows all, without waiting for anybody's next RA.
func TestJoin(t *testing.T) {
	s := newSim(t, 11)
	for i := range 8 {
		id := fmt.Sprintf("R%02d", i)
		s.add(id)
		s.localAdd(id, "M0x")
		if i > 0 {
			s.connect(fmt.Sprintf("R%02d", i-1), id, 1)
		}
		s.converge(200 * time.Millisecond)
	}
}

// A router that restarts with the same id is usable within 2 s, whether its old connections are known to be dead or not.
func TestRestartWithinTwoSeconds(t *testing.T) {
	for seed := range 10 {
		silent := seed%2 == 0
		t.Run(fmt.Sprintf("seed=%d/silent=%t", seed, silent), func(t *testing.T) {
			s := newSim(t, uint64(seed))
			ring(s, 6)
			s.localAdd("R03", "M0old")
			s.localAdd("R01", "M0x")
			s.converge(2 * time.Second)
			s.run(10*time.Second + time.Duration(s.rng.IntN(1000))*time.Millisecond)
			old := s.edges[2:4] // to R02 and R04
			if silent {
				// The peers do not notice that the router is gone.
				s.nodes["R03"].dead = true
				for _, e := range old {
					e.life++
				}
			} else {
				s.stop("R03")
			}
			s.run(100 * time.Millisecond)
			s.nodes["R03"].local = map[string]int{"M0new": TreatmentClosest}
			s.add("R03")
			for _, e := range old {
				s.connect(e.ends[0], e.ends[1], 1)
			}
			took := s.converge(2 * time.Second)
			t.Logf("%v", took)
			if silent {
				for _, e := range old {
					e.ends = [2]string{e.ends[0], e.ends[1]}
					s.cut(e)
				}
				s.run(5 * time.Second)
			}
			if why := s.disagreement(); why != "" {
				t.Error(why)
			}
			if len(s.refused) > 0 {
				t.Errorf("refused: %v", s.refused)
			}
		})
	}
}

// Two routers with the same id that are connected to each other refuse each other; connected to a third, the newer is
// refused, and the older goes on.
func TestDuplicateID(t *testing.T) {
	s := newSim(t, 7)
	ring(s, 3)
	s.converge(time.Second)
	twin := s.addAs("twin", "R01", 99)
	s.connect("twin", "R01", 1)
	s.run(time.Second)
	if len(s.refused) != 2 || s.refused[0][:4] == s.refused[1][:4] {
		t.Errorf("both ends should refuse: %v", s.refused)
	}
	s.refused = nil
	s.connect("twin", "R02", 1)
	s.run(3 * time.Second)
	if len(s.refused) != 1 || s.refused[0][:4] != "R02:" {
		t.Errorf("the neighbour should refuse the newer: %v", s.refused)
	}
	twin.dead = true
	s.run(10 * time.Second)
	delete(s.nodes, "twin")
	s.converge(10 * time.Second)
}

// 50,000 addresses at once are told in some deltas, not in one message for each, and who comes later gets them all.
func TestManyAddresses(t *testing.T) {
	s := newSim(t, 8)
	full(s, 3)
	s.converge(time.Second)
	s.run(20 * time.Second)
	clear(s.sent)
	for i := range 50_000 {
		s.localAdd("R00", fmt.Sprintf("M0an.address.of.30.bytes.%05d", i))
	}
	s.run(200 * time.Millisecond)
	if why := s.disagreement(); why != "" {
		t.Error(why[:min(len(why), 200)])
	}
	if s.sent[OpcodeMAU] > 25*2*len(s.edges) || s.sent[OpcodeMAR] > 0 {
		t.Errorf("messages %v", s.sent)
	}
	s.add("R03")
	s.connect("R03", "R02", 1)
	s.run(time.Second)
	if why := s.disagreement(); why != "" {
		t.Error(why[:min(len(why), 200)])
	}
}

// Several connections between the same two: one neighbour; the loss of one costs no messages.
func TestParallelConnections(t *testing.T) {
	s := newSim(t, 9)
	ring(s, 3)
	second := s.connect("R00", "R01", 1)
	s.localAdd("R01", "M0x")
	s.converge(time.Second)
	s.run(20 * time.Second)
	if n := s.nodes["R00"].routes.Neighbor("R01"); n == nil || !slices.Equal(n.Links, []uint64{1, second.number}) {
		t.Fatalf("%+v", n)
	}
	clear(s.sent)
	for _, e := range []*simEdge{second, s.edges[0]} {
		s.cut(e)
		s.run(time.Second)
		if s.total() > 0 {
			t.Errorf("the loss of one of two connections costs %v", s.sent)
		}
		s.heal(e)
		s.run(time.Second)
		if s.total() > 0 {
			t.Errorf("a second connection costs %v", s.sent)
		}
	}
	if why := s.disagreement(); why != "" {
		t.Error(why)
	}
}

// On links of very different delay everybody still hears everything.
func TestUnequalDelays(t *testing.T) {
	s := newSim(t, 10)
	s.delay = func() time.Duration { return time.Duration(s.rng.IntN(60)) * time.Millisecond }
	ring(s, 12)
	s.connect("R00", "R06", 3)
	for i := range 12 {
		s.localAdd(fmt.Sprintf("R%02d", i), "M0x")
	}
	took := s.converge(10 * time.Second)
	t.Logf("%v, messages %v", took, s.sent)
	s.run(30 * time.Second)
	s.cut(s.edges[0])
	s.converge(2 * time.Second)
	s.checkForwarding()
}
