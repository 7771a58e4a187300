package raw

import (
	"hash/crc32"
	"sync"
)

// Ledger notes the numbers of messages that arrive, and how often each did.
type Ledger struct {
	mu   sync.Mutex
	seen map[uint64]int
	sum  uint32
	body int64
}

// Frame is for ReceiverOptions.Frame: it notes a message, and the checksum of
// the bodies of all messages, which have nothing before them.
func (l *Ledger) Frame(f *Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.Aborted {
		return
	}
	p := f.Payload
	if f.First && len(p) > dataHeader(p) {
		p = p[dataHeader(p):]
	}
	l.sum = crc32.Update(l.sum, castagnoli, p)
	l.body += int64(len(p))
	if f.Last {
		if l.seen == nil {
			l.seen = map[uint64]int{}
		}
		l.seen[Number(f.Payload)]++
	}
}

// dataHeader is the length of what comes before the bytes of a data section.
func dataHeader(p []byte) int {
	if len(p) > 3 && p[3] == 0xa0 {
		return 5
	}
	return 8
}

// Sum is the checksum and the length of all bodies.
func (l *Ledger) Sum() (sum uint32, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum, l.body
}

// Note notes a number.
func (l *Ledger) Note(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[uint64]int{}
	}
	l.seen[n]++
}

// Count is how often a number was noted.
func (l *Ledger) Count(n uint64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[n]
}

// Len is how many different numbers were noted, and how many times more than
// once.
func (l *Ledger) Len() (different, again int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.seen {
		again += n - 1
	}
	return len(l.seen), again
}

// Missing are the numbers of l that no other ledger has.
func (l *Ledger) Missing(from ...*Ledger) (missing []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range l.seen {
		found := false
		for _, o := range from {
			found = found || o.Count(n) > 0
		}
		if !found {
			missing = append(missing, n)
		}
	}
	return missing
}
