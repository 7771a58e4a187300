package edges

import (
	"sync"
	"time"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/links"
	"sluice/router/table"
	"sluice/router/uplink"
)

const (
	// silence is how long an edge router that sends heartbeats may send none: four
	// times their interval.
	silence = 8 * time.Second
	// doubt is how long one may be silent before another connection with its id is
	// taken for its next: twice the interval.
	doubt = 4 * time.Second
)

// Edges are the edge routers that are connected to this router.
type Edges struct {
	Table *table.Table

	mu    sync.Mutex // a leaf lock; guards the fields below
	conns map[*Edge]struct{}
	byID  map[string]*Edge // those with a downlink
}

func (es *Edges) add(e *Edge) {
	es.mu.Lock()
	defer es.mu.Unlock()
	if es.conns == nil {
		es.conns, es.byID = make(map[*Edge]struct{}), make(map[string]*Edge)
	}
	es.conns[e] = struct{}{}
}

func (es *Edges) remove(e *Edge) {
	es.mu.Lock()
	defer es.mu.Unlock()
	delete(es.conns, e)
	if e.router != "" && es.byID[e.router] == e {
		delete(es.byID, e.router)
	}
}

// claim makes e the edge router with this id, unless there is another.
func (es *Edges) claim(e *Edge, id string) *amqp.Error {
	es.mu.Lock()
	defer es.mu.Unlock()
	if e.router != "" {
		return amqp.Errorf(amqp.CondNotAllowed, "the edge router %q has a downlink on this connection already", e.router)
	}
	old := es.byID[id]
	if old != nil && old != e {
		silent := time.Duration(time.Now().UnixNano() - old.heard.Load())
		same := e.instance != 0 && e.instance == old.instance
		if !same && silent < doubt {
			return amqp.Errorf(amqp.CondNotAllowed, "an edge router %q is connected already, from %s: two with one id cannot be told apart", id, old.Peer)
		}
		old.end(amqp.Errorf(amqp.CondConnectionForced, "the edge router %q has another connection now, from %s", id, e.Peer))
	}
	e.router, es.byID[id] = id, e
	return nil
}

// Check gives up edge routers that have been silent for too long. It is called
// about once a second.
func (es *Edges) Check(now time.Time) {
	es.mu.Lock()
	var silent []*Edge
	for _, e := range es.byID {
		if e.beating.Load() && now.UnixNano()-e.heard.Load() > int64(silence) {
			silent = append(silent, e)
		}
	}
	es.mu.Unlock()
	for _, e := range silent {
		e.end(amqp.Errorf(amqp.CondConnectionForced, "the edge router %q has sent no heartbeat for more than %v", e.router, silence))
	}
}

// A View is what management shows of an edge router.
type View struct {
	Conn   uint64
	Router string // empty if the connection is not used
	Peer   string
	Heard  time.Time // the last sign of life
}

// All returns the edge routers that are connected, in no order.
func (es *Edges) All() []View {
	es.mu.Lock()
	defer es.mu.Unlock()
	list := make([]View, 0, len(es.conns))
	for e := range es.conns {
		v := View{Conn: e.ID, Peer: e.Peer}
		if es.byID[e.router] == e {
			v.Router, v.Heard = e.router, time.Unix(0, e.heard.Load())
		}
		list = append(list, v)
	}
	return list
}

// Trim has links for streams that are not used any more detached.
func (es *Edges) Trim(keep int) {
	es.mu.Lock()
	var ways []*links.Way
	for e := range es.conns {
		ways = append(ways, e.way)
	}
	es.mu.Unlock()
	for _, w := range ways {
		w.Trim(keep)
	}
}

// instance reads which life of an edge router the properties of its open name; 0
// for none.
func instance(properties []byte) uint64 {
	d := encoding.NewDecoder(properties)
	v, err := d.Any()
	if err != nil {
		return 0
	}
	m, _ := v.(encoding.Map)
	for _, entry := range m {
		if k, ok := entry.Key.(amqp.Symbol); ok && k == uplink.PropInstance {
			n, _ := entry.Value.(uint64)
			return n
		}
	}
	return 0
}
