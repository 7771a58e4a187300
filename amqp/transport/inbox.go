package transport

import (
	"sluice/amqp"
	"sluice/amqp/messaging"
)

// A Post is news for something on this connection from another one. Posts are
// the only door between connections besides a sender's queue.
type Post struct {
	To      PostHandler
	Kind    uint8 // meaning is up to To
	Settled bool
	First   amqp.DeliveryNumber
	Last    amqp.DeliveryNumber
	State   messaging.DeliveryState // owned: it borrows from no frame
}

// A PostHandler receives posts under the connection's lock.
type PostHandler interface{ HandlePost(*Post) }

// Post puts p into the inbox. It may be called from any goroutine and under any
// lock but a leaf; the caller sees to it that the owner is kicked.
func (c *Conn) Post(p Post) {
	c.inboxMu.Lock()
	c.inbox = append(c.inbox, p)
	c.inboxMu.Unlock()
}

// A run is a series of consecutive deliveries of one session that got the same
// outcome on this connection.
type run struct {
	to          *Session
	first, last amqp.DeliveryNumber
	settled     bool
	state       messaging.DeliveryState
}

// Settle has the outcome of an incoming delivery of to, which is a session of
// any connection, passed on to its peer. Outcomes come in runs, and a run
// crosses to the other connection as one post. State is taken.
func (c *Conn) Settle(to *Session, id amqp.DeliveryNumber, settled bool, state messaging.DeliveryState) {
	r := &c.settling
	if r.to == to && r.last+1 == id && r.settled == settled && same(r.state, state) {
		r.last = id
		return
	}
	c.flushSettling()
	*r = run{to, id, id, settled, state}
}

func (c *Conn) flushSettling() {
	r := &c.settling
	if r.to == nil {
		return
	}
	c.Touch(r.to.conn)
	r.to.conn.Post(Post{To: r.to, Settled: r.settled, First: r.first, Last: r.last, State: r.state})
	*r = run{}
}

// HandleInbox handles what has been posted.
func (c *Conn) HandleInbox() {
	c.inboxMu.Lock()
	posts := c.inbox
	c.inbox = c.spare[:0]
	c.spare = nil
	c.inboxMu.Unlock()
	for i := range posts {
		posts[i].To.HandlePost(&posts[i])
	}
	c.EndBatch()
	clear(posts)
	c.spare = posts[:0]
	if cap(posts) > 4096 {
		c.spare = nil
	}
}
