package amqp

import (
	"math"
	"testing"
)

// §2.8.10: sequence numbers are RFC 1982 serial numbers.
func TestBC05_SerialArithmetic(t *testing.T) {
	tests := []struct {
		a, b uint32
		less bool  // a before b
		sub  int32 // a - b
	}{
		{0, 0, false, 0},
		{0, 1, true, -1},
		{1, 0, false, 1},
		{5, 64, true, -59},
		{0xfffffff0, 0x30, true, -64},
		{0x30, 0xfffffff0, false, 64},
		{0xfffffffa, 5, true, -11},
		{math.MaxUint32, 0, true, -1},
		{0, math.MaxUint32, false, 1},
		{0, math.MaxInt32, true, -math.MaxInt32},
		{math.MaxInt32, 0, false, math.MaxInt32},
		{0x7fffffff, 0x80000000, true, -1},
		{0xc0000000, 0x3fffffff, true, -0x7fffffff},
	}
	for _, test := range tests {
		a, b := test.a, test.b
		for _, got := range []struct {
			kind string
			less bool
			sub  int32
		}{
			{"SequenceNo", SequenceNo(a).Less(SequenceNo(b)), SequenceNo(a).Sub(SequenceNo(b))},
			{"DeliveryNumber", DeliveryNumber(a).Less(DeliveryNumber(b)), DeliveryNumber(a).Sub(DeliveryNumber(b))},
			{"TransferNumber", TransferNumber(a).Less(TransferNumber(b)), TransferNumber(a).Sub(TransferNumber(b))},
		} {
			if got.less != test.less || got.sub != test.sub {
				t.Errorf("%s: %#x and %#x: Less = %v, Sub = %d, want %v, %d", got.kind, a, b, got.less, got.sub, test.less, test.sub)
			}
		}
	}
}

// A count that passes the wrap by ordinary addition stays ordered step by step.
func TestBC05_CountingAcrossTheWrap(t *testing.T) {
	const start = SequenceNo(0xfffffff0)
	for i := range SequenceNo(64) {
		n := start + i
		if !n.Less(n+1) || n.Sub(start) != int32(i) {
			t.Fatalf("%#x: Less(next) = %v, Sub(start) = %d, want %d", n, n.Less(n+1), n.Sub(start), i)
		}
	}
}

func TestErrorText(t *testing.T) {
	for want, e := range map[string]*Error{
		"amqp:not-found":                {Condition: CondNotFound},
		"amqp:decode-error: field 3":    Errorf(CondDecodeError, "field %d", 3),
		"amqp:connection:forced: drain": {Condition: CondConnectionForced, Description: "drain"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("Error() = %q, want %q", got, want)
		}
	}
}

func TestStrings(t *testing.T) {
	for want, got := range map[string]string{
		"sender":    RoleSender.String(),
		"receiver":  RoleReceiver.String(),
		"unsettled": SenderSettleUnsettled.String(),
		"settled":   SenderSettleSettled.String(),
		"mixed":     SenderSettleMixed.String(),
		"7":         SenderSettleMode(7).String(),
		"first":     ReceiverSettleFirst.String(),
		"second":    ReceiverSettleSecond.String(),
		"9":         ReceiverSettleMode(9).String(),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
