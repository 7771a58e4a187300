package amqptest

import (
	"encoding/binary"

	"sluice/amqp"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
)

// A Performative can encode itself: those of package frames.
type Performative interface{ Append([]byte) []byte }

// A Frame is one frame as it was read, or a performative with what goes around
// it, to be written.
type Frame struct {
	Type    uint8
	Channel uint16
	Body    Performative // written frames
	Text    string       // read frames: the line of a trace
	Payload []byte       // of a transfer
	Raw     []byte       // read frames: the body
}

// On puts a performative on a channel other than 0.
func On(channel uint16, f Performative) Frame { return Frame{Channel: channel, Body: f} }

// SASL makes a SASL frame.
func SASL(f Performative) Frame { return Frame{Type: frames.TypeSASL, Body: f} }

// With adds a payload to a transfer.
func With(t *frames.Transfer, payload []byte) Frame { return Frame{Body: t, Payload: payload} }

// On puts f on a channel other than 0.
func (f Frame) On(channel uint16) Frame {
	f.Channel = channel
	return f
}

func (f Frame) append(b []byte) []byte {
	at := len(b)
	b = frames.AppendFrame(b, f.Type, f.Channel, f.Body)
	b = append(b, f.Payload...)
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at))
	return b
}

// Decode reads the body of a frame into f and returns the payload.
func (f Frame) Decode(to interface {
	Decode([]byte) ([]byte, error)
}) []byte {
	payload, err := to.Decode(f.Raw)
	if err != nil {
		panic(err)
	}
	return payload
}

// Transfer returns the first transfer of an unsettled delivery. Its tag is its id.
func Transfer(handle, id uint32) *frames.Transfer {
	return &frames.Transfer{
		Handle: handle, DeliveryID: amqp.DeliveryNumber(id), HasDeliveryID: true,
		DeliveryTag: binary.BigEndian.AppendUint32(nil, id), HasDeliveryTag: true,
	}
}

// Settled returns the first transfer of a delivery that is sent settled.
func Settled(handle, id uint32) *frames.Transfer {
	t := Transfer(handle, id)
	t.Settled, t.HasSettled = true, true
	return t
}

// More says that the delivery goes on in another transfer.
func More(t *frames.Transfer) *frames.Transfer {
	t.More = true
	return t
}

// Next returns a transfer that continues and ends a delivery.
func Next(handle uint32) *frames.Transfer { return &frames.Transfer{Handle: handle} }

// Abort returns a transfer that aborts a delivery.
func Abort(handle uint32) *frames.Transfer { return &frames.Transfer{Handle: handle, Aborted: true} }

// Message returns a message whose only section is an amqp-value of these bytes.
func Message(body []byte) []byte {
	b, err := (&messaging.Message{Body: body}).Append(nil)
	if err != nil {
		panic(err)
	}
	return b
}

// Text returns a message with a short text.
func Text(s string) []byte {
	b, err := (&messaging.Message{Body: s}).Append(nil)
	if err != nil {
		panic(err)
	}
	return b
}

// Disposition returns what one end says of the deliveries first to last.
func Disposition(role amqp.Role, first, last uint32, settled bool, state messaging.DeliveryState) *frames.Disposition {
	return &frames.Disposition{
		Role: role, First: amqp.DeliveryNumber(first), Last: amqp.DeliveryNumber(last), HasLast: first != last,
		Settled: settled, State: state,
	}
}

// Accept settles the delivery id with the outcome accepted.
func Accept(id uint32) *frames.Disposition {
	return Disposition(amqp.RoleReceiver, id, id, true, messaging.Accepted)
}

// Settle settles the delivery id as its receiver.
func Settle(id uint32, state messaging.DeliveryState) *frames.Disposition {
	return Disposition(amqp.RoleReceiver, id, id, true, state)
}

// Flow returns a flow of a receiver for its link; the session's part is filled
// in when it is written.
func Flow(handle, deliveryCount, credit uint32) *frames.Flow {
	return &frames.Flow{
		Handle: handle, HasHandle: true,
		DeliveryCount: amqp.SequenceNo(deliveryCount), HasDeliveryCount: true,
		LinkCredit: credit, HasLinkCredit: true,
	}
}

// Drain makes f ask for a drain.
func Drain(f *frames.Flow) *frames.Flow {
	f.Drain = true
	return f
}

// Echo makes f ask for an answer.
func Echo(f *frames.Flow) *frames.Flow {
	f.Echo = true
	return f
}

// SessionFlow returns a flow without a link.
func SessionFlow() *frames.Flow { return &frames.Flow{} }

// Sending returns the attach of a sender.
func Sending(name string, handle uint32, address string) *frames.Attach {
	return &frames.Attach{
		Name: name, Handle: handle, Role: amqp.RoleSender, SenderSettleMode: amqp.SenderSettleMixed,
		Source:                  &messaging.Source{},
		Target:                  messaging.TargetField{Target: &messaging.Target{Address: address}},
		HasInitialDeliveryCount: true,
	}
}

// Receiving returns the attach of a receiver.
func Receiving(name string, handle uint32, address string) *frames.Attach {
	return &frames.Attach{
		Name: name, Handle: handle, Role: amqp.RoleReceiver, SenderSettleMode: amqp.SenderSettleMixed,
		Source: &messaging.Source{Address: address},
		Target: messaging.TargetField{Target: &messaging.Target{}},
	}
}

// Detach returns a detach.
func Detach(handle uint32, closed bool) *frames.Detach {
	return &frames.Detach{Handle: handle, Closed: closed}
}

// Begin returns a begin with a wide window.
func Begin() *frames.Begin {
	return &frames.Begin{IncomingWindow: DefaultWindow, OutgoingWindow: DefaultWindow, HandleMax: frames.DefaultHandleMax}
}

// DefaultWindow is the window of sessions that Begin begins, in frames.
const DefaultWindow = 1 << 16

// Open returns an open with the defaults of the spec.
func Open(container string) *frames.Open {
	return &frames.Open{ContainerID: container, MaxFrameSize: frames.DefaultMaxFrameSize, ChannelMax: frames.DefaultChannelMax}
}
