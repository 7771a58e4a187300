package frames

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

// Disposition informs the peer of changes in the state of deliveries (§2.7.6). State.Raw is borrowed.
type Disposition struct {
	Role      amqp.Role           // mandatory
	First     amqp.DeliveryNumber // mandatory
	Last      amqp.DeliveryNumber // equal to First when absent
	HasLast   bool
	Settled   bool
	State     messaging.DeliveryState // borrowed
	Batchable bool
}

// Append appends the performative.
func (f *Disposition) Append(b []byte) []byte {
	n := 2
	switch {
	case f.Batchable:
		n = 6
	case f.State.Kind != messaging.StateNone:
		n = 5
	case f.Settled:
		n = 4
	case f.HasLast:
		n = 3
	}
	b = append(b, 0x00, 0x53, encoding.DescDisposition)
	b, m := encoding.BeginList(b)
	b = encoding.AppendBool(b, bool(f.Role))
	b = encoding.AppendUint(b, uint32(f.First))
	if n >= 3 {
		b = appendOptional(b, uint32(f.Last), f.HasLast)
	}
	if n >= 4 {
		b = appendFlag(b, f.Settled)
	}
	if n >= 5 {
		b = messaging.AppendDeliveryState(b, f.State)
	}
	if n >= 6 {
		b = appendFlag(b, f.Batchable)
	}
	return encoding.EndList(b, m, n)
}

// Decode sets f from a frame body.
func (f *Disposition) Decode(body []byte) (payload []byte, err error) {
	if f.decodeFast(body) {
		return nil, nil
	}
	return f.decodeSlow(body)
}

func (f *Disposition) decodeFast(body []byte) bool {
	*f = Disposition{}
	c, rest := fastList(body, encoding.DescDisposition)
	if c.bad || c.n > 6 || len(rest) != 0 {
		return false
	}
	role, hasRole := c.bool()
	first, hasFirst := c.uint()
	if !hasRole || !hasFirst {
		return false
	}
	f.Role = amqp.Role(role)
	f.First, f.Last = amqp.DeliveryNumber(first), amqp.DeliveryNumber(first)
	if v, has := c.uint(); has {
		f.Last, f.HasLast = amqp.DeliveryNumber(v), true
	}
	f.Settled, _ = c.bool()
	f.State = c.state()
	f.Batchable, _ = c.bool()
	return c.done()
}

func (f *Disposition) decodeSlow(body []byte) (payload []byte, err error) {
	*f = Disposition{}
	r, rest, err := openFields(body, PerformativeDisposition, 6)
	if err != nil {
		return nil, err
	}
	role, ok := r.Bool("role")
	r.Require("role", ok)
	f.Role = amqp.Role(role)
	first, ok := r.Uint("first")
	r.Require("first", ok)
	f.First, f.Last = amqp.DeliveryNumber(first), amqp.DeliveryNumber(first)
	if v, ok := r.Uint("last"); ok {
		f.Last, f.HasLast = amqp.DeliveryNumber(v), true
	}
	f.Settled = r.Flag("settled")
	if d, ok := r.Next(); ok {
		if f.State, err = messaging.DecodeDeliveryState(d); err != nil {
			r.Fail("state", err)
		}
	}
	f.Batchable = r.Flag("batchable")
	return finish(&r, rest)
}
