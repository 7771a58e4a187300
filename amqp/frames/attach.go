package frames

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

// Attach attaches a link to a session (§2.7.3).
type Attach struct {
	Name                    string    // mandatory
	Handle                  uint32    // mandatory
	Role                    amqp.Role // mandatory
	SenderSettleMode        amqp.SenderSettleMode
	ReceiverSettleMode      amqp.ReceiverSettleMode
	Source                  *messaging.Source
	Target                  messaging.TargetField
	Unsettled               []byte // encoded map, nil when absent
	IncompleteUnsettled     bool
	InitialDeliveryCount    amqp.SequenceNo // mandatory for senders
	HasInitialDeliveryCount bool
	MaxMessageSize          uint64 // 0 means no limit
	OfferedCapabilities     []amqp.Symbol
	DesiredCapabilities     []amqp.Symbol
	Properties              []byte // encoded map, nil when absent
}

// Append appends the performative. The default of snd-settle-mode is mixed, so the zero value is written out.
func (f *Attach) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescAttach)
	w.String(f.Name, true)
	w.Uint(f.Handle, true)
	w.Bool(bool(f.Role), true)
	w.Ubyte(uint8(f.SenderSettleMode), f.SenderSettleMode != amqp.SenderSettleMixed)
	w.Ubyte(uint8(f.ReceiverSettleMode), f.ReceiverSettleMode != amqp.ReceiverSettleFirst)
	if f.Source != nil {
		w.Value(f.Source.Append)
	} else {
		w.Raw(nil)
	}
	if !f.Target.IsNull() && !f.Target.Unknown {
		w.Value(f.Target.Append)
	} else {
		w.Raw(nil)
	}
	w.Raw(f.Unsettled)
	w.Flag(f.IncompleteUnsettled)
	w.Uint(uint32(f.InitialDeliveryCount), f.HasInitialDeliveryCount)
	w.Ulong(f.MaxMessageSize, f.MaxMessageSize != 0)
	w.Symbols(f.OfferedCapabilities)
	w.Symbols(f.DesiredCapabilities)
	w.Raw(f.Properties)
	return w.End()
}

// Decode sets f from a frame body.
func (f *Attach) Decode(body []byte) (payload []byte, err error) {
	*f = Attach{SenderSettleMode: amqp.SenderSettleMixed}
	r, rest, err := openFields(body, PerformativeAttach, 14)
	if err != nil {
		return nil, err
	}
	var ok bool
	f.Name, ok = r.String("name")
	r.Require("name", ok)
	f.Handle, ok = r.Uint("handle")
	r.Require("handle", ok)
	role, ok := r.Bool("role")
	r.Require("role", ok)
	f.Role = amqp.Role(role)
	if v, ok := r.Ubyte("snd-settle-mode"); ok {
		if v > uint8(amqp.SenderSettleMixed) {
			r.Reject("snd-settle-mode", amqp.CondInvalidField, "unknown mode %d", v)
		}
		f.SenderSettleMode = amqp.SenderSettleMode(v)
	}
	if v, ok := r.Ubyte("rcv-settle-mode"); ok {
		if v > uint8(amqp.ReceiverSettleSecond) {
			r.Reject("rcv-settle-mode", amqp.CondInvalidField, "unknown mode %d", v)
		}
		f.ReceiverSettleMode = amqp.ReceiverSettleMode(v)
	}
	if d, ok := r.Next(); ok {
		if f.Source, err = messaging.DecodeSource(d); err != nil {
			r.Fail("source", err)
		}
	}
	if d, ok := r.Next(); ok {
		if f.Target, err = messaging.DecodeTargetField(d); err != nil {
			r.Fail("target", err)
		}
	}
	f.Unsettled = r.Map("unsettled")
	f.IncompleteUnsettled = r.Flag("incomplete-unsettled")
	count, ok := r.Uint("initial-delivery-count")
	f.InitialDeliveryCount, f.HasInitialDeliveryCount = amqp.SequenceNo(count), ok
	// §2.7.3: "This MUST NOT be null if role is sender".
	r.Require("initial-delivery-count", ok || f.Role == amqp.RoleReceiver)
	f.MaxMessageSize, _ = r.Ulong("max-message-size")
	f.OfferedCapabilities = r.Symbols("offered-capabilities")
	f.DesiredCapabilities = r.Symbols("desired-capabilities")
	f.Properties = r.Map("properties")
	return finish(&r, rest)
}
