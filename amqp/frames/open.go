package frames

import (
	"math"

	"sluice/amqp"
	"sluice/amqp/encoding"
)

// Defaults of open (§2.7.1). Append omits a field that has its default; the zero values are not the defaults.
const (
	DefaultMaxFrameSize = math.MaxUint32
	DefaultChannelMax   = math.MaxUint16
)

// Open negotiates connection parameters (§2.7.1).
type Open struct {
	ContainerID         string // mandatory
	Hostname            string // empty when absent
	MaxFrameSize        uint32 // default 4294967295
	ChannelMax          uint16 // default 65535
	IdleTimeout         amqp.Milliseconds
	HasIdleTimeout      bool
	OutgoingLocales     []amqp.Symbol
	IncomingLocales     []amqp.Symbol
	OfferedCapabilities []amqp.Symbol
	DesiredCapabilities []amqp.Symbol
	Properties          []byte // encoded map, nil when absent
}

// Append appends the performative.
func (f *Open) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescOpen)
	w.String(f.ContainerID, true)
	w.String(f.Hostname, f.Hostname != "")
	w.Uint(f.MaxFrameSize, f.MaxFrameSize != DefaultMaxFrameSize)
	w.Ushort(f.ChannelMax, f.ChannelMax != DefaultChannelMax)
	w.Uint(uint32(f.IdleTimeout), f.HasIdleTimeout)
	w.Symbols(f.OutgoingLocales)
	w.Symbols(f.IncomingLocales)
	w.Symbols(f.OfferedCapabilities)
	w.Symbols(f.DesiredCapabilities)
	w.Raw(f.Properties)
	return w.End()
}

// Decode sets f from a frame body.
func (f *Open) Decode(body []byte) (payload []byte, err error) {
	*f = Open{MaxFrameSize: DefaultMaxFrameSize, ChannelMax: DefaultChannelMax}
	r, rest, err := openFields(body, PerformativeOpen, 10)
	if err != nil {
		return nil, err
	}
	var ok bool
	f.ContainerID, ok = r.String("container-id")
	r.Require("container-id", ok)
	f.Hostname, _ = r.String("hostname")
	if v, ok := r.Uint("max-frame-size"); ok {
		f.MaxFrameSize = v
	}
	if v, ok := r.Ushort("channel-max"); ok {
		f.ChannelMax = v
	}
	v, ok := r.Uint("idle-time-out")
	f.IdleTimeout, f.HasIdleTimeout = amqp.Milliseconds(v), ok
	f.OutgoingLocales = r.Symbols("outgoing-locales")
	f.IncomingLocales = r.Symbols("incoming-locales")
	f.OfferedCapabilities = r.Symbols("offered-capabilities")
	f.DesiredCapabilities = r.Symbols("desired-capabilities")
	f.Properties = r.Map("properties")
	return finish(&r, rest)
}
