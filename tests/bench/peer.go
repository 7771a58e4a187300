package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"sluice/amqp"
	"sluice/amqp/frames"
)

const (
	maxFrame  = 64 << 10  // bytes; offered as max-frame-size
	window    = 2048      // frames; incoming-window of receivers
	readSize  = 256 << 10 // bytes; several of the largest frames
	handshake = 30 * time.Second
	heartbeat = 2 * time.Second // less than half of any idle time-out that routers have by default
)

// A peer is a connection with one session on channel 0. One goroutine reads;
// any may write.
type peer struct {
	nc       net.Conn
	in       []byte
	from, to int // what has been read and not handled

	mu    sync.Mutex // guards writing
	beats *time.Timer

	open  frames.Open
	begin frames.Begin
}

// dial connects, opens and begins a session.
func dial(addr string) (*peer, error) { return dialSized(addr, readSize) }

func dialSized(addr string, buffer int) (*peer, error) {
	nc, err := net.DialTimeout("tcp", addr, handshake)
	if err != nil {
		return nil, err
	}
	p := &peer{nc: nc, in: make([]byte, buffer)}
	if err := p.start(); err != nil {
		nc.Close()
		return nil, err
	}
	return p, nil
}

// greeting is what a peer says first.
func greeting() []byte {
	h := frames.ProtocolHeader(frames.ProtoAMQP)
	b := frames.AppendFrame(h[:], frames.TypeAMQP, 0, &frames.Open{
		ContainerID: "bench", Hostname: "localhost", MaxFrameSize: maxFrame, ChannelMax: 9,
	})
	return frames.AppendFrame(b, frames.TypeAMQP, 0, &frames.Begin{
		IncomingWindow: window, OutgoingWindow: 1 << 30, HandleMax: 1<<16 - 1,
	})
}

func (p *peer) start() error {
	p.nc.SetDeadline(time.Now().Add(handshake))
	if err := p.write(greeting()); err != nil {
		return err
	}
	for p.to < frames.ProtocolHeaderSize {
		if err := p.fill(); err != nil {
			return err
		}
	}
	if proto, err := frames.ParseProtocolHeader(p.in[:frames.ProtocolHeaderSize]); err != nil || proto != frames.ProtoAMQP {
		return fmt.Errorf("the peer does not talk AMQP without SASL: % x", p.in[:frames.ProtocolHeaderSize])
	}
	p.from = frames.ProtocolHeaderSize
	if err := p.want(frames.PerformativeOpen, &p.open); err != nil {
		return err
	}
	if err := p.want(frames.PerformativeBegin, &p.begin); err != nil {
		return err
	}
	return p.nc.SetDeadline(time.Time{})
}

// decoder is a performative that can be read.
type decoder interface {
	Decode([]byte) ([]byte, error)
}

// want reads frames until one is the given performative. Flows may come before
// it; the end of anything is an error.
func (p *peer) want(code frames.Performative, to decoder) error {
	for {
		c, body, err := p.next()
		if err != nil {
			return err
		}
		switch c {
		case code:
			_, err = to.Decode(body)
			return err
		case frames.PerformativeDetach, frames.PerformativeEnd, frames.PerformativeClose:
			return refusal(c, body)
		}
	}
}

// refusal is the error that a detach, end or close carries.
func refusal(code frames.Performative, body []byte) error {
	var cause *amqp.Error
	var err error
	switch code {
	case frames.PerformativeDetach:
		var f frames.Detach
		_, err = f.Decode(body)
		cause = f.Error
	case frames.PerformativeEnd:
		var f frames.End
		_, err = f.Decode(body)
		cause = f.Error
	case frames.PerformativeClose:
		var f frames.Close
		_, err = f.Decode(body)
		cause = f.Error
	}
	switch {
	case err != nil:
		return err
	case cause != nil:
		return fmt.Errorf("%v from the router: %w", code, cause)
	}
	return fmt.Errorf("%v from the router", code)
}

// ready tells whether a whole frame has been read and not handled.
func (p *peer) ready() bool {
	if p.to-p.from < frames.HeaderSize {
		return false
	}
	h, err := frames.ParseHeader(p.in[p.from:p.to])
	return err != nil || p.to-p.from >= int(h.Size)
}

func (p *peer) fill() error {
	if p.from > 0 {
		p.to = copy(p.in, p.in[p.from:p.to])
		p.from = 0
	}
	if p.to == len(p.in) {
		return errors.New("a frame is larger than was allowed")
	}
	n, err := p.nc.Read(p.in[p.to:])
	p.to += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// next returns the next frame that is not empty. The body is borrowed until the
// next call.
func (p *peer) next() (code frames.Performative, body []byte, err error) {
	for {
		for !p.ready() {
			if err := p.fill(); err != nil {
				return 0, nil, err
			}
		}
		h, err := frames.ParseHeader(p.in[p.from:p.to])
		if err != nil {
			return 0, nil, err
		}
		body := p.in[p.from+h.BodyOffset() : p.from+int(h.Size)]
		p.from += int(h.Size)
		if len(body) > 0 {
			code, _, err := frames.PeekPerformative(body)
			return code, body, err
		}
	}
}

func (p *peer) write(b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.nc.Write(b)
	return err
}

// writev writes all of v, which it uses up.
func (p *peer) writev(v *net.Buffers) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := v.WriteTo(p.nc)
	return err
}

// send writes one frame.
func (p *peer) send(f interface{ Append([]byte) []byte }) error {
	return p.write(frames.AppendFrame(nil, frames.TypeAMQP, 0, f))
}

// keepAlive sends heartbeats from now on, until close.
func (p *peer) keepAlive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beats = time.AfterFunc(heartbeat, func() {
		if p.write(frames.AppendHeartbeat(nil)) == nil {
			p.keepAlive()
		}
	})
}

// close drops the connection.
func (p *peer) close() {
	p.nc.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beats != nil {
		p.beats.Stop()
	}
}
