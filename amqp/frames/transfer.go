package frames

import (
	"encoding/binary"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

// MaxDeliveryTag is the most bytes that a delivery-tag may have (§2.8.7).
const MaxDeliveryTag = 32

// Transfer carries a message or a part of it (§2.7.5). DeliveryTag and State.Raw are borrowed.
type Transfer struct {
	Handle                uint32 // mandatory
	DeliveryID            amqp.DeliveryNumber
	HasDeliveryID         bool   // absent only in continuation frames
	DeliveryTag           []byte // borrowed
	HasDeliveryTag        bool   // without it DeliveryTag is not written; a tag may be empty
	MessageFormat         uint32
	HasMessageFormat      bool
	Settled               bool
	HasSettled            bool
	More                  bool
	ReceiverSettleMode    amqp.ReceiverSettleMode
	HasReceiverSettleMode bool
	State                 messaging.DeliveryState // borrowed
	Resume                bool
	Aborted               bool
	Batchable             bool
}

// fields returns the number of the last field that is not absent.
func (f *Transfer) fields() int {
	switch {
	case f.Batchable:
		return 11
	case f.Aborted:
		return 10
	case f.Resume:
		return 9
	case f.State.Kind != messaging.StateNone:
		return 8
	case f.HasReceiverSettleMode:
		return 7
	case f.More:
		return 6
	case f.Settled || f.HasSettled:
		return 5
	case f.HasMessageFormat:
		return 4
	case f.HasDeliveryTag:
		return 3
	case f.HasDeliveryID:
		return 2
	}
	return 1
}

// Append appends the performative.
func (f *Transfer) Append(b []byte) []byte {
	n := f.fields()
	b = append(b, 0x00, 0x53, encoding.DescTransfer)
	b, m := encoding.BeginList(b)
	b = encoding.AppendUint(b, f.Handle)
	if n >= 2 {
		b = appendOptional(b, uint32(f.DeliveryID), f.HasDeliveryID)
	}
	if n >= 3 {
		if f.HasDeliveryTag {
			b = encoding.AppendBinary(b, f.DeliveryTag)
		} else {
			b = append(b, 0x40)
		}
	}
	if n >= 4 {
		b = appendOptional(b, f.MessageFormat, f.HasMessageFormat)
	}
	if n >= 5 {
		switch {
		case f.Settled:
			b = append(b, 0x41)
		case f.HasSettled:
			b = append(b, 0x42)
		default:
			b = append(b, 0x40)
		}
	}
	if n >= 6 {
		b = appendFlag(b, f.More)
	}
	if n >= 7 {
		if f.HasReceiverSettleMode {
			b = append(b, 0x50, byte(f.ReceiverSettleMode))
		} else {
			b = append(b, 0x40)
		}
		if n >= 8 {
			b = messaging.AppendDeliveryState(b, f.State)
		}
		if n >= 9 {
			b = appendFlag(b, f.Resume)
		}
		if n >= 10 {
			b = appendFlag(b, f.Aborted)
		}
		if n >= 11 {
			b = appendFlag(b, f.Batchable)
		}
	}
	return encoding.EndList(b, m, n)
}

// Decode sets f from a frame body. The payload is what follows the performative: a part of the message, possibly empty.
func (f *Transfer) Decode(body []byte) (payload []byte, err error) {
	if payload, ok := f.decodeFast(body); ok {
		return payload, nil
	}
	return f.decodeSlow(body)
}

func (f *Transfer) decodeFast(body []byte) (payload []byte, ok bool) {
	*f = Transfer{}
	c, payload := fastList(body, encoding.DescTransfer)
	if c.bad || c.n > 11 {
		return nil, false
	}
	f.Handle, ok = c.uint()
	if !ok {
		return nil, false
	}
	id, has := c.uint()
	f.DeliveryID, f.HasDeliveryID = amqp.DeliveryNumber(id), has
	f.DeliveryTag, f.HasDeliveryTag = c.tag()
	f.MessageFormat, f.HasMessageFormat = c.uint()
	f.Settled, f.HasSettled = c.bool()
	f.More, _ = c.bool()
	if c.n > 0 {
		// The mode is rare: only its absence is fast.
		if len(c.b) == 0 || c.b[0] != 0x40 {
			return nil, false
		}
		c.b, c.n = c.b[1:], c.n-1
		f.State = c.state()
		f.Resume, _ = c.bool()
		f.Aborted, _ = c.bool()
		f.Batchable, _ = c.bool()
	}
	return payload, c.done()
}

func (f *Transfer) decodeSlow(body []byte) (payload []byte, err error) {
	*f = Transfer{}
	r, rest, err := openFields(body, PerformativeTransfer, 11)
	if err != nil {
		return nil, err
	}
	var ok bool
	f.Handle, ok = r.Uint("handle")
	r.Require("handle", ok)
	v, ok := r.Uint("delivery-id")
	f.DeliveryID, f.HasDeliveryID = amqp.DeliveryNumber(v), ok
	if d, ok := r.Next(); ok {
		tag, err := d.Binary()
		if err != nil {
			r.Fail("delivery-tag", err)
		} else if len(tag) > MaxDeliveryTag {
			r.Reject("delivery-tag", amqp.CondDecodeError, "tag of %d bytes, at most %d are allowed", len(tag), MaxDeliveryTag)
		}
		f.DeliveryTag, f.HasDeliveryTag = tag, true
	}
	f.MessageFormat, f.HasMessageFormat = r.Uint("message-format")
	f.Settled, f.HasSettled = r.Bool("settled")
	f.More = r.Flag("more")
	if v, ok := r.Ubyte("rcv-settle-mode"); ok {
		if v > uint8(amqp.ReceiverSettleSecond) {
			r.Reject("rcv-settle-mode", amqp.CondInvalidField, "unknown mode %d", v)
		}
		f.ReceiverSettleMode, f.HasReceiverSettleMode = amqp.ReceiverSettleMode(v), true
	}
	if d, ok := r.Next(); ok {
		if f.State, err = messaging.DecodeDeliveryState(d); err != nil {
			r.Fail("state", err)
		}
	}
	f.Resume = r.Flag("resume")
	f.Aborted = r.Flag("aborted")
	f.Batchable = r.Flag("batchable")
	if err := r.Finish(); err != nil {
		return nil, err
	}
	return rest, nil
}

// TransferOverhead returns an upper bound for the bytes of a transfer frame that are not payload.
func TransferOverhead(f *Transfer) int {
	const fixed = HeaderSize + 3 + 9 + // frame header, descriptor, list header
		5*3 + // handle, delivery-id, message-format
		5 + // delivery-tag without content
		2 + // rcv-settle-mode
		4 + // state without content
		5 // settled, more, resume, aborted, batchable
	return fixed + len(f.DeliveryTag) + len(f.State.Raw)
}

// AppendTransferFrame appends the frame header and the performative of a transfer whose payload of payloadLen bytes the
// caller appends, or writes after it. The size in the header includes that payload.
func AppendTransferFrame(b []byte, channel uint16, f *Transfer, payloadLen int) []byte {
	start := len(b)
	b = f.Append(appendHeader(b, 0, TypeAMQP, channel))
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start+payloadLen))
	return b
}
