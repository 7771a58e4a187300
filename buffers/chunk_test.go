package buffers

import (
	"bytes"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// clean checks that a test leaves no Chunk and no byte behind.
func clean(t *testing.T) {
	t.Helper()
	chunks, size := Outstanding(), InUse()
	t.Cleanup(func() {
		if n := Outstanding(); n != chunks && !t.Failed() {
			t.Errorf("%d chunks are left", n-chunks)
		}
		if n := InUse(); n != size && !t.Failed() {
			t.Errorf("%d bytes are left", n-size)
		}
	})
}

func mustPanic(t *testing.T, why string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		switch r := recover().(type) {
		case nil:
			t.Errorf("%s: no panic", why)
		case string:
			if !strings.HasPrefix(r, "BUG:") {
				t.Errorf("%s: panic says %q", why, r)
			}
		default:
			panic(r)
		}
	}()
	f()
}

func TestChunkSizes(t *testing.T) {
	clean(t)
	for _, test := range []struct{ ask, get int }{
		{0, MinChunk}, {1, MinChunk}, {MinChunk, MinChunk}, {MinChunk + 1, 2 * MinChunk}, {4096, 4096}, {4097, 8192},
		{MaxChunk - 1, MaxChunk}, {MaxChunk, MaxChunk}, {MaxChunk + 1, MaxChunk + 1}, {1 << 20, 1 << 20},
	} {
		before := InUse()
		c := GetChunk(test.ask)
		if c.Size() != test.get || len(c.Bytes()) != test.get {
			t.Errorf("a chunk for %d bytes has %d, want %d", test.ask, c.Size(), test.get)
		}
		if n := InUse() - before; n != int64(test.get) {
			t.Errorf("%d bytes are counted for %d", n, test.get)
		}
		c.Release(1)
	}
}

func TestChunkCounts(t *testing.T) {
	clean(t)
	c := GetChunk(100)
	if !c.Sole() {
		t.Error("a new chunk has one reference")
	}
	c.Retain(2)
	if c.Sole() {
		t.Error("there are three references")
	}
	s := c.Slice(10, 20)
	s.Retain(1)
	s.Release()
	c.Release(2)
	if !c.Sole() {
		t.Error("one reference is left")
	}
	s.Release()
}

// The pools count their chunks; what is larger is in none of them.
func TestClasses(t *testing.T) {
	clean(t)
	held := func() (list []int64) {
		for _, c := range Classes() {
			if c.Made < c.Held {
				t.Errorf("of %d chunks of %d bytes %d are held", c.Made, c.Size, c.Held)
			}
			list = append(list, c.Held)
		}
		return list
	}
	before := held()
	var chunks []*Chunk
	for _, size := range []int{MinChunk, MinChunk + 1, 2 * MinChunk, MaxChunk, MaxChunk + 1} {
		chunks = append(chunks, GetChunk(size))
	}
	for i, n := range held() {
		want := map[int]int64{MinChunk: 1, 2 * MinChunk: 2, MaxChunk: 1}[Classes()[i].Size]
		if n -= before[i]; n != want {
			t.Errorf("%d of %d bytes are held, want %d", n, Classes()[i].Size, want)
		}
	}
	for _, c := range chunks {
		c.Release(1)
	}
}

// A chunk is returned once.
func TestChunkMisusePanics(t *testing.T) {
	c := &Chunk{class: classes, b: make([]byte, 10)} // of nobody's pool
	c.refs.Store(1)
	inUse.Add(10)
	counts[classes].held.Add(1)
	c.Release(1)
	mustPanic(t, "released twice", func() { c.Release(1) })
	d := &Chunk{class: classes, b: make([]byte, 10)}
	d.refs.Store(1)
	mustPanic(t, "released more than retained", func() { d.Release(2) })
}

func TestEmptySlice(t *testing.T) {
	var s Slice
	s.Retain(1)
	s.Release()
	if s.Len() != 0 || s.Bytes() != nil || s.Compact() != s {
		t.Error("the zero Slice is empty and holds nothing")
	}
}

// Nobody can write behind a Slice that shares its Chunk.
func TestSliceHasNoCapacityBeyondItsEnd(t *testing.T) {
	clean(t)
	c := GetChunk(100)
	s := c.Slice(10, 20)
	if b := s.Bytes(); len(b) != 10 || cap(b) != 10 {
		t.Errorf("%d, %d", len(b), cap(b))
	}
	if b := s.Part(2, 5).Bytes(); len(b) != 3 || cap(b) != 3 {
		t.Errorf("%d, %d", len(b), cap(b))
	}
	c.Release(1)
}

// What waits pins no more than CompactRatio times its size, above MinChunk.
func TestCompact(t *testing.T) {
	clean(t)
	for _, size := range []int{1, 255, 300, 5000, 20_000, MaxChunk} {
		for _, chunk := range []int{MinChunk, 8 << 10, MaxChunk} {
			if size > chunk {
				continue
			}
			c := GetChunk(chunk)
			for i := range size {
				c.Bytes()[i] = byte(i)
			}
			want := bytes.Clone(c.Bytes()[:size])
			before := InUse() - int64(chunk)
			s := c.Slice(0, size).Compact()
			if !bytes.Equal(s.Bytes(), want) {
				t.Fatalf("%d of %d: other bytes", size, chunk)
			}
			if pinned := int(InUse() - before); pinned > max(MinChunk, CompactRatio*size) {
				t.Errorf("%d bytes of a chunk of %d pin %d", size, chunk, pinned)
			}
			s.Release()
		}
	}
}

// With the build tag, a released chunk shows it.
func TestPoison(t *testing.T) {
	c := GetChunk(100)
	b := c.Bytes()
	copy(b, "somebody's message")
	c.Release(1)
	if got := bytes.Count(b, []byte{0xdb}) == len(b); got != Poisoned {
		t.Errorf("overwritten: %v, built with the tag: %v", got, Poisoned)
	}
}

func TestBudgetHysteresis(t *testing.T) {
	b := Budget{High: 100, Low: 40}
	if b.Charge(99) || b.Over() {
		t.Error("below the high mark")
	}
	if !b.Charge(1) || !b.Over() || b.IsLow() {
		t.Error("at the high mark")
	}
	if !b.Charge(50) {
		t.Error("a charge that crosses is made in full")
	}
	for _, step := range []struct {
		n       int64
		crossed bool
	}{{100, false}, {9, false}, {1, true}, {1, false}, {39, false}} {
		if got := b.Credit(step.n); got != step.crossed {
			t.Errorf("at %d: crossed %v", b.Used(), got)
		}
	}
	if b.Used() != 0 || !b.IsLow() {
		t.Errorf("%d are left", b.Used())
	}
}

func TestLimit(t *testing.T) {
	clean(t)
	defer SetLimit(0)
	SetLimit(InUse() + 100_000)
	if Tight() || Relieved() {
		t.Fatal("nothing is in use")
	}
	a, b := GetChunk(64<<10), GetChunk(64<<10)
	if !Tight() || Relieved() {
		t.Error("the budget is exceeded")
	}
	b.Release(1)
	if Tight() {
		t.Error("it no longer is")
	}
	if !Relieved() {
		t.Error("and that is told")
	}
	if Relieved() {
		t.Error("once")
	}
	a.Release(1)
}

// Readers of one Content on many goroutines, while it is written.
func TestContentRace(t *testing.T) {
	clean(t)
	for range 20 {
		const readers = 4
		var c Content
		want := make([]byte, 300_000)
		for i := range want {
			want[i] = byte(i * 7)
		}
		c.Attach(readers)
		var wg sync.WaitGroup
		for i := range readers {
			wg.Go(func() {
				var cur Cursor
				var got []byte
				for {
					s, more := c.Next(&cur, 1000+i*3000)
					got = append(got, s.Bytes()...)
					c.Advance(&cur, s.Len())
					if !more {
						break
					}
					if i == 3 && cur.Read > 100_000 {
						c.Detach(&cur, false) // one gives up
						return
					}
				}
				if !bytes.Equal(got, want) {
					t.Errorf("reader %d has %d bytes", i, len(got))
				}
				c.Detach(&cur, false)
			})
		}
		for at := 0; at < len(want); {
			n := min(1+at%9000, len(want)-at)
			ch := GetChunk(n)
			copy(ch.Bytes(), want[at:at+n])
			c.Append(ch.Slice(0, n))
			at += n
		}
		c.End()
		wg.Wait()
		if n := c.Held(); n != 0 {
			t.Errorf("%d bytes are held", n)
		}
		c.Reset()
	}
}

// twin is a Content that keeps everything.
type twin struct {
	b       []byte
	ended   bool
	readers []*reader
}

type reader struct {
	cur  Cursor
	pos  int
	gone bool
}

// Any order of appends, reads and leaves shows every reader the same bytes, and
// holds no more than what the slowest has to come.
func TestContentModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := Outstanding()
		var c Content
		var w twin
		next := byte(0)
		passed := false // a reader has passed something
		discarded := false
		fill := func(n int) Slice {
			ch := GetChunk(n + 10)
			for i := range n {
				ch.Bytes()[5+i] = next
				next++
			}
			w.b = append(w.b, ch.Bytes()[5:5+n]...)
			return ch.Slice(5, 5+n)
		}
		if rapid.Bool().Draw(t, "whole") {
			c.SetWhole(fill(rapid.IntRange(0, 5000).Draw(t, "size")))
			w.ended = true
		}
		live := func() (list []*reader) {
			for _, r := range w.readers {
				if !r.gone {
					list = append(list, r)
				}
			}
			return list
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"append", "append", "attach", "read", "read", "read", "detach", "swap", "end", "compact", "look"}).Draw(t, "op") {
			case "append":
				if !w.ended {
					c.Append(fill(rapid.SampledFrom([]int{0, 1, 100, 2047, 2048, 8192, 20_000}).Draw(t, "n")))
				}
			case "attach":
				if !passed && !discarded {
					n := rapid.IntRange(1, 3).Draw(t, "n")
					c.Attach(int32(n))
					for range n {
						w.readers = append(w.readers, new(reader))
					}
				}
			case "read":
				if l := live(); len(l) > 0 {
					r := rapid.SampledFrom(l).Draw(t, "reader")
					limit := rapid.SampledFrom([]int{1, 10, 1000, 100_000}).Draw(t, "max")
					s, more := c.Next(&r.cur, limit)
					if want := w.b[r.pos:min(len(w.b), r.pos+s.Len())]; !bytes.Equal(s.Bytes(), want) {
						t.Fatalf("at %d: % x, want % x", r.pos, s.Bytes(), want)
					}
					if s.Len() == 0 && r.pos < len(w.b) {
						t.Fatalf("nothing at %d of %d", r.pos, len(w.b))
					}
					if want := r.pos+s.Len() < len(w.b) || !w.ended; more != want {
						t.Fatalf("more is %v at %d of %d, ended %v", more, r.pos+s.Len(), len(w.b), w.ended)
					}
					n := rapid.IntRange(0, s.Len()).Draw(t, "advance")
					c.Advance(&r.cur, n)
					r.pos += n
					passed = passed || n > 0
				}
			case "detach":
				if l := live(); len(l) > 0 {
					r := rapid.SampledFrom(l).Draw(t, "reader")
					c.Detach(&r.cur, false)
					r.gone = true
					if len(live()) == 0 {
						discarded = true
					}
				}
			case "swap": // the only reader leaves, and another takes its place
				if l := live(); len(l) == 1 && l[0].pos == 0 && !passed {
					c.Detach(&l[0].cur, true)
					l[0].gone = true
					c.Attach(1)
					w.readers = append(w.readers, new(reader))
				}
			case "end":
				if !w.ended {
					c.End()
					w.ended = true
				}
			case "compact":
				if len(live()) <= 1 && !passed && !discarded {
					c.Compact()
				}
			case "look":
				if !passed && !discarded {
					if got := c.Prefix(nil, 3000); !bytes.Equal(got, w.b[:min(3000, len(w.b))]) {
						t.Fatalf("prefix of %d bytes", len(got))
					}
				}
			}
			if c.Size() != int64(len(w.b)) || c.Complete() != w.ended {
				t.Fatalf("size %d of %d, complete %v", c.Size(), len(w.b), c.Complete())
			}
			if !c.isWhole && !discarded {
				slowest := len(w.b)
				for _, r := range live() {
					slowest = min(slowest, r.pos)
				}
				if len(live()) == 0 {
					slowest = 0
				}
				if need := int64(len(w.b) - slowest); c.Held() < need {
					t.Fatalf("%d bytes are held, %d are to come", c.Held(), need)
				} else if len(live()) > 0 && c.Held() > need+tailSize+20_000 {
					t.Fatalf("%d bytes are held, only %d are to come", c.Held(), need)
				}
			}
		}
		for _, r := range live() {
			c.Detach(&r.cur, false)
		}
		c.Discard()
		c.Discard() // harmless
		if !w.ended {
			c.Append(fill(100)) // to nobody
			c.Abort()
		}
		c.Reset()
		if n := Outstanding() - before; n != 0 {
			t.Fatalf("%d chunks are left", n)
		}
	})
}

// The object can be used again after a Reset.
func TestContentReset(t *testing.T) {
	clean(t)
	var c Content
	for i := range 3 {
		ch := GetChunk(3000)
		c.Append(ch.Slice(0, 3000))
		c.Attach(1)
		var cur Cursor
		s, more := c.Next(&cur, 10_000)
		if s.Len() != 3000 || !more || c.Aborted() {
			t.Fatalf("use %d: %d, %v, %v", i, s.Len(), more, c.Aborted())
		}
		c.Abort()
		if !c.Aborted() || !c.Complete() {
			t.Fatal("aborted is complete, so that nobody waits for more")
		}
		c.Detach(&cur, false)
		c.Reset()
	}
}

// What nobody refers to is counted until the collector has taken it.
func TestPooledBytes(t *testing.T) {
	collect := func() {
		for range 5 { // a pool keeps what it has for one more, and cleanups run afterwards
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	}
	collect()
	base := Pooled()
	var all []*Chunk
	for range 16 {
		all = append(all, GetChunk(MaxChunk), GetChunk(2*MaxChunk))
	}
	for _, c := range all {
		c.Release(1)
	}
	if n := Pooled() - base; n < 8*3*MaxChunk {
		t.Errorf("%d bytes are counted", n)
	}
	all = nil
	for end := time.Now().Add(time.Minute); Pooled() > base; collect() {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are counted for ever", Pooled()-base)
		}
	}
}

// The last bytes of an aborted message are not the end of a message, also for a
// reader that has asked before whether it was aborted.
func TestAbortedContentHasNoLastByte(t *testing.T) {
	var c Content
	var cur Cursor
	c.Attach(1)
	chunk := GetChunk(4096)
	c.Append(chunk.Slice(0, 4096))
	c.Abort()
	s, more := c.Next(&cur, 1<<20)
	if s.Len() != 4096 || !more {
		t.Errorf("%d bytes, more %v", s.Len(), more)
	}
	c.Advance(&cur, s.Len())
	if s, more := c.Next(&cur, 1<<20); s.Len() != 0 || !more {
		t.Errorf("behind them %d bytes, more %v", s.Len(), more)
	}
	c.Detach(&cur, false)
}
