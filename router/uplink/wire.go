package uplink

import (
	"crypto/rand"
	"fmt"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
)

// CapDownlink is the capability of both termini of the downlink. The edge router
// puts its id into the source.
const CapDownlink amqp.Symbol = "qd.router-edge-downlink"

// Addresses of the services that an interior router has for edge routers.
const (
	Tracking  = "_$qd.edge_addr_tracking"
	Lookup    = "_$qd.addr_lookup"
	Heartbeat = "_$qd.edge_heartbeat"
)

// PropInstance is the property of open in which an edge router says which of its
// lives this is, a ulong: an interior router that still has a connection of the
// same life gives that up, since the edge router has.
const PropInstance amqp.Symbol = "sluice.instance"

// AttachOf returns the attach of a link from one router to the other. An empty
// address is none.
func AttachOf(role amqp.Role, source, target string, capabilities ...amqp.Symbol) *frames.Attach {
	return &frames.Attach{
		Name:             "qdlink." + rand.Text()[:15],
		Role:             role,
		SenderSettleMode: amqp.SenderSettleMixed,
		Source:           &messaging.Source{Address: source, ExpiryPolicy: "link-detach", Capabilities: capabilities},
		Target: messaging.TargetField{Target: &messaging.Target{
			Address: target, ExpiryPolicy: "link-detach", Capabilities: capabilities,
		}},
		HasInitialDeliveryCount: true,
	}
}

// AppendTracked appends the message that tells whether the address with this key
// has a destination: a list of both.
func AppendTracked(b []byte, key string, has bool) []byte {
	b = encoding.AppendDescriptor(b, encoding.DescAMQPValue)
	b, mark := encoding.BeginList(b)
	b = encoding.AppendBool(encoding.AppendString(b, key), has)
	return encoding.EndList(b, mark, 2)
}

// DecodeTracked reads such a message.
func DecodeTracked(b []byte) (key string, has bool, err error) {
	m, err := messaging.DecodeMessage(b)
	if err != nil {
		return "", false, err
	}
	list, _ := m.Body.([]any)
	if len(list) < 2 {
		return "", false, fmt.Errorf("a tracking message with %T", m.Body)
	}
	key, ok := list[0].(string)
	has, ok2 := list[1].(bool)
	if !ok || !ok2 {
		return "", false, fmt.Errorf("a tracking message with a %T and a %T", list[0], list[1])
	}
	return key, has, nil
}

// AppendHeartbeat appends the n-th heartbeat.
func AppendHeartbeat(b []byte, n uint32) []byte {
	return encoding.AppendInt(encoding.AppendDescriptor(b, encoding.DescAMQPValue), int32(n))
}
