package edges

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/uplink"
)

// tracking tells an edge router of which addresses that it sends to there is a
// destination. What it has not been told yet is kept as a set, so that an address
// that comes and goes while the edge router does not read costs one message, and
// memory is bounded by its links.
type tracking struct {
	conn   *transport.Conn
	sender *links.ControlSender // guarded by the connection's lock; nil before it is attached

	mu     sync.Mutex // a leaf lock; guards the fields below
	dirty  map[string]bool
	posted bool
	sent   uint64
}

// reach is links.Side.Reach: it may be called under the lock of any address.
func (t *tracking) reach(r *links.Receiver, has bool) {
	key := r.Info().Key
	if strings.HasPrefix(key, services) {
		return
	}
	t.mu.Lock()
	if t.dirty == nil {
		t.dirty = make(map[string]bool)
	}
	t.dirty[key] = has
	first := !t.posted
	t.posted = true
	t.mu.Unlock()
	if first {
		t.conn.Post(transport.Post{To: t})
		links.Kick(t.conn)
	}
}

// services is how the keys of addresses begin that routers have for each other.
// They are there or not, and nobody waits for that.
const services = "M0_$qd."

// HandlePost implements transport.PostHandler.
func (t *tracking) HandlePost(*transport.Post) {
	t.mu.Lock()
	t.posted = false
	t.mu.Unlock()
	t.flush()
}

// attach answers the attach of the link on which the edge router is told.
func (t *tracking) attach(a *frames.Attach) transport.Link {
	t.sender = links.NewControlSender(a, links.ControlSenderOptions{QueueBytes: trackingQueue})
	return t.sender
}

// flush sends what the edge router has not been told, as far as it takes it; what
// it has not taken follows when a message has left.
func (t *tracking) flush() {
	s := t.sender
	if s == nil {
		return
	}
	t.mu.Lock()
	dirty := t.dirty
	t.dirty = nil
	t.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(dirty)) {
		if s.Send(uplink.AppendTracked(nil, key, dirty[key]), true, t.left) != nil {
			t.mu.Lock()
			for key, has := range dirty {
				if t.dirty == nil {
					t.dirty = make(map[string]bool)
				}
				if _, newer := t.dirty[key]; !newer {
					t.dirty[key] = has
				}
			}
			t.mu.Unlock()
			return
		}
		delete(dirty, key)
		t.sent++
	}
}

// left is called for each message that has left.
func (t *tracking) left(messaging.DeliveryState) {
	t.mu.Lock()
	more := len(t.dirty) > 0 && !t.posted
	if more {
		t.posted = true
	}
	t.mu.Unlock()
	if more {
		t.conn.Post(transport.Post{To: t})
		links.Kick(t.conn)
	}
}
