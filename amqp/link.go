package amqp

import "strconv"

// Role says which end of a link speaks (§2.8.1). On the wire it is a boolean: false for sender, true for receiver.
type Role bool

const (
	RoleSender   Role = false
	RoleReceiver Role = true
)

func (r Role) String() string {
	if r == RoleReceiver {
		return "receiver"
	}
	return "sender"
}

// SenderSettleMode is the settlement policy of a sender (§2.8.2). The default of the spec is mixed, not the zero value.
type SenderSettleMode uint8

const (
	SenderSettleUnsettled SenderSettleMode = 0
	SenderSettleSettled   SenderSettleMode = 1
	SenderSettleMixed     SenderSettleMode = 2
)

func (m SenderSettleMode) String() string {
	switch m {
	case SenderSettleUnsettled:
		return "unsettled"
	case SenderSettleSettled:
		return "settled"
	case SenderSettleMixed:
		return "mixed"
	}
	return strconv.Itoa(int(m))
}

// ReceiverSettleMode is the settlement policy of a receiver (§2.8.3).
type ReceiverSettleMode uint8

const (
	ReceiverSettleFirst  ReceiverSettleMode = 0
	ReceiverSettleSecond ReceiverSettleMode = 1
)

func (m ReceiverSettleMode) String() string {
	switch m {
	case ReceiverSettleFirst:
		return "first"
	case ReceiverSettleSecond:
		return "second"
	}
	return strconv.Itoa(int(m))
}

// Handles are chosen by each side for its own end of a link (§2.6.2), so the same number means different links depending
// on who assigned it. Two types keep them apart.
type (
	LocalHandle  uint32 // assigned by us
	RemoteHandle uint32 // assigned by the peer
)

// Channel numbers one direction of a session within a connection (§2.5.1).
type Channel uint16

// Milliseconds is the unit of the spec's durations (§2.8.12).
type Milliseconds uint32

// Symbol is an ASCII name from a constrained domain (§1.6.21).
type Symbol string
