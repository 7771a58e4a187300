package edges

import (
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

	mu     sync.Mutex      // a leaf lock; guards the fields below
	dirty  map[string]bool // by key
	order  []string        // the keys of dirty, the oldest first
	posted bool
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
	if _, known := t.dirty[key]; !known {
		t.order = append(t.order, key)
	}
	t.dirty[key] = has
	t.mu.Unlock()
	t.wake()
}

// services is how the keys of addresses begin that routers have for each other.
// They are there or not, and nobody waits for that.
const services = "M0_$qd."

// wake has flush called under the connection's lock, if there is anything to send.
func (t *tracking) wake() {
	t.mu.Lock()
	post := len(t.order) > 0 && !t.posted
	t.posted = t.posted || post
	t.mu.Unlock()
	if post {
		t.conn.Post(transport.Post{To: t})
		links.Kick(t.conn)
	}
}

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

// flush sends what the edge router has not been told, as far as the link takes it;
// the rest follows when messages have left. It is called under the connection's
// lock, and so is all that takes keys out.
func (t *tracking) flush() {
	if t.sender == nil {
		return
	}
	for {
		t.mu.Lock()
		if len(t.order) == 0 {
			t.order, t.dirty = nil, nil
			t.mu.Unlock()
			return
		}
		key := t.order[0]
		has := t.dirty[key]
		t.mu.Unlock()
		if t.sender.Send(uplink.AppendTracked(nil, key, has), true, func(messaging.DeliveryState) { t.wake() }) != nil {
			return
		}
		t.mu.Lock()
		if t.dirty[key] == has { // else there is newer news already
			t.order = t.order[1:]
			delete(t.dirty, key)
		}
		t.mu.Unlock()
	}
}
