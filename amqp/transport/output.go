package transport

import (
	"sluice/amqp/frames"
	"sluice/buffers"
)

// An Output collects the frames of one write: small ones copied together, large
// payloads by reference. It holds what it refers to until it is reset, which
// must not happen before the kernel has taken the bytes.
type Output struct {
	vec   [][]byte       // finished entries
	cur   *buffers.Chunk // the small frames of the last entry
	start int            // of the unfinished entry in cur
	used  int            // bytes of cur taken
	held  []buffers.Slice
	old   []*buffers.Chunk
	size  int

	receipts []receipt
}

// A receipt says whose payload bytes an Output carries.
type receipt struct {
	to    Outgoing
	bytes int64
}

// Len is the number of bytes collected.
func (o *Output) Len() int { return o.size }

// Full tells whether another frame should wait for the next write.
func (o *Output) Full() bool { return o.size >= outputTarget || len(o.vec) >= maxVector }

// small returns the output buffer with room for n more bytes; the caller
// appends to it and hands the result to commit.
func (o *Output) small(n int) []byte {
	if o.cur == nil || len(o.cur.Bytes())-o.used < n {
		o.next(n)
	}
	return o.cur.Bytes()[o.used:o.used]
}

func (o *Output) next(n int) {
	o.seal()
	if o.cur != nil {
		o.old = append(o.old, o.cur)
	}
	size := 4 << 10
	if o.size > 0 {
		size = 64 << 10
	}
	o.cur = buffers.GetChunk(max(size, n))
	o.start, o.used = 0, 0
}

func (o *Output) commit(b []byte) {
	o.used += len(b)
	o.size += len(b)
}

// seal finishes the entry of small frames that is being filled.
func (o *Output) seal() {
	if o.cur != nil && o.used > o.start {
		o.vec = append(o.vec, o.cur.Bytes()[o.start:o.used])
		o.start = o.used
	}
}

// Bytes copies b into the output.
func (o *Output) Bytes(b []byte) {
	for len(b) > 0 {
		dst := o.small(1)
		n := min(len(b), cap(dst))
		o.commit(append(dst, b[:n]...))
		b = b[n:]
	}
}

// Transfer adds a transfer frame whose payload is prefix followed by parts.
// It borrows parts and retains what it does not copy.
func (o *Output) Transfer(channel uint16, t *frames.Transfer, prefix []byte, parts ...buffers.Slice) {
	n := len(prefix)
	for _, p := range parts {
		n += p.Len()
	}
	room := frames.TransferOverhead(t) + len(prefix)
	if n < copyBelow {
		room += n
	}
	b := o.small(room)
	b = frames.AppendTransferFrame(b, channel, t, n)
	b = append(b, prefix...)
	if n < copyBelow {
		for _, p := range parts {
			b = append(b, p.Bytes()...)
		}
		o.commit(b)
		return
	}
	o.commit(b)
	o.seal()
	for _, p := range parts {
		if p.Len() == 0 {
			continue
		}
		p.Retain(1)
		o.held = append(o.held, p)
		o.vec = append(o.vec, p.Bytes())
		o.size += p.Len()
	}
}

// charge records that bytes of payload belong to a link.
func (o *Output) charge(to Outgoing, bytes int64) {
	if n := len(o.receipts); n > 0 && o.receipts[n-1].to == to {
		o.receipts[n-1].bytes += bytes
		return
	}
	o.receipts = append(o.receipts, receipt{to, bytes})
}

// Vector finishes the output and returns its entries. They are valid until
// Reset, and the caller may advance them as bytes are written.
func (o *Output) Vector() [][]byte {
	o.seal()
	return o.vec
}

// Reset forgets everything, releases what was held and, unless dropped, tells
// the links that their bytes have left for the socket.
func (o *Output) Reset() {
	for i := range o.held {
		o.held[i].Release()
	}
	clear(o.held)
	for i := range o.old {
		o.old[i].Release(1)
	}
	clear(o.old)
	clear(o.vec)
	o.held, o.old, o.vec = o.held[:0], o.old[:0], o.vec[:0]
	if o.cur != nil {
		o.cur.Release(1)
		o.cur = nil
	}
	o.start, o.used, o.size = 0, 0, 0
	for i := range o.receipts {
		o.receipts[i].to.Written(o.receipts[i].bytes)
	}
	clear(o.receipts)
	o.receipts = o.receipts[:0]
}
