package frames

import (
	"math"

	"sluice/amqp"
	"sluice/amqp/encoding"
)

// DefaultHandleMax is the default of begin's handle-max (§2.7.2). Append omits it; the zero value means one link.
const DefaultHandleMax = math.MaxUint32

// Begin begins a session on a channel (§2.7.2).
type Begin struct {
	RemoteChannel       uint16
	HasRemoteChannel    bool
	NextOutgoingID      amqp.TransferNumber // mandatory
	IncomingWindow      uint32              // mandatory
	OutgoingWindow      uint32              // mandatory
	HandleMax           uint32              // default 4294967295
	OfferedCapabilities []amqp.Symbol
	DesiredCapabilities []amqp.Symbol
	Properties          []byte // encoded map, nil when absent
}

// Append appends the performative.
func (f *Begin) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescBegin)
	w.Ushort(f.RemoteChannel, f.HasRemoteChannel)
	w.Uint(uint32(f.NextOutgoingID), true)
	w.Uint(f.IncomingWindow, true)
	w.Uint(f.OutgoingWindow, true)
	w.Uint(f.HandleMax, f.HandleMax != DefaultHandleMax)
	w.Symbols(f.OfferedCapabilities)
	w.Symbols(f.DesiredCapabilities)
	w.Raw(f.Properties)
	return w.End()
}

// Decode sets f from a frame body.
func (f *Begin) Decode(body []byte) (payload []byte, err error) {
	*f = Begin{HandleMax: DefaultHandleMax}
	r, rest, err := openFields(body, PerformativeBegin, 8)
	if err != nil {
		return nil, err
	}
	f.RemoteChannel, f.HasRemoteChannel = r.Ushort("remote-channel")
	next, ok := r.Uint("next-outgoing-id")
	r.Require("next-outgoing-id", ok)
	f.NextOutgoingID = amqp.TransferNumber(next)
	f.IncomingWindow, ok = r.Uint("incoming-window")
	r.Require("incoming-window", ok)
	f.OutgoingWindow, ok = r.Uint("outgoing-window")
	r.Require("outgoing-window", ok)
	if v, ok := r.Uint("handle-max"); ok {
		f.HandleMax = v
	}
	f.OfferedCapabilities = r.Symbols("offered-capabilities")
	f.DesiredCapabilities = r.Symbols("desired-capabilities")
	f.Properties = r.Map("properties")
	return finish(&r, rest)
}
