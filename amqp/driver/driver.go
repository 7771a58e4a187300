package driver

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"sluice/amqp"
	"sluice/amqp/transport"
	"sluice/buffers"
)

// Options are the driver's own settings of a connection.
type Options struct {
	// HandshakeTimeout is how long the peer may take until its open. Zero means
	// DefaultHandshakeTimeout.
	HandshakeTimeout time.Duration
	// CloseTimeout is how long the peer may take to answer a close. Zero means
	// transport.DefaultCloseTimeout.
	CloseTimeout time.Duration
}

// DefaultHandshakeTimeout is how long a peer that has connected may take until
// its open: long enough for a slow TLS and SASL exchange, short enough that
// those who connect and say nothing do not pile up.
const DefaultHandshakeTimeout = 15 * time.Second

// A Driver runs one connection.
type Driver struct {
	opts Options
	wire wire
	conn *transport.Conn

	again atomic.Bool // work may be there that nobody has looked at

	mu      sync.Mutex // guards conn and all below it, and these fields
	out     transport.Output
	writing bool // out is being written; it may not be touched
	written sync.Cond
	phase   phase // what the timer was last set for
	failed  bool  // the socket is of no use any more
	cause   error // why

	started   time.Time
	lastRead  atomic.Int64 // UnixNano
	lastWrite time.Time
	closeBy   time.Time // when a peer that was sent close must have answered
	timer     *time.Timer
	done      bool

	// Only the reader uses these.
	in input

	BytesIn, BytesOut atomic.Uint64
}

// New makes a Driver for an established socket. first, if not nil, are bytes
// that have been read from it already.
func New(c net.Conn, first []byte, opts Options, cfg transport.Config, h transport.Handler) *Driver {
	if opts.HandshakeTimeout == 0 {
		opts.HandshakeTimeout = DefaultHandshakeTimeout
	}
	if opts.CloseTimeout == 0 {
		opts.CloseTimeout = transport.DefaultCloseTimeout
	}
	d := &Driver{opts: opts, wire: newWire(c)}
	d.written.L = &d.mu
	if len(first) > 0 {
		d.in.chunk = buffers.GetChunk(max(len(first), minRead))
		d.in.end = copy(d.in.chunk.Bytes(), first)
		d.in.fresh = true
	}
	d.conn = transport.NewConn(cfg, h, d)
	return d
}

// Conn is the connection's state. It may be used under Do only, except for what
// says otherwise.
func (d *Driver) Conn() *transport.Conn { return d.conn }

// Run serves the connection until it has ended. It returns nil when both sides
// closed it.
func (d *Driver) Run() error {
	now := time.Now()
	d.mu.Lock()
	d.started, d.lastWrite = now, now
	d.lastRead.Store(now.UnixNano())
	d.timer = time.AfterFunc(d.opts.HandshakeTimeout, d.tick)
	d.phase = d.currentPhase()
	d.conn.Start()
	d.leave()
	d.readLoop()
	d.mu.Lock()
	d.done = true
	d.timer.Stop()
	if !d.conn.Ended() {
		d.conn.Lost(amqp.Errorf(amqp.CondConnectionForced, "the connection was lost: %v", d.cause))
	}
	d.failed = true
	d.leave()
	d.wire.close()
	d.mu.Lock()
	for d.writing {
		d.written.Wait()
	}
	d.out.Reset()
	d.in.drop()
	err := d.cause
	d.leave()
	if err == errEnded {
		return nil
	}
	return err
}

var errEnded = errors.New("ended")

// readLoop reads and handles until nothing more will come.
func (d *Driver) readLoop() {
	for {
		if d.in.start == d.in.end || !d.in.fresh {
			if err := d.wire.read(&d.in); err != nil {
				d.mu.Lock()
				d.lose(err)
				d.leave()
				return
			}
		}
		d.in.fresh = false
		now := time.Now().UnixNano()
		d.lastRead.Store(now)
		d.mu.Lock()
		d.conn.Now = now
		n := d.in.end - d.in.start
		d.BytesIn.Add(uint64(n))
		d.in.start = d.conn.Consume(d.in.chunk, d.in.start, d.in.end)
		d.in.need = d.conn.Need(d.in.chunk.Bytes()[d.in.start:d.in.end])
		if p := d.currentPhase(); p != d.phase {
			d.phase = p
			d.arm(time.Now())
		}
		d.leave()
		d.mu.Lock()
		for d.writing && (d.conn.Congested() || d.conn.Ended()) {
			// The peer has to read what it was sent before more is read from it.
			d.written.Wait()
		}
		ended := d.conn.Ended() || d.failed
		if ended {
			d.lose(errEnded)
		}
		d.mu.Unlock()
		// Whoever had news meanwhile did not get the lock, and waits for nobody.
		var w worklist
		d.run(&w)
		w.drain()
		if ended {
			if !d.conn.PeerClosed() || d.in.start < d.in.end {
				d.lingeringClose()
			}
			return
		}
	}
}

// A phase is a time of a connection's life in which its timer waits for other
// things than before.
type phase struct{ opened, closing, lingers bool }

func (d *Driver) currentPhase() phase {
	return phase{d.conn.Opened(), d.conn.Closing(), !d.conn.Idle()}
}

// lingeringClose lets the peer read what it was sent: closing a socket with
// unread bytes would reset the connection and discard our last words.
func (d *Driver) lingeringClose() {
	d.wire.closeWrite()
	d.wire.setReadDeadline(time.Now().Add(time.Second))
	for range 64 {
		d.in.start = d.in.end
		if d.wire.read(&d.in) != nil {
			return
		}
	}
}

// lose records that the socket is of no use. It is called with mu held.
func (d *Driver) lose(err error) {
	if d.cause == nil {
		d.cause = err
	}
	if errors.Is(err, io.EOF) && d.conn.Ended() {
		d.cause = errEnded
	}
}

// Do runs f under the connection's lock and then does what it has caused.
func (d *Driver) Do(f func(c *transport.Conn)) {
	d.mu.Lock()
	f(d.conn)
	d.leave()
}

// Kick implements transport.Owner.
func (d *Driver) Kick() {
	var w worklist
	d.kick(&w)
	w.drain()
}

func (d *Driver) kick(w *worklist) {
	d.again.Store(true)
	d.run(w)
}

// run processes what is there, unless somebody else is at it: whoever holds the
// lock looks at again after unlocking.
func (d *Driver) run(w *worklist) {
	for !w.spent() && d.again.Load() && d.mu.TryLock() {
		d.again.Store(false)
		d.conn.Now = time.Now().UnixNano()
		d.unlock(w)
	}
	if w.spent() && d.again.Load() {
		w.owners = append(w.owners, d)
	}
}

// leave ends a hold of mu: it handles the inbox, writes, unlocks and serves the
// connections that have been touched.
func (d *Driver) leave() {
	var w worklist
	d.unlock(&w)
	d.run(&w)
	w.drain()
}

func (d *Driver) unlock(w *worklist) {
	rest := d.pump(w)
	w.owners = d.conn.Touched(w.owners)
	if rest != nil {
		go d.writer(rest)
	}
	d.mu.Unlock()
}

// pump handles the inbox and writes until there is nothing to write, or the
// socket is full, in which case it returns what is left to be written, or it has
// done enough. It is called with mu held and releases it while it writes.
func (d *Driver) pump(w *worklist) [][]byte {
	for {
		d.conn.HandleInbox()
		if d.writing {
			return nil
		}
		if d.failed {
			d.out.Reset()
			return nil
		}
		if w.spent() {
			d.again.Store(true) // there may be more
			return nil
		}
		w.rounds++
		d.conn.Encode(&d.out)
		n := d.out.Len()
		if n == 0 {
			return nil
		}
		d.writing = true
		vec := d.out.Vector()
		d.mu.Unlock()
		rest, err := d.wire.tryWrite(vec)
		d.mu.Lock()
		if err == nil && len(rest) > 0 {
			d.conn.Blocked.Store(true)
			return rest
		}
		d.endWrite(n, err)
	}
}

// endWrite ends a write of n bytes.
func (d *Driver) endWrite(n int, err error) {
	d.writing = false
	d.written.Broadcast()
	d.out.Reset()
	if err != nil {
		d.failed = true
		d.lose(err)
		d.conn.Lost(amqp.Errorf(amqp.CondConnectionForced, "the connection was lost: %v", err))
		d.wire.close()
		return
	}
	d.lastWrite = time.Now()
	d.BytesOut.Add(uint64(n))
}

// writer waits for the socket where nobody else may: it lives until all that
// has piled up is written.
func (d *Driver) writer(rest [][]byte) {
	var w worklist
	for rest != nil {
		w.rounds = 0
		err := d.wire.write(rest)
		d.mu.Lock()
		d.conn.Blocked.Store(false)
		d.endWrite(d.out.Len(), err)
		rest = d.pump(&w)
		w.owners = d.conn.Touched(w.owners)
		ended := d.conn.Ended() && rest == nil
		d.mu.Unlock()
		d.run(&w)
		w.drain()
		if ended {
			d.wire.setReadDeadline(time.Now()) // wake the reader, which closes
		}
	}
}

// A worklist holds the connections that a goroutine has yet to serve. Others add
// to what there is to write all the time, and a reader that went on for as long as
// there is something would read nothing meanwhile: after some rounds the rest is
// for a goroutine of its own.
type worklist struct {
	owners []transport.Owner
	rounds int // of writing
}

// maxRounds is how many times a goroutine writes before it does what it is there
// for.
const maxRounds = 64

func (w *worklist) spent() bool { return w.rounds >= maxRounds }

func (w *worklist) drain() {
	for len(w.owners) > 0 {
		if w.spent() {
			rest := worklist{owners: w.owners}
			w.owners = nil
			go rest.drain()
			return
		}
		n := len(w.owners) - 1
		o := w.owners[n]
		w.owners[n] = nil
		w.owners = w.owners[:n]
		if d, ok := o.(*Driver); ok {
			d.kick(w)
		} else {
			o.Kick()
		}
	}
}

// Close begins an orderly end.
func (d *Driver) Close(err *amqp.Error) {
	d.mu.Lock()
	d.conn.Close(err)
	if d.conn.Ended() {
		d.lose(errEnded)
		d.wire.setReadDeadline(time.Now())
	}
	d.arm(time.Now())
	d.leave()
}

// Abort drops the connection without a word.
func (d *Driver) Abort() {
	d.mu.Lock()
	d.conn.Lost(amqp.Errorf(amqp.CondConnectionForced, "aborted"))
	d.failed = true
	d.lose(errEnded)
	d.leave()
	d.wire.close()
}
