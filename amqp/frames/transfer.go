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
	HasDeliveryTag        bool   // a tag may be empty
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

// Append appends the performative.
func (f *Transfer) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescTransfer)
	w.Uint(f.Handle, true)
	w.Uint(uint32(f.DeliveryID), f.HasDeliveryID)
	if f.HasDeliveryTag && f.DeliveryTag == nil {
		w.Binary([]byte{})
	} else {
		w.Binary(f.DeliveryTag)
	}
	w.Uint(f.MessageFormat, f.HasMessageFormat)
	w.Bool(f.Settled, f.HasSettled || f.Settled)
	w.Flag(f.More)
	w.Ubyte(uint8(f.ReceiverSettleMode), f.HasReceiverSettleMode)
	if f.State.Kind != messaging.StateNone {
		w.Value(func(b []byte) []byte { return messaging.AppendDeliveryState(b, f.State) })
	} else {
		w.Raw(nil)
	}
	w.Flag(f.Resume)
	w.Flag(f.Aborted)
	w.Flag(f.Batchable)
	return w.End()
}

// Decode sets f from a frame body. The payload is what follows the performative: a part of the message, possibly empty.
func (f *Transfer) Decode(body []byte) (payload []byte, err error) {
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
		2 + // delivery-tag without content
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
