package messaging

import (
	"errors"

	"sluice/amqp"
	"sluice/amqp/encoding"
)

// Target describes where the messages of a link go (§3.5.4). As in Source, all of it is copied.
type Target struct {
	Address               string
	HasAddress            bool // the address is present and not null
	Durable               uint32
	ExpiryPolicy          amqp.Symbol // empty when absent, which means session-end
	Timeout               uint32      // seconds
	Dynamic               bool
	DynamicNodeProperties []byte // encoded map, nil when absent
	Capabilities          []amqp.Symbol
}

// Append appends t as a described list.
func (t *Target) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescTarget)
	w.String(t.Address, t.HasAddress || t.Address != "")
	w.Uint(t.Durable, t.Durable != 0)
	w.Symbol(t.ExpiryPolicy)
	w.Uint(t.Timeout, t.Timeout != 0)
	w.Flag(t.Dynamic)
	w.Raw(t.DynamicNodeProperties)
	w.Multiple(t.Capabilities)
	return w.End()
}

// DecodeTarget reads a target. Null is nil.
func DecodeTarget(d *encoding.Decoder) (*Target, error) {
	if d.IsNull() {
		return nil, nil
	}
	f, err := decodeTerminus(d, "target", encoding.DescTarget, 7)
	if err != nil {
		return nil, err
	}
	t := new(Target)
	t.Address, t.HasAddress = decodeAddress(&f)
	t.Durable, _ = f.Uint("durable")
	t.ExpiryPolicy = f.Symbol("expiry-policy")
	t.Timeout, _ = f.Uint("timeout")
	t.Dynamic = f.Flag("dynamic")
	t.DynamicNodeProperties = f.Map("dynamic-node-properties")
	t.Capabilities = f.Symbols("capabilities")
	if err := f.Finish(); err != nil {
		return nil, err
	}
	return t, nil
}

// Coordinator is the target of a link that controls transactions (§4.5.1).
type Coordinator struct {
	Capabilities []amqp.Symbol
}

// Append appends c as a described list.
func (c *Coordinator) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescCoordinator)
	w.Symbols(c.Capabilities)
	return w.End()
}

// DecodeCoordinator reads a coordinator. Null is nil.
func DecodeCoordinator(d *encoding.Decoder) (*Coordinator, error) {
	if d.IsNull() {
		return nil, nil
	}
	f, err := decodeTerminus(d, "coordinator", encoding.DescCoordinator, 1)
	if err != nil {
		return nil, err
	}
	c := &Coordinator{Capabilities: f.Symbols("capabilities")}
	if err := f.Finish(); err != nil {
		return nil, err
	}
	return c, nil
}

// TargetField is the target field of attach, whose type §2.7.3 leaves open: at most one member is set, and none means null.
type TargetField struct {
	Target      *Target
	Coordinator *Coordinator
	Unknown     bool // a described value of another type; it is not kept
}

// IsNull reports whether there is no target.
func (t TargetField) IsNull() bool { return t.Target == nil && t.Coordinator == nil && !t.Unknown }

// Append appends the target, the coordinator, or null. An unknown target, which was not kept, becomes null.
func (t TargetField) Append(b []byte) []byte {
	switch {
	case t.Target != nil:
		return t.Target.Append(b)
	case t.Coordinator != nil:
		return t.Coordinator.Append(b)
	}
	return encoding.AppendNull(b)
}

// DecodeTargetField reads the target field of attach.
func DecodeTargetField(d *encoding.Decoder) (TargetField, error) {
	if d.IsNull() {
		return TargetField{}, nil
	}
	look := *d
	code, err := look.Descriptor()
	switch {
	case errors.Is(err, encoding.ErrUnknownDescriptor):
	case err != nil:
		return TargetField{}, err
	case code == encoding.DescTarget:
		t, err := DecodeTarget(d)
		return TargetField{Target: t}, err
	case code == encoding.DescCoordinator:
		c, err := DecodeCoordinator(d)
		return TargetField{Coordinator: c}, err
	}
	if err := d.Skip(); err != nil {
		return TargetField{}, err
	}
	return TargetField{Unknown: true}, nil
}
