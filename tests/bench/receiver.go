package main

import (
	"encoding/binary"
	"time"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
)

// prefix is what every message begins with: a data section's header, the number
// of the message and the time when it was sent.
const (
	sectionSize = 8
	prefix      = sectionSize + 16
)

// settleMost is how many deliveries are accepted at once at most.
const settleMost = 250

// A receiver accepts all that it gets. It does what it can with one read before
// it answers.
type receiver struct {
	p *peer
	w *Work
	t *tally

	deliveryCount amqp.SequenceNo
	used          uint32 // credit since the last flow
	transfers     amqp.TransferNumber
	granted       amqp.TransferNumber // transfers at the last flow
	more          bool
	id            amqp.DeliveryNumber
	settled       bool
	pending       bool // first to last wait to be accepted
	first, last   amqp.DeliveryNumber
	number        uint64 // of the next message
	latencies     []time.Duration

	messages, bytes int64 // not yet in the tally
	out             []byte
}

func newReceiver(p *peer, w *Work, t *tally) *receiver {
	r := &receiver{p: p, w: w, t: t, transfers: p.begin.NextOutgoingID}
	if w.Rate > 0 {
		r.latencies = make([]time.Duration, 0, w.Count)
	}
	return r
}

func attachment(name, address string, role amqp.Role, settled bool) *frames.Attach {
	a := &frames.Attach{
		Name: name, Role: role, SenderSettleMode: amqp.SenderSettleMixed, HasInitialDeliveryCount: role == amqp.RoleSender,
		Source: &messaging.Source{Address: address, HasAddress: true},
		Target: messaging.TargetField{Target: &messaging.Target{Address: address, HasAddress: true}},
	}
	if settled {
		a.SenderSettleMode = amqp.SenderSettleSettled
	}
	return a
}

// attach returns when the router knows the link; the first credit is on its way.
func (r *receiver) attach(address, name string) error {
	if err := r.p.send(attachment(name, address, amqp.RoleReceiver, r.w.Settled)); err != nil {
		return err
	}
	var a frames.Attach
	if err := r.p.want(frames.PerformativeAttach, &a); err != nil {
		return err
	}
	r.deliveryCount = a.InitialDeliveryCount
	r.flow()
	r.p.keepAlive()
	return r.flush()
}

func (r *receiver) flow() {
	r.used, r.granted = 0, r.transfers
	r.out = frames.AppendFrame(r.out, frames.TypeAMQP, 0, &frames.Flow{
		NextIncomingID: r.transfers, HasNextIncomingID: true, IncomingWindow: window, OutgoingWindow: 1 << 30,
		HasHandle: true, HasDeliveryCount: true, DeliveryCount: r.deliveryCount, HasLinkCredit: true, LinkCredit: r.w.Credit,
	})
}

func (r *receiver) settle() {
	if !r.pending {
		return
	}
	r.pending = false
	r.out = frames.AppendFrame(r.out, frames.TypeAMQP, 0, &frames.Disposition{
		Role: amqp.RoleReceiver, First: r.first, Last: r.last, HasLast: true, Settled: true, State: messaging.Accepted,
	})
}

// flush writes what has been collected, and then counts it.
func (r *receiver) flush() error {
	var err error
	if len(r.out) > 0 {
		err = r.p.write(r.out)
		r.out = r.out[:0]
	}
	if r.bytes > 0 {
		r.t.last.Store(r.t.now())
		r.t.bytes.Add(r.bytes)
		r.t.received.Add(r.messages)
		r.messages, r.bytes = 0, 0
	}
	return err
}

func (r *receiver) run() {
	var f frames.Transfer
	for {
		if !r.p.ready() {
			r.settle()
			if err := r.flush(); err != nil {
				r.t.fail(err)
				return
			}
		}
		code, body, err := r.p.next()
		switch {
		case err != nil:
			r.t.fail(err)
			return
		case code == frames.PerformativeTransfer:
			payload, err := f.Decode(body)
			if err != nil {
				r.t.fail(err)
				return
			}
			r.transfer(&f, payload)
		case code != frames.PerformativeFlow && code != frames.PerformativeDisposition:
			r.t.fail(refusal(code, body))
			return
		}
	}
}

func (r *receiver) transfer(f *frames.Transfer, payload []byte) {
	r.transfers++
	r.bytes += int64(len(payload))
	if !r.more {
		r.id, r.settled = f.DeliveryID, false
		r.look(payload)
	}
	r.settled = r.settled || f.Settled
	if r.more = f.More; !r.more {
		r.messages++
		r.deliveryCount++
		r.used++
		if !r.settled {
			if r.pending && r.id != r.last+1 {
				r.settle()
			}
			if !r.pending {
				r.pending, r.first = true, r.id
			}
			if r.last = r.id; r.last-r.first >= settleMost {
				r.settle()
			}
		}
	}
	if r.used > r.w.Credit/2 || r.transfers-r.granted >= window/2 {
		r.settle()
		r.flow()
	}
}

// look reads the prefix of a message.
func (r *receiver) look(payload []byte) {
	b := section(payload)
	if b == nil {
		r.t.wrong.Add(1)
		return
	}
	number := binary.BigEndian.Uint64(b[sectionSize:])
	if number != r.number {
		// What is missing is counted as lost; what comes late or twice is wrong.
		if number < r.number {
			r.t.wrong.Add(1)
		}
	}
	r.number = number + 1
	if r.w.Rate > 0 {
		sent := int64(binary.BigEndian.Uint64(b[sectionSize+8:]))
		r.latencies = append(r.latencies, time.Duration(r.t.now()-sent))
	}
}

// section finds the data section. Routers may put sections in front of it.
func section(b []byte) []byte {
	for i := 0; i+prefix <= len(b) && i < 512; i++ {
		if b[i] == 0x00 && b[i+1] == 0x53 && b[i+2] == 0x75 && b[i+3] == 0xb0 {
			return b[i:]
		}
	}
	return nil
}
