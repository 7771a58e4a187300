package main

import (
	"math/bits"
	"time"
)

// histogram counts durations in buckets that are at most 1/32 wide of their
// value, from a nanosecond to centuries, in 16 KiB. It is not safe for
// concurrent use.
type histogram struct {
	counts [64 * subBuckets]uint64
	n      uint64
	max    time.Duration
}

// subBuckets is how many buckets there are between two powers of two.
const subBuckets = 32

// bucket returns the bucket of d: small values are their own; of others the
// leading bit and the five after it count.
func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < subBuckets {
		return int(v)
	}
	shift := bits.Len64(v) - 6
	return shift*subBuckets + int(v>>shift)
}

// value returns the middle of a bucket.
func value(b int) time.Duration {
	if b < 2*subBuckets {
		return time.Duration(b)
	}
	shift := b/subBuckets - 1
	low := uint64(b-shift*subBuckets) << shift
	return time.Duration(low + uint64(1)<<shift/2)
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucket(d)]++
	h.n++
	h.max = max(h.max, d)
}

func (h *histogram) merge(o *histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.n += o.n
	h.max = max(h.max, o.max)
}

// percentile returns the least duration that is not exceeded by the share p
// (0 to 1) of all.
func (h *histogram) percentile(p float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := uint64(p*float64(h.n) + 0.999999)
	seen := uint64(0)
	for b, n := range h.counts {
		if seen += n; n > 0 && seen >= rank {
			return min(value(b), h.max)
		}
	}
	return h.max
}
