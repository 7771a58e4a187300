package main

// sequence checks numbers that should come in order, each once.
type sequence struct {
	next       uint64   // one more than the highest number seen
	seen       []uint64 // a bit for each number
	distinct   uint64
	duplicates uint64
	disorder   uint64 // numbers that came after a higher one
}

// maxSequence is the highest number that is checked: 128 MiB of bits. What is
// beyond is corrupt.
const maxSequence = 1 << 30

func (s *sequence) see(n uint64) {
	if n >= maxSequence {
		s.disorder++
		return
	}
	word, bit := n/64, uint64(1)<<(n%64)
	for uint64(len(s.seen)) <= word {
		s.seen = append(s.seen, 0)
	}
	if s.seen[word]&bit != 0 {
		s.duplicates++
		return
	}
	s.seen[word] |= bit
	s.distinct++
	if n < s.next {
		s.disorder++
	} else {
		s.next = n + 1
	}
}
