package main

import (
	"encoding/binary"
	"net"
	"sync"
	"time"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
)

const (
	batchBytes = 192 << 10 // written at once, about
	inline     = 4 << 10   // larger parts are written from the body, without a copy
)

// A sender sends as fast as credit and window allow, or at a rate.
type sender struct {
	p *peer
	w *Work
	t *tally

	mu     sync.Mutex // guards the fields below
	cond   *sync.Cond
	credit amqp.SequenceNo     // first delivery without
	window amqp.TransferNumber // first transfer without
	ended  bool

	// The rest is the sending goroutine's.
	transfers amqp.TransferNumber
	sent      int // messages that have begun
	offset    int // in the message that is being sent
	body      []byte
	part      int // bytes of a message in one frame
	tag       [4]byte
	buf       []byte
	iov, v    net.Buffers
}

func newSender(p *peer, w *Work, t *tally) *sender {
	s := &sender{p: p, w: w, t: t, window: amqp.TransferNumber(p.begin.IncomingWindow)}
	s.cond = sync.NewCond(&s.mu)
	s.body = append([]byte{0x00, 0x53, 0x75, 0xb0}, make([]byte, 4+w.Size)...)
	binary.BigEndian.PutUint32(s.body[4:], uint32(w.Size))
	s.buf = make([]byte, 0, batchBytes+2*inline)
	s.part = int(min(p.open.MaxFrameSize, maxFrame)) - frames.TransferOverhead(&frames.Transfer{DeliveryTag: s.tag[:]})
	return s
}

// attach returns when there is credit.
func (s *sender) attach(address, name string) error {
	if err := s.p.send(attachment(name, address, amqp.RoleSender, s.w.Settled)); err != nil {
		return err
	}
	var a frames.Attach
	if err := s.p.want(frames.PerformativeAttach, &a); err != nil {
		return err
	}
	s.p.nc.SetReadDeadline(time.Now().Add(handshake))
	for s.credit == 0 {
		var f frames.Flow
		if err := s.p.want(frames.PerformativeFlow, &f); err != nil {
			return err
		}
		s.flow(&f)
	}
	s.p.nc.SetReadDeadline(time.Time{})
	s.p.keepAlive()
	go s.read()
	return nil
}

func (s *sender) flow(f *frames.Flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.HasNextIncomingID {
		s.window = f.NextIncomingID + amqp.TransferNumber(f.IncomingWindow)
	}
	if f.HasLinkCredit {
		s.credit = f.DeliveryCount + amqp.SequenceNo(f.LinkCredit)
	}
	s.cond.Signal()
}

// read handles credit and outcomes.
func (s *sender) read() {
	err := s.readFrames()
	s.t.fail(err)
	s.mu.Lock()
	s.ended = true
	s.cond.Signal()
	s.mu.Unlock()
}

func (s *sender) readFrames() error {
	var flow frames.Flow
	var d frames.Disposition
	for {
		code, body, err := s.p.next()
		if err != nil {
			return err
		}
		switch code {
		case frames.PerformativeFlow:
			if _, err := flow.Decode(body); err != nil {
				return err
			}
			s.flow(&flow)
		case frames.PerformativeDisposition:
			if _, err := d.Decode(body); err != nil {
				return err
			}
			if err := s.outcome(&d); err != nil {
				return err
			}
		default:
			return refusal(code, body)
		}
	}
}

func (s *sender) outcome(d *frames.Disposition) error {
	if !d.State.IsTerminal() {
		return nil
	}
	last := d.First
	if d.HasLast {
		last = d.Last
	}
	if n := int64(last-d.First) + 1; d.State.Kind == messaging.StateAccepted {
		s.t.accepted.Add(n)
	} else {
		s.t.other.Add(n)
	}
	if d.Settled {
		return nil
	}
	return s.p.send(&frames.Disposition{Role: amqp.RoleSender, First: d.First, Last: last, HasLast: true, Settled: true})
}

func (s *sender) run() {
	begun := s.t.now()
	for s.sent < s.w.Count || s.offset > 0 {
		credit, window := s.wait()
		if window == 0 {
			return
		}
		if s.w.Rate > 0 {
			credit = min(credit, s.pace(begun))
		}
		s.batch(credit, window)
		s.v = s.iov
		if err := s.p.writev(&s.v); err != nil {
			s.t.fail(err)
			return
		}
	}
}

// wait waits until something may be sent. A window of zero is the end.
func (s *sender) wait() (credit, window int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		credit = int(s.credit.Sub(amqp.SequenceNo(s.sent)))
		window = int(int32(s.window - s.transfers))
		switch {
		case s.ended:
			return 0, 0
		case window > 0 && (credit > 0 || s.offset > 0):
			return credit, window
		}
		s.cond.Wait()
	}
}

// pace sleeps until a message is due and returns how many are.
func (s *sender) pace(begun int64) int {
	each := int64(time.Second) / int64(s.w.Rate)
	if d := begun + int64(s.sent)*each - s.t.now(); d > 0 {
		time.Sleep(time.Duration(d))
	}
	return max(1, int((s.t.now()-begun)/each)-s.sent+1)
}

// batch collects frames in iov.
func (s *sender) batch(credit, window int) {
	s.buf, s.iov = s.buf[:0], s.iov[:0]
	mark, total := 0, 0
	for window > 0 && total < batchBytes && (s.offset > 0 || credit > 0 && s.sent < s.w.Count) {
		t := frames.Transfer{HasSettled: true, Settled: s.w.Settled}
		if s.offset == 0 {
			binary.BigEndian.PutUint64(s.body[sectionSize:], uint64(s.sent))
			if s.w.Rate > 0 {
				binary.BigEndian.PutUint64(s.body[sectionSize+8:], uint64(s.t.now()))
			}
			binary.BigEndian.PutUint32(s.tag[:], uint32(s.sent))
			t.DeliveryID, t.HasDeliveryID = amqp.DeliveryNumber(s.sent), true
			t.DeliveryTag, t.HasDeliveryTag = s.tag[:], true
			t.HasMessageFormat = true
			s.sent++
			credit--
		}
		part := s.body[s.offset:min(len(s.body), s.offset+s.part)]
		first := s.offset == 0
		s.offset += len(part)
		if t.More = s.offset < len(s.body); !t.More {
			s.offset = 0
		}
		s.buf = frames.AppendTransferFrame(s.buf, 0, &t, len(part))
		k := len(part)
		if k > inline {
			if k = 0; first {
				k = prefix // which changes from message to message
			}
		}
		s.buf = append(s.buf, part[:k]...)
		if k < len(part) {
			s.iov = append(s.iov, s.buf[mark:], part[k:])
			mark = len(s.buf)
		}
		total += len(part) + frames.HeaderSize
		s.transfers++
		window--
	}
	if mark < len(s.buf) {
		s.iov = append(s.iov, s.buf[mark:])
	}
}
