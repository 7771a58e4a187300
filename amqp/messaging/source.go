package messaging

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
)

// Source describes where the messages of a link come from (§3.5.3). Fields of type []byte hold an encoded value, nil when
// absent. All of it is copied from the frame, since it lives as long as the link.
type Source struct {
	Address               string
	HasAddress            bool // the address is present and not null
	Durable               uint32
	ExpiryPolicy          amqp.Symbol // empty when absent, which means session-end
	Timeout               uint32      // seconds
	Dynamic               bool
	DynamicNodeProperties []byte // map
	DistributionMode      amqp.Symbol
	Filter                []byte // map
	DefaultOutcome        []byte // described outcome
	Outcomes              []amqp.Symbol
	Capabilities          []amqp.Symbol
}

// Append appends s as a described list.
func (s *Source) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescSource)
	w.String(s.Address, s.HasAddress || s.Address != "")
	w.Uint(s.Durable, s.Durable != 0)
	w.Symbol(s.ExpiryPolicy)
	w.Uint(s.Timeout, s.Timeout != 0)
	w.Flag(s.Dynamic)
	w.Raw(s.DynamicNodeProperties)
	w.Symbol(s.DistributionMode)
	w.Raw(s.Filter)
	w.Raw(s.DefaultOutcome)
	w.Symbols(s.Outcomes)
	w.Multiple(s.Capabilities)
	return w.End()
}

// DecodeSource reads a source. Null is nil.
func DecodeSource(d *encoding.Decoder) (*Source, error) {
	if d.IsNull() {
		return nil, nil
	}
	f, err := decodeTerminus(d, "source", encoding.DescSource, 11)
	if err != nil {
		return nil, err
	}
	s := new(Source)
	s.Address, s.HasAddress = decodeAddress(&f)
	s.Durable, _ = f.Uint("durable")
	s.ExpiryPolicy = f.Symbol("expiry-policy")
	s.Timeout, _ = f.Uint("timeout")
	s.Dynamic = f.Flag("dynamic")
	s.DynamicNodeProperties = f.Map("dynamic-node-properties")
	s.DistributionMode = f.Symbol("distribution-mode")
	s.Filter = f.Map("filter")
	s.DefaultOutcome = f.Raw("default-outcome")
	s.Outcomes = f.Symbols("outcomes")
	s.Capabilities = f.Symbols("capabilities")
	if err := f.Finish(); err != nil {
		return nil, err
	}
	return s, nil
}
