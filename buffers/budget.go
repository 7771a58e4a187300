package buffers

import "sync/atomic"

// A Budget counts bytes between a high and a low mark. Both marks are soft by
// what is charged at once, which is at most one frame: a charge that crosses
// the high mark is made in full, and the next one waits.
//
// It is a counter with hysteresis and nothing else; who has to wait and who
// must be told is the business of its owner. Used is safe for concurrent use.
type Budget struct {
	High, Low int64
	used      atomic.Int64
}

// Charge adds n bytes and tells whether the high mark has been reached.
func (b *Budget) Charge(n int64) (over bool) { return b.used.Add(n) >= b.High }

// Credit takes n bytes off and tells whether this crossed the low mark.
func (b *Budget) Credit(n int64) (crossed bool) {
	after := b.used.Add(-n)
	return after <= b.Low && after+n > b.Low
}

// Used is the number of bytes charged.
func (b *Budget) Used() int64 { return b.used.Load() }

// Over tells whether the high mark has been reached.
func (b *Budget) Over() bool { return b.used.Load() >= b.High }

// Low tells whether no more than the low mark is charged.
func (b *Budget) IsLow() bool { return b.used.Load() <= b.Low }
