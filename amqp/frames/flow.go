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
	n := 4
	switch {
	case f.Properties != nil:
		n = 11
	case f.Echo:
		n = 10
	case f.Drain:
		n = 9
	case f.HasAvailable:
		n = 8
	case f.HasLinkCredit:
		n = 7
	case f.HasDeliveryCount:
		n = 6
	case f.HasHandle:
		n = 5
	}
	b = append(b, 0x00, 0x53, encoding.DescFlow)
	b, m := encoding.BeginList(b)
	b = appendOptional(b, uint32(f.NextIncomingID), f.HasNextIncomingID)
	b = encoding.AppendUint(b, f.IncomingWindow)
	b = encoding.AppendUint(b, uint32(f.NextOutgoingID))
	b = encoding.AppendUint(b, f.OutgoingWindow)
	if n >= 5 {
		b = appendOptional(b, f.Handle, f.HasHandle)
	}
	if n >= 6 {
		b = appendOptional(b, uint32(f.DeliveryCount), f.HasDeliveryCount)
	}
	if n >= 7 {
		b = appendOptional(b, f.LinkCredit, f.HasLinkCredit)
	}
	if n >= 8 {
		b = appendOptional(b, f.Available, f.HasAvailable)
	}
	if n >= 9 {
		b = appendFlag(b, f.Drain)
	}
	if n >= 10 {
		b = appendFlag(b, f.Echo)
	}
	if n >= 11 {
		b = append(b, f.Properties...)
	}
	return encoding.EndList(b, m, n)
}

// Decode sets f from a frame body.
func (f *Flow) Decode(body []byte) (payload []byte, err error) {
	if f.decodeFast(body) {
		return nil, nil
	}
	return f.decodeSlow(body)
}

func (f *Flow) decodeFast(body []byte) bool {
	*f = Flow{}
	c, rest := fastList(body, encoding.DescFlow)
	// Flows with properties are rare and left to decodeSlow.
	if c.bad || c.n > 10 || len(rest) != 0 {
		return false
	}
	v, has := c.uint()
	f.NextIncomingID, f.HasNextIncomingID = amqp.TransferNumber(v), has
	var hasIncoming, hasNext, hasOutgoing bool
	f.IncomingWindow, hasIncoming = c.uint()
	v, hasNext = c.uint()
	f.NextOutgoingID = amqp.TransferNumber(v)
	f.OutgoingWindow, hasOutgoing = c.uint()
	if !hasIncoming || !hasNext || !hasOutgoing {
		return false
	}
	f.Handle, f.HasHandle = c.uint()
	v, has = c.uint()
	f.DeliveryCount, f.HasDeliveryCount = amqp.SequenceNo(v), has
	f.LinkCredit, f.HasLinkCredit = c.uint()
	f.Available, f.HasAvailable = c.uint()
	f.Drain, _ = c.bool()
	f.Echo, _ = c.bool()
	return c.done()
}

func (f *Flow) decodeSlow(body []byte) (payload []byte, err error) {
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
	if d, ok := r.Next(); ok {
		if f.Properties, err = d.RawMap(); err != nil {
			r.Fail("properties", err)
		}
	}
	return finish(&r, rest)
}
