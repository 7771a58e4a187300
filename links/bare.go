package links

import (
	"time"

	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/buffers"
)

// A Bare is a message that was sent settled, in one frame, and has nothing in
// front of its body that a router acts upon. It gets no outcome, does not expire
// and is not changed, so it travels as a value, without a Delivery, as long as
// it need not wait for a destination.
type Bare struct {
	Payload buffers.Slice
	From    *Receiver
	Format  uint32
}

// An Arrival is what a Receiver hands over: a Delivery, or, if that is nil, a
// Bare.
type Arrival struct {
	D *Delivery
	Bare
}

// An Item is what is bound to a Sender: a Copy, or, if that is nil, a Bare.
type Item struct {
	C *Copy
	Bare
	compact bool // pins no memory that it was read into
}

// bareBelow is the size in bytes below which a message may be a Bare. Larger
// ones cost so much more in bytes that a Delivery does not matter.
const bareBelow = 4 << 10

// bare tells whether the message of one frame can travel as a Bare.
func (r *Receiver) bare(f *waitingFrame) bool {
	if !f.first || f.more || f.aborted || !f.settled || f.state != messaging.StateNone || f.payload.Len() >= bareBelow || r.forward.NeedsTo() {
		return false
	}
	if m := r.limits.MaxMessageSize; m != 0 && uint64(f.payload.Len()) > m {
		return false
	}
	if f.format != 0 {
		return true
	}
	return plain(f.payload.Bytes())
}

// plain tells whether a message says nothing to routers: its header, if it has
// one, has what is the default of fields that matter to them, and its
// message-annotations, if any, are its sender's own.
func plain(b []byte) bool {
	s := sectionOf(b)
	if s == messaging.SectionHeader {
		dec := encoding.NewDecoder(b)
		h, err := messaging.DecodeHeader(&dec)
		if err != nil || h.HasTTL || h.HasPriority && h.Priority != defaultPriority {
			return false
		}
		b = b[len(b)-dec.Len():]
		s = sectionOf(b)
	}
	if s == messaging.SectionMessageAnnotations {
		dec := encoding.NewDecoder(b[3:])
		items, _, err := dec.Map()
		section := b[:len(b)-dec.Len()]
		if err != nil || items%2 != 0 || mayHaveRouterKeys(section) {
			return false
		}
		b = b[len(section):]
		s = sectionOf(b)
	}
	return s > messaging.SectionMessageAnnotations && s <= messaging.SectionFooter
}

// sectionOf tells which section b begins with, if that is said in the usual way;
// 0 otherwise.
func sectionOf(b []byte) messaging.Section {
	if len(b) < 3 || b[0] != 0 || b[1] != 0x53 {
		return 0
	}
	return messaging.Section(b[2])
}

// pullBare takes a frame that is a message by itself.
func (r *Receiver) pullBare(f *waitingFrame) {
	n := int64(f.payload.Len())
	r.newOpen++
	r.newBytes += n
	r.Counters.Deliveries++
	r.Counters.Presettled++
	r.Counters.Bytes += uint64(n)
	r.measure(n)
	r.batch = append(r.batch, Arrival{Bare: Bare{f.payload, r, f.format}})
	r.deferBatch()
}

// Delivery makes a Delivery of b, which then owns its bytes.
func (b Bare) Delivery() *Delivery {
	d := newDelivery(b.From, 0)
	d.format, d.Arrived = b.Format, time.Now().UnixNano()
	d.whole, d.pre, d.Echo = true, true, b.From.limits.Side
	d.settled.Store(true)
	d.Content.SetWhole(b.Payload)
	if b.Format == 0 && sectionOf(b.Payload.Bytes()) <= messaging.SectionMessageAnnotations {
		d.open(&b.From.limits, false, false) // is plain: there is nothing to refuse
	}
	return d
}

// Drop gives b up, because there is nobody to take it.
func (b Bare) Drop(by *transport.Conn) {
	b.From.dropped.Add(1)
	b.From.passed(by, 1, int64(b.Payload.Len()))
	b.Payload.Release()
}

// Carry takes b, which has been bound to a Sender, into its account.
func (d *Dest) Carry(b Bare) Item {
	if d.Slow() {
		b.Payload = b.Payload.Compact()
	}
	d.budget.Charge(int64(b.Payload.Len()))
	return Item{Bare: b}
}

// adopt makes a Delivery and its Copy of a Bare that is bound to s already.
func (s *Sender) adopt(b Bare) *Copy {
	d := b.Delivery()
	c := &d.one
	*c = Copy{d: d, to: s, dest: &s.Dest, account: &s.Dest, solo: true, charged: int64(b.Payload.Len())}
	d.copies = append(d.copies, c)
	d.bound = true
	return c
}

// writeBare writes a Bare, if it fits into one frame and the receiver takes
// messages of its size.
func (s *Sender) writeBare(o *transport.Output, b Bare) bool {
	n := b.Payload.Len()
	t := &s.transfer
	*t = transferOf(s, b.Format)
	if s.limits.Annotate != AnnotateNone || n > s.Session().Room(t) || s.most != 0 && int64(n) > s.most {
		return false
	}
	t.DeliveryTag = s.nextTag()
	s.deliveryCount++
	s.Counters.Deliveries++
	s.Counters.Presettled++
	s.Counters.Bytes += uint64(n)
	t.DeliveryID = s.Session().NextDelivery(nil)
	s.Session().Send(o, s.ep, t, nil, b.Payload)
	o.Charge(s, int64(n))
	s.pass(b.From, 1, int64(n))
	s.Dest.concluded.Add(1)
	b.Payload.Release()
	return true
}
