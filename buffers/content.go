package buffers

import (
	"sync"
	"sync/atomic"
)

// Content is the bytes of one message. One goroutine writes it; each reader
// walks it with a Cursor of its own. Bytes that every reader has passed are
// released, so a message of any size occupies what its slowest reader has not
// yet taken and no more.
//
// A message that arrived whole in one Slice, which nearly all do, takes the
// short way: no lock, one counter.
type Content struct {
	// whole is the complete message when the short way is taken. It is set
	// before the Content is shared and does not change while there are readers.
	whole   Slice
	isWhole bool

	readers atomic.Int32 // cursors that have not finished

	mu      sync.Mutex // guards the fields below, once the Content is shared
	pieces  []piece    // pieces[0] is the oldest that some reader has not passed
	first   int        // index of pieces[0] among all pieces ever appended
	size    int64      // bytes appended so far
	bytes   int64      // bytes in pieces
	ended   bool
	aborted bool
	discard bool // no reader is left and none will come

	// Small appends are collected here, so that a message in many tiny frames
	// pins about as much memory as it has bytes.
	tail     *Chunk
	tailUsed int
}

type piece struct {
	s    Slice
	left int32 // readers that have not passed this piece
}

// A Cursor is one reader's place in a Content. The zero Cursor is at the start.
type Cursor struct {
	piece int
	off   int
	Read  int64 // bytes passed
}

// SetWhole takes s as the complete message. It is called before sharing.
func (c *Content) SetWhole(s Slice) {
	c.whole, c.isWhole, c.size = s, true, int64(s.Len())
	c.ended = true
}

// Append takes s as the next bytes of the message.
func (c *Content) Append(s Slice) {
	c.mu.Lock()
	n := int64(s.Len())
	c.size += n
	if c.discard || n == 0 {
		c.mu.Unlock()
		s.Release()
		return
	}
	c.bytes += n
	if n < smallAppend {
		c.collect(s)
	} else {
		c.pieces = append(c.pieces, piece{s, c.readers.Load()})
	}
	c.mu.Unlock()
}

const (
	smallAppend = 2 << 10 // bytes; smaller appends are copied together
	tailSize    = 8 << 10 // bytes; of the Chunk that they are copied to
)

// collect copies s to the tail. The last piece grows if no reader has passed it.
func (c *Content) collect(s Slice) {
	b := s.Bytes()
	if c.tail == nil || len(c.tail.b)-c.tailUsed < len(b) {
		c.dropTail()
		c.tail = GetChunk(tailSize)
	}
	from := c.tailUsed
	c.tailUsed += copy(c.tail.b[from:], b)
	readers := c.readers.Load()
	if n := len(c.pieces); n > 0 {
		if p := &c.pieces[n-1]; p.s.c == c.tail && p.left == readers {
			p.s.end = uint32(c.tailUsed)
			s.Release()
			return
		}
	}
	c.tail.Retain(1)
	c.pieces = append(c.pieces, piece{c.tail.Slice(from, c.tailUsed), readers})
	s.Release()
}

func (c *Content) dropTail() {
	if c.tail != nil {
		c.tail.Release(1)
		c.tail, c.tailUsed = nil, 0
	}
}

// End marks the message complete.
func (c *Content) End() {
	c.mu.Lock()
	c.ended = true
	c.dropTail()
	c.mu.Unlock()
}

// Abort marks the message as never to be completed.
func (c *Content) Abort() {
	c.mu.Lock()
	c.ended, c.aborted = true, true
	c.dropTail()
	c.mu.Unlock()
}

// Aborted tells whether Abort was called.
func (c *Content) Aborted() bool {
	if c.isWhole {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.aborted
}

// Complete tells whether all bytes have been appended.
func (c *Content) Complete() bool {
	if c.isWhole {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// Size is the number of bytes appended so far, released or not.
func (c *Content) Size() int64 {
	if c.isWhole {
		return c.size
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

// Held is the number of bytes not yet passed by every reader.
func (c *Content) Held() int64 {
	if c.isWhole {
		return c.size
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// Attach announces n readers that start at the beginning. It must come before
// any reader has passed a piece.
func (c *Content) Attach(n int32) {
	if c.isWhole {
		c.readers.Add(n)
		return
	}
	c.mu.Lock()
	c.readers.Add(n)
	for i := range c.pieces {
		c.pieces[i].left += n
	}
	c.mu.Unlock()
}

// Pin returns the Chunk that a whole message is in, and nil for others.
func (c *Content) Pin() *Chunk { return c.whole.c }

// Compact copies a whole message that is about to wait out of a large Chunk.
// It may be called only while there is at most one reader, by that reader.
func (c *Content) Compact() {
	if c.isWhole {
		c.whole = c.whole.Compact()
	}
}

// Prefix appends to buf the first bytes of the message, up to max, as far as
// they have arrived and have not been released.
func (c *Content) Prefix(buf []byte, max int) []byte {
	if c.isWhole {
		b := c.whole.Bytes()
		return append(buf, b[:min(len(b), max)]...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first != 0 {
		return buf
	}
	for _, p := range c.pieces {
		b := p.s.Bytes()
		if len(b) >= max {
			return append(buf, b[:max]...)
		}
		buf = append(buf, b...)
		max -= len(b)
	}
	return buf
}

// Whole borrows the complete message if it arrived in one Slice.
func (c *Content) Whole() (Slice, bool) { return c.whole, c.isWhole }

// Next borrows the bytes at the cursor, at most max of them and none beyond
// the piece that the cursor is in. More tells that bytes follow or may follow; of
// a message that was aborted there is no last one, whoever looks when.
// The bytes stay valid until the cursor is advanced over their end.
func (c *Content) Next(cur *Cursor, max int) (s Slice, more bool) {
	if c.isWhole {
		rest := c.whole.Len() - cur.off
		n := min(rest, max)
		return c.whole.Part(cur.off, cur.off+n), n < rest
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	complete := c.ended && !c.aborted
	i := cur.piece - c.first
	if i >= len(c.pieces) {
		return Slice{}, !complete
	}
	p := c.pieces[i].s
	rest := p.Len() - cur.off
	n := min(rest, max)
	return p.Part(cur.off, cur.off+n), n < rest || i+1 < len(c.pieces) || !complete
}

// Advance moves the cursor over n bytes that Next has shown.
func (c *Content) Advance(cur *Cursor, n int) {
	cur.Read += int64(n)
	if c.isWhole {
		cur.off += n
		return
	}
	cur.off += n
	c.mu.Lock()
	i := cur.piece - c.first
	if i < len(c.pieces) && cur.off >= c.pieces[i].s.Len() {
		cur.piece++
		cur.off = 0
		c.pass(i)
	}
	c.mu.Unlock()
}

// pass records that one reader is done with piece i. It is called with mu held.
func (c *Content) pass(i int) {
	c.pieces[i].left--
	if c.pieces[i].left > 0 {
		return
	}
	n := 0
	for n < len(c.pieces) && c.pieces[n].left == 0 {
		c.bytes -= int64(c.pieces[n].s.Len())
		c.pieces[n].s.Release()
		c.pieces[n] = piece{}
		n++
	}
	if n == len(c.pieces) {
		c.pieces = c.pieces[:0]
	} else {
		c.pieces = c.pieces[n:]
	}
	c.first += n
}

// Detach ends one reader, wherever it is. With keep, bytes that nobody else
// reads stay for a reader that will attach later; this is possible only for a
// reader that has passed nothing.
func (c *Content) Detach(cur *Cursor, keep bool) {
	if c.isWhole {
		if c.readers.Add(-1) == 0 && !keep {
			c.discard = true
			c.whole.Release()
		}
		return
	}
	c.mu.Lock()
	last := c.readers.Add(-1) == 0 && !keep
	for i := max(cur.piece-c.first, 0); i < len(c.pieces); i++ {
		c.pieces[i].left--
	}
	switch {
	case last:
		c.drop()
	case !keep:
		c.sweep()
	}
	c.mu.Unlock()
}

// sweep releases the leading pieces that no reader needs.
func (c *Content) sweep() {
	if len(c.pieces) > 0 && c.pieces[0].left == 0 {
		c.pieces[0].left = 1
		c.pass(0)
	}
}

func (c *Content) drop() {
	c.discard = true
	c.dropTail()
	for _, p := range c.pieces {
		p.s.Release()
	}
	c.first += len(c.pieces)
	clear(c.pieces)
	c.pieces, c.bytes = c.pieces[:0], 0
}

// Discard releases everything when no reader has been attached; bytes that
// are appended later are released at once.
func (c *Content) Discard() {
	if c.isWhole {
		if !c.discard && c.readers.Load() == 0 {
			c.discard = true
			c.whole.Release()
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readers.Load() > 0 || c.discard {
		return
	}
	c.drop()
}

// Reset makes the Content fit for another message. Nobody may hold it.
func (c *Content) Reset() {
	c.dropTail()
	c.whole, c.isWhole = Slice{}, false
	clear(c.pieces)
	c.readers.Store(0)
	c.pieces, c.first, c.size, c.bytes = c.pieces[:0], 0, 0, 0
	c.ended, c.aborted, c.discard = false, false, false
}
