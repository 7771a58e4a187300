package frames

import (
	"math"
	"runtime"
	"testing"

	"sluice/amqp"
	"sluice/amqp/messaging"
)

// allocated returns the heap bytes that f allocates: the least of a few runs, since other goroutines allocate too.
func allocated(f func()) uint64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

// The hot performatives must not allocate, in the usual encodings and in the others.
func TestNoAllocations(t *testing.T) {
	buf := make([]byte, 0, 4096)
	var (
		transfer    Transfer
		disposition Disposition
		flow        Flow
	)
	for _, v := range vectors {
		body := hx(v.wire)
		code, _, _ := PeekPerformative(body)
		unusual := append(append(hx("00 80 00 00 00 00 00 00 00"), byte(code)), body[3:]...)
		for _, b := range [][]byte{body, unusual} {
			n := 0.0
			switch f := v.frame.(type) {
			case *Transfer:
				n = testing.AllocsPerRun(100, func() {
					if _, err := transfer.Decode(b); err != nil {
						t.Fatal(err)
					}
					buf = AppendTransferFrame(buf[:0], 1, f, 100)
				})
			case *Disposition:
				n = testing.AllocsPerRun(100, func() {
					if _, err := disposition.Decode(b); err != nil {
						t.Fatal(err)
					}
					buf = AppendFrame(buf[:0], TypeAMQP, 1, f)
				})
			case *Flow:
				n = testing.AllocsPerRun(100, func() {
					if _, err := flow.Decode(b); err != nil {
						t.Fatal(err)
					}
					buf = AppendFrame(buf[:0], TypeAMQP, 1, f)
				})
			}
			if n != 0 {
				t.Errorf("%s: %v allocations", v.name, n)
			}
		}
	}
	b := hx("00 00 02 00 02 01 ab cd")
	if n := testing.AllocsPerRun(100, func() {
		if _, err := ParseHeader(b); err != nil {
			t.Fatal(err)
		}
		if _, _, err := PeekPerformative(hotTransfer); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("ParseHeader and PeekPerformative: %v allocations", n)
	}
}

// What a busy link carries.
var (
	hotTransfer    = append(hx("00 53 14 c0 14 06 43 70 00 01 e2 40 a0 08 00 00 00 00 00 01 e2 40 43 42 42"), make([]byte, 100)...)
	hotDisposition = hx("00 53 15 c0 0d 05 41 70 00 01 e2 40 40 41 00 53 24 45")
	hotFlow        = hx("00 53 13 c0 1d 07 70 00 01 e2 40 70 00 00 08 00 70 00 01 e2 40 70 7f ff ff ff 43 70 00 01 e2 40 52 fa")
)

func BenchmarkTransferDecode(b *testing.B) {
	var f Transfer
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Decode(hotTransfer); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTransferDecodeSlow(b *testing.B) {
	var f Transfer
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.decodeSlow(hotTransfer); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDispositionDecode(b *testing.B) {
	var f Disposition
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Decode(hotDisposition); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFlowDecode(b *testing.B) {
	var f Flow
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Decode(hotFlow); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendTransferFrame(b *testing.B) {
	f := Transfer{
		Handle: 1, DeliveryID: 123456, HasDeliveryID: true, DeliveryTag: make([]byte, 8), HasDeliveryTag: true,
		HasMessageFormat: true,
	}
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendTransferFrame(buf[:0], 1, &f, 100)
	}
}

func BenchmarkDispositionAppend(b *testing.B) {
	f := Disposition{Role: amqp.RoleReceiver, First: 123456, Last: 123460, HasLast: true, Settled: true, State: messaging.Accepted}
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendFrame(buf[:0], TypeAMQP, 1, &f)
	}
}
