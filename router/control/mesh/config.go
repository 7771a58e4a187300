package mesh

import (
	"fmt"
	"strings"
	"time"
)

// Config says who the router is and how it behaves. A zero field other than ID and Instance has the default named there.
type Config struct {
	ID string // router id: not empty, no slash, at most MaxID bytes; different from that of any other router

	// Instance tells one life of the router from the next. It must be above 0 and differ from that of the life before:
	// a start time does, the finer the better. The first implementation uses seconds since 1970.
	Instance int64

	HelloInterval  time.Duration // between HELLOs on a link; 1 s
	HelloMaxAge    time.Duration // silence after which a neighbour is none; 3 s
	RAInterval     time.Duration // between RAs when nothing happens; 30 s
	RAIntervalFlux time.Duration // between RAs for twice as long after a change of the topology; 4 s
	RemoteLSMaxAge time.Duration // silence after which all that a router has told is forgotten; 60 s

	LinkStateDelay time.Duration // from a change of the own link state to telling it; 5 ms
	MobileDelay    time.Duration // from the first of some changes of mobile addresses to telling them all; 20 ms
	RequestTimeout time.Duration // between the first eight repetitions of an LSR; 250 ms, later up to 32 times that; a MAR: twice

	// LateCopy is how long after the first copy of a message another may arrive by a longer path; 2 s. Equal floods within
	// it are copies of one; what contradicts newer news within it is old. It must be below RAIntervalFlux.
	LateCopy time.Duration

	MaxRouters   int // routers known, the own one not counted; 1,024
	MaxPeers     int // neighbours in one link state; 1,024
	MaxLinks     int // peers in the link states of all others together; 65,536
	MaxAddresses int // mobile keys of one router, and of this one; 131,072
	MaxKeys      int // mobile keys of all others together; 1,048,576
	MaxID        int // length of a router id; 255 bytes
	MaxKey       int // length of a mobile key; 4,096 bytes

	// MaxMessage is the hard limit of the control links; 16 MiB. An absolute MAU names all local keys at once, so keys
	// that would make it larger are not announced.
	MaxMessage int // bytes

	// KeysPerDelta and BytesPerDelta bound a delta MAU. More changes at once are told in several, each with its own
	// mobile_seq: 50,000 new addresses of 30 bytes are 25 deltas of 2,000 keys.
	KeysPerDelta  int // keys; 2,000
	BytesPerDelta int // bytes of keys; 262,144; a single longer key still goes
}

func (c Config) withDefaults() Config {
	duration := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	number := func(n *int, v int) {
		if *n <= 0 {
			*n = v
		}
	}
	duration(&c.HelloInterval, time.Second)
	duration(&c.HelloMaxAge, 3*c.HelloInterval)
	duration(&c.RAInterval, 30*time.Second)
	duration(&c.RAIntervalFlux, min(4*time.Second, c.RAInterval))
	duration(&c.RemoteLSMaxAge, 60*time.Second)
	duration(&c.LinkStateDelay, 5*time.Millisecond)
	duration(&c.MobileDelay, 20*time.Millisecond)
	duration(&c.RequestTimeout, 250*time.Millisecond)
	duration(&c.LateCopy, min(2*time.Second, c.RAIntervalFlux/2))
	number(&c.MaxRouters, 1024)
	number(&c.MaxPeers, 1024)
	number(&c.MaxLinks, 65536)
	number(&c.MaxAddresses, 131072)
	number(&c.MaxKeys, 1<<20)
	number(&c.MaxID, 255)
	number(&c.MaxKey, 4096)
	number(&c.MaxMessage, 16<<20)
	number(&c.KeysPerDelta, 2000)
	number(&c.BytesPerDelta, 256<<10)
	return c
}

func (c *Config) validate() error {
	switch {
	case c.ID == "" || len(c.ID) > c.MaxID:
		return fmt.Errorf("mesh: router id of %d bytes, 1 to %d are possible", len(c.ID), c.MaxID)
	case strings.Contains(c.ID, "/"):
		return fmt.Errorf("mesh: router id %q has a slash", c.ID)
	case c.ID == "all":
		return fmt.Errorf("mesh: router id %q is the address of all routers", c.ID)
	case c.Instance <= 0:
		return fmt.Errorf("mesh: instance %d is not above 0", c.Instance)
	case c.LateCopy >= c.RAIntervalFlux:
		return fmt.Errorf("mesh: copies may be late by %v, which is not below the RA interval of %v", c.LateCopy, c.RAIntervalFlux)
	}
	return nil
}

// silence is for how long a neighbour says nothing before another life of it on another link is believed. It is one HELLO
// that did not come, and half an interval for it to be late.
func (c *Config) silence() time.Duration { return c.HelloInterval * 3 / 2 }

const (
	// traceMargin is by how much a trace may be longer than the radius allows. The radius is that of the paths known so
	// far, and floods arrive over longer ones; loops are found by the own id in the trace. This is only the last guard.
	traceMargin = 64 // routers

	// probeDelay is the time that a router has, after a path to it was found, to say by itself that it is there.
	probeDelay = 300 * time.Millisecond

	// greetDelay is the time from finding a path to some router to the RA by which the router learns of this one. Paths to
	// many are found at about the same time.
	greetDelay = 50 * time.Millisecond

	// pathStep is the time that a slow neighbour needs for the path: a step of a second, and a bit.
	pathStep = 1150 * time.Millisecond

	// tellSpacing is the least time between two tellings of the own link state, so that a flapping link costs a bounded
	// number of messages.
	tellSpacing = 50 * time.Millisecond

	// answerSpacing is the least time between two absolute MAUs of the same content to the same router: the first is still
	// under way when another request arrives.
	answerSpacing = 400 * time.Millisecond
)

// routesSpacing is the least time between two calculations of Routes for n routers. Valid origins cost a path tree for
// each router, so that a mesh that starts would otherwise calculate without end.
func routesSpacing(n int) time.Duration {
	return time.Millisecond + time.Duration(n*n)*500*time.Nanosecond
}

// pathsSpacing is the least time between two calculations of the paths in a graph, about four times what one takes, so that
// whoever changes link states all the time leaves time for all else. Graphs of common size have none: nothing then acts upon
// paths of a moment ago.
func pathsSpacing(g *graph) time.Duration {
	n := len(g.ids)
	for _, edges := range g.edges {
		n += len(edges)
	}
	if n <= 4096 {
		return 0
	}
	return time.Duration(n) * 400 * time.Nanosecond
}

// originsSlice is how many nodes and edges are visited for valid origins before anything else is done. They are those of
// all trees of a hundred routers with twenty links each, and take some milliseconds.
const originsSlice = 1 << 18
