package frames

import (
	"sluice/amqp"
	"sluice/amqp/encoding"
)

// Flow updates the flow state of a session and, with a handle, of a link (§2.7.4). Properties is borrowed.
type Flow struct {
	NextIncomingID    amqp.TransferNumber
	HasNextIncomingID bool                // absent before the peer's begin was received
	IncomingWindow    uint32              // mandatory
	NextOutgoingID    amqp.TransferNumber // mandatory
	OutgoingWindow    uint32              // mandatory
	Handle            uint32
	HasHandle         bool // the fields below mean a link
	DeliveryCount     amqp.SequenceNo
	HasDeliveryCount  bool
	LinkCredit        uint32
	HasLinkCredit     bool
	Available         uint32
	HasAvailable      bool
	Drain             bool
	Echo              bool
	Properties        []byte // encoded map, nil when absent; borrowed
}

// Append appends the performative.
func (f *Flow) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescFlow)
	w.Uint(uint32(f.NextIncomingID), f.HasNextIncomingID)
	w.Uint(f.IncomingWindow, true)
	w.Uint(uint32(f.NextOutgoingID), true)
	w.Uint(f.OutgoingWindow, true)
	w.Uint(f.Handle, f.HasHandle)
	w.Uint(uint32(f.DeliveryCount), f.HasDeliveryCount)
	w.Uint(f.LinkCredit, f.HasLinkCredit)
	w.Uint(f.Available, f.HasAvailable)
	w.Flag(f.Drain)
	w.Flag(f.Echo)
	w.Raw(f.Properties)
	return w.End()
}

// Decode sets f from a frame body.
func (f *Flow) Decode(body []byte) (payload []byte, err error) {
	*f = Flow{}
	r, rest, err := openFields(body, PerformativeFlow, 11)
	if err != nil {
		return nil, err
	}
	v, ok := r.Uint("next-incoming-id")
	f.NextIncomingID, f.HasNextIncomingID = amqp.TransferNumber(v), ok
	f.IncomingWindow, ok = r.Uint("incoming-window")
	r.Require("incoming-window", ok)
	v, ok = r.Uint("next-outgoing-id")
	r.Require("next-outgoing-id", ok)
	f.NextOutgoingID = amqp.TransferNumber(v)
	f.OutgoingWindow, ok = r.Uint("outgoing-window")
	r.Require("outgoing-window", ok)
	f.Handle, f.HasHandle = r.Uint("handle")
	v, ok = r.Uint("delivery-count")
	f.DeliveryCount, f.HasDeliveryCount = amqp.SequenceNo(v), ok
	f.LinkCredit, f.HasLinkCredit = r.Uint("link-credit")
	f.Available, f.HasAvailable = r.Uint("available")
	f.Drain = r.Flag("drain")
	f.Echo = r.Flag("echo")
	f.Properties = r.Map("properties")
	return finish(&r, rest)
}
