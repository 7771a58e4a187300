package buffers

import (
	"fmt"
	"sync"
	"testing"
)

// passage brings one message through a Content: it arrives in parts, and each
// reader takes it in steps of a frame.
type passage struct {
	content Content
	chunk   *Chunk
	cursors []Cursor
	size    int
	part    int // bytes; the size for a message that arrives whole
}

func newPassage(size, part, readers int) *passage {
	return &passage{chunk: GetChunk(part), cursors: make([]Cursor, readers), size: size, part: part}
}

func (p *passage) run() {
	c := &p.content
	c.Reset()
	clear(p.cursors)
	if p.part == p.size {
		p.chunk.Retain(1)
		c.SetWhole(p.chunk.Slice(0, p.size))
		c.Attach(int32(len(p.cursors)))
		p.read()
	} else {
		c.Attach(int32(len(p.cursors)))
		for at := 0; at < p.size; at += p.part {
			p.chunk.Retain(1)
			c.Append(p.chunk.Slice(0, p.part))
			p.read()
		}
		c.End()
	}
	for i := range p.cursors {
		c.Detach(&p.cursors[i], false)
	}
}

// read lets each reader take what is there.
func (p *passage) read() {
	for i := range p.cursors {
		cur := &p.cursors[i]
		for {
			s, _ := p.content.Next(cur, 16<<10)
			if s.Len() == 0 {
				break
			}
			p.content.Advance(cur, s.Len())
		}
	}
}

var passages = []struct{ size, part, readers int }{
	{100, 100, 1}, {100, 100, 8}, {64 << 10, 64 << 10, 1}, {1 << 20, 64 << 10, 1}, {1 << 20, 64 << 10, 8}, {1 << 20, 512, 1},
}

// BenchmarkContent is the way of a message through stage two, without a copy
// except for parts that are very small.
func BenchmarkContent(b *testing.B) {
	for _, t := range passages {
		b.Run(fmt.Sprintf("size=%d/part=%d/fanout=%d", t.size, t.part, t.readers), func(b *testing.B) {
			p := newPassage(t.size, t.part, t.readers)
			defer p.chunk.Release(1)
			b.SetBytes(int64(t.size))
			b.ReportAllocs()
			for b.Loop() {
				p.run()
			}
		})
	}
}

// A Content that is used again allocates nothing for a message that arrives
// whole, and for others the list of their parts, once.
func TestContentDoesNotAllocate(t *testing.T) {
	if Poisoned || !pooled() {
		t.Skip("pools give back what they like")
	}
	clean(t)
	for _, test := range passages {
		p := newPassage(test.size, test.part, test.readers)
		p.run()
		most := 0.0
		if test.part < test.size {
			most = 1
		}
		if n := testing.AllocsPerRun(100, p.run); n > most {
			t.Errorf("%d bytes in parts of %d, %d readers: %v allocations, want %v", test.size, test.part, test.readers, n, most)
		}
		p.chunk.Release(1)
	}
}

// pooled tells whether a sync.Pool keeps what it gets: with the race detector
// it does not always.
func pooled() bool {
	var p sync.Pool
	for range 100 {
		p.Put(new(int))
		if p.Get() == nil {
			return false
		}
	}
	return true
}

// BenchmarkChunk is what a read of a connection takes from the pool.
func BenchmarkChunk(b *testing.B) {
	for _, size := range []int{MinChunk, 4 << 10, MaxChunk} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				GetChunk(size).Release(1)
			}
		})
	}
}
