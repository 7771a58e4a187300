package driver

import (
	"time"

	"sluice/amqp"
)

// tick is the connection's clock: heartbeats, the idle time-out, the handshake
// and close deadlines, and what transport waits for. One timer serves them all;
// it is set to the earliest and looks again when it fires.
func (d *Driver) tick() {
	now := time.Now()
	d.mu.Lock()
	if d.done {
		d.mu.Unlock()
		return
	}
	d.check(now)
	d.phase = d.currentPhase()
	d.arm(now)
	d.leave()
}

func (d *Driver) check(now time.Time) {
	c := d.conn
	switch {
	case c.Ended():
		if d.writing && d.overdue(now) {
			// The peer does not read our last words.
			d.failed = true
			d.wire.close()
		}
		return
	case c.Closing():
		if d.overdue(now) {
			c.Lost(amqp.Errorf(amqp.CondConnectionForced, "the peer did not answer close"))
			d.lose(errEnded)
			d.failed = true
			d.wire.close()
		}
		return
	case !c.Opened():
		if now.Sub(d.started) >= d.opts.HandshakeTimeout {
			c.Close(amqp.Errorf(amqp.CondNotAllowed, "Timeout waiting for initial handshake"))
			if c.Ended() {
				d.lose(errEnded)
				d.wire.setReadDeadline(now)
			}
		}
		return
	}
	c.Tick(now)
	if idle := c.Config().IdleTimeout; idle > 0 && now.Sub(d.readAt()) >= idle {
		c.Close(amqp.Errorf(amqp.CondResourceLimitExceeded, "nothing was received for %v (idle time-out)", idle))
		return
	}
	if every := c.RemoteIdle() / 2; every > 0 && now.Sub(d.lastWrite) >= every && !d.writing {
		c.Heartbeat()
	}
}

// arm sets the timer to the next moment at which check has something to do.
func (d *Driver) arm(now time.Time) {
	c := d.conn
	if d.done || d.timer == nil {
		return
	}
	next := time.Hour
	sooner := func(t time.Duration) { next = min(next, max(t, time.Millisecond)) }
	switch {
	case c.Ended(), c.Closing():
		if d.closeBy.IsZero() {
			d.closeBy = now.Add(d.opts.CloseTimeout)
		}
		if c.Ended() && d.overdue(now) {
			return
		}
		sooner(d.closeBy.Sub(now))
	case !c.Opened():
		sooner(d.opts.HandshakeTimeout - now.Sub(d.started))
	default:
		if idle := c.Config().IdleTimeout; idle > 0 {
			sooner(idle - now.Sub(d.readAt()))
		}
		if every := c.RemoteIdle() / 2; every > 0 {
			sooner(every - now.Sub(d.lastWrite))
			if d.writing {
				sooner(every)
			}
		}
		if !c.Idle() {
			sooner(time.Second)
		}
	}
	d.timer.Reset(next)
}

// overdue tells whether a peer has had its time to answer a close, or to read
// ours.
func (d *Driver) overdue(now time.Time) bool { return !d.closeBy.IsZero() && !now.Before(d.closeBy) }

func (d *Driver) readAt() time.Time { return time.Unix(0, d.lastRead.Load()) }
