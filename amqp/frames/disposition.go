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
	w := encoding.BeginComposite(b, encoding.DescDisposition)
	w.Bool(bool(f.Role), true)
	w.Uint(uint32(f.First), true)
	w.Uint(uint32(f.Last), f.HasLast)
	w.Flag(f.Settled)
	if f.State.Kind != messaging.StateNone {
		w.Value(func(b []byte) []byte { return messaging.AppendDeliveryState(b, f.State) })
	} else {
		w.Raw(nil)
	}
	w.Flag(f.Batchable)
	return w.End()
}

// Decode sets f from a frame body.
func (f *Disposition) Decode(body []byte) (payload []byte, err error) {
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
