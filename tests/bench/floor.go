package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
)

// What a floor grants its sender: as much as the router does by default
// (linkCapacity), so that batches are as large, or much.
const narrow, wide = 250, 1000

// A floor is the least that forwards frames between one sender and one
// receiver: it reads each frame, writes each transfer anew with a number of its
// own, and passes outcomes and credit back. There is no routing, no window, no
// bound and no error handling. The goroutine that has read a batch also writes
// it to the other side, and blocks when that is slow.
type floor struct {
	credit uint32

	mu               sync.Mutex // guards the fields below
	sender, receiver *floorSide
}

type floorSide struct {
	nc    net.Conn
	mu    sync.Mutex // guards out
	out   []byte
	count uint32 // messages
	tag   [4]byte
}

func (s *floorSide) put(f interface{ Append([]byte) []byte }) {
	s.mu.Lock()
	s.out = frames.AppendFrame(s.out, frames.TypeAMQP, 0, f)
	s.mu.Unlock()
}

func (s *floorSide) flush() {
	s.mu.Lock()
	if len(s.out) > 0 {
		s.nc.Write(s.out)
		s.out = s.out[:0]
	}
	s.mu.Unlock()
}

func serveFloor(announce io.Writer, credit uint32) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(announce, l.Addr())
	f := &floor{credit: credit}
	for {
		nc, err := l.Accept()
		if err != nil {
			return err
		}
		go f.serve(&floorSide{nc: nc})
	}
}

func (f *floor) serve(s *floorSide) {
	defer s.nc.Close()
	h := frames.ProtocolHeader(frames.ProtoAMQP)
	if _, err := io.ReadFull(s.nc, h[:]); err != nil {
		return
	}
	s.nc.Write(h[:])
	in := make([]byte, readSize)
	n := 0
	for {
		m, err := s.nc.Read(in[n:])
		if err != nil {
			return
		}
		n += m
		at := 0
		var other *floorSide
		for n-at >= frames.HeaderSize {
			size := int(binary.BigEndian.Uint32(in[at:]))
			if n-at < size {
				break
			}
			if size > frames.HeaderSize {
				if o := f.handle(s, in[at+frames.HeaderSize:at+size]); o != nil {
					other = o
				}
			}
			at += size
		}
		if other != nil {
			other.flush()
		}
		s.flush()
		n = copy(in, in[at:n])
	}
}

// handle handles a frame and returns the side that it goes to.
func (f *floor) handle(s *floorSide, body []byte) *floorSide {
	code, _, _ := frames.PeekPerformative(body)
	switch code {
	case frames.PerformativeTransfer:
		var t frames.Transfer
		payload, _ := t.Decode(body)
		r := f.other(s)
		r.mu.Lock()
		binary.BigEndian.PutUint32(r.tag[:], r.count)
		t.DeliveryID, t.HasDeliveryID = amqp.DeliveryNumber(r.count), true
		t.DeliveryTag, t.HasDeliveryTag = r.tag[:], true
		r.out = append(frames.AppendTransferFrame(r.out, 0, &t, len(payload)), payload...)
		if !t.More {
			r.count++
		}
		n := r.count
		r.mu.Unlock()
		if t.Settled && !t.More && n%(f.credit/2) == 0 {
			s.put(f.flow(n))
		}
		return r
	case frames.PerformativeDisposition:
		var d frames.Disposition
		d.Decode(body)
		o := f.other(s)
		o.put(&frames.Disposition{Role: amqp.RoleReceiver, First: d.First, Last: d.Last, HasLast: true, Settled: true, State: messaging.Accepted})
		o.put(f.flow(uint32(d.Last) + 1))
		return o
	case frames.PerformativeOpen:
		s.put(&frames.Open{ContainerID: "floor", MaxFrameSize: maxFrame, ChannelMax: 9})
	case frames.PerformativeBegin:
		s.put(&frames.Begin{HasRemoteChannel: true, IncomingWindow: 1 << 30, OutgoingWindow: 1 << 30, HandleMax: 9})
	case frames.PerformativeAttach:
		var a frames.Attach
		a.Decode(body)
		receives := a.Role == amqp.RoleReceiver
		s.put(attachment(a.Name, "floor", !a.Role, false))
		f.mu.Lock()
		if receives {
			f.receiver = s
		} else {
			f.sender = s
			s.put(f.flow(0))
		}
		f.mu.Unlock()
	}
	return nil
}

func (f *floor) other(s *floorSide) *floorSide {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s == f.sender {
		return f.receiver
	}
	return f.sender
}

func (f *floor) flow(n uint32) *frames.Flow {
	return &frames.Flow{
		NextIncomingID: amqp.TransferNumber(n), HasNextIncomingID: true, IncomingWindow: 1 << 30, OutgoingWindow: 1 << 30,
		HasHandle: true, HasDeliveryCount: true, DeliveryCount: amqp.SequenceNo(n), HasLinkCredit: true, LinkCredit: f.credit,
	}
}
