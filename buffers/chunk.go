package buffers

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// Size classes are the powers of two from MinChunk to MaxChunk.
const (
	// MinChunk is the smallest Chunk in bytes: parked messages of a few
	// dozen bytes cost this much and no more.
	MinChunk = 256
	// MaxChunk is the largest Chunk in bytes: one read of a busy connection.
	// Larger reads win nothing on loopback and fall out of the cache.
	MaxChunk = 256 << 10

	minShift = 8
	classes  = 11
)

var (
	pools [classes]sync.Pool
	inUse atomic.Int64 // bytes
	// One more than there are classes: what is larger has no pool.
	counts [classes + 1]count
)

// A count is how many Chunks of a class there are.
type count struct {
	made atomic.Int64 // that the collector has not taken
	held atomic.Int64 // of these, referenced by somebody
}

var largeMade atomic.Int64 // bytes of Chunks above MaxChunk that the collector has not taken

// A Chunk is counted memory. Its bytes may be written only by the one who got
// it, and only where no Slice has been handed out.
type Chunk struct {
	refs  atomic.Int32
	class uint8
	b     []byte
}

// GetChunk returns a Chunk of at least size bytes with one reference. Sizes
// above MaxChunk get memory of their own that is not pooled.
func GetChunk(size int) *Chunk {
	class := classOf(size)
	if class >= classes {
		c := newChunk(classes, size)
		c.refs.Store(1)
		inUse.Add(int64(size))
		counts[classes].held.Add(1)
		return c
	}
	c, _ := pools[class].Get().(*Chunk)
	if c == nil {
		c = newChunk(uint8(class), MinChunk<<class)
	}
	c.refs.Store(1)
	inUse.Add(int64(len(c.b)))
	counts[class].held.Add(1)
	return c
}

func newChunk(class uint8, size int) *Chunk {
	c := &Chunk{class: class, b: make([]byte, size)}
	counts[class].made.Add(1)
	if class == classes {
		largeMade.Add(int64(size))
		runtime.AddCleanup(c, func(n int64) { counts[classes].made.Add(-1); largeMade.Add(-n) }, int64(size))
		return c
	}
	runtime.AddCleanup(c, func(of *count) { of.made.Add(-1) }, &counts[class])
	return c
}

func classOf(size int) int {
	if size <= MinChunk {
		return 0
	}
	return bits.Len(uint(size-1)) - minShift
}

// Bytes is the whole memory of the Chunk. It is valid while a reference is held.
func (c *Chunk) Bytes() []byte { return c.b }

// Size is the number of bytes that the Chunk occupies.
func (c *Chunk) Size() int { return len(c.b) }

// Retain adds n references.
func (c *Chunk) Retain(n int32) { c.refs.Add(n) }

// Release gives n references back.
func (c *Chunk) Release(n int32) {
	switch left := c.refs.Add(-n); {
	case left > 0:
	case left < 0:
		panic(fmt.Sprintf("BUG: chunk of %d bytes released more often than retained (%d)", len(c.b), left))
	default:
		inUse.Add(-int64(len(c.b)))
		counts[c.class].held.Add(-1)
		poison(c.b)
		if c.class < classes {
			pools[c.class].Put(c)
		}
	}
}

// Slice returns a reference to bytes [from, to). It borrows the Chunk's count:
// the caller has retained it for the Slice.
func (c *Chunk) Slice(from, to int) Slice {
	return Slice{c: c, off: uint32(from), end: uint32(to)}
}

// InUse is the number of bytes in Chunks that are referenced by somebody.
func InUse() int64 { return inUse.Load() }

// Pooled is the number of bytes in Chunks that nobody refers to: they are used
// again, unless the collector takes them first.
func Pooled() int64 {
	made := largeMade.Load()
	for class := range classes {
		made += counts[class].made.Load() * (MinChunk << class)
	}
	return max(made-inUse.Load(), 0)
}

// Outstanding is the number of Chunks that are referenced by somebody.
func Outstanding() int64 {
	n := int64(0)
	for class := range counts {
		n += counts[class].held.Load()
	}
	return n
}

// A Class is the Chunks of one size that come from a pool.
type Class struct {
	Size int   // bytes of each
	Made int64 // that there are
	Held int64 // of these, referenced by somebody; the others are in the pool
}

// Classes measures the pools, the smallest Chunks first. The numbers are not
// taken at one moment.
func Classes() []Class {
	list := make([]Class, classes)
	for class := range list {
		n := &counts[class]
		held := n.held.Load()
		list[class] = Class{Size: MinChunk << class, Made: max(n.made.Load(), held), Held: held}
	}
	return list
}

// A Slice is a reference to a part of a Chunk. The zero Slice is empty and
// holds nothing.
type Slice struct {
	c        *Chunk
	off, end uint32
}

// Bytes is valid while the reference is held. Nobody may write to it.
func (s Slice) Bytes() []byte {
	if s.c == nil {
		return nil
	}
	return s.c.b[s.off:s.end:s.end]
}

// Len is the number of bytes referred to.
func (s Slice) Len() int { return int(s.end - s.off) }

// Retain adds n references to the bytes.
func (s Slice) Retain(n int32) {
	if s.c != nil && n != 0 {
		s.c.Retain(n)
	}
}

// Release gives one reference back.
func (s Slice) Release() {
	if s.c != nil {
		s.c.Release(1)
	}
}

// Part refers to bytes [from, to) of s without a reference of its own.
func (s Slice) Part(from, to int) Slice {
	return Slice{c: s.c, off: s.off + uint32(from), end: s.off + uint32(to)}
}

// Compact takes s and returns a Slice of the same bytes that does not pin much
// more memory than it needs: where s keeps a far larger Chunk alive, the bytes
// are copied to one of their own. It is called when bytes begin to wait.
func (s Slice) Compact() Slice {
	n := s.Len()
	if s.c == nil || n*CompactRatio >= len(s.c.b) || len(s.c.b) == MinChunk {
		return s
	}
	c := GetChunk(n)
	copy(c.b, s.Bytes())
	s.Release()
	return c.Slice(0, n)
}

// CompactRatio is the largest factor by which waiting bytes may pin memory:
// a Slice of less than 1/CompactRatio of its Chunk is copied before it waits.
const CompactRatio = 4

// Sole tells whether the caller's reference is the only one.
func (c *Chunk) Sole() bool { return c.refs.Load() == 1 }
