package raw

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Noise is an endless reader of bytes that follow from a seed, and the checksum
// of what was read.
type Noise struct {
	block []byte
	at    int
	sum   uint32
}

// NewNoise returns the bytes of a seed.
func NewNoise(seed uint32) *Noise {
	n := &Noise{block: make([]byte, 1<<16-1)} // no multiple of any frame
	x := seed*2654435761 + 1
	for i := range n.block {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		n.block[i] = byte(x)
	}
	return n
}

// Read never fails.
func (n *Noise) Read(b []byte) (int, error) {
	for k := 0; k < len(b); {
		c := copy(b[k:], n.block[n.at:])
		k += c
		if n.at += c; n.at == len(n.block) {
			n.at = 0
			n.block[0]++ // so that blocks differ
		}
	}
	n.sum = crc32.Update(n.sum, castagnoli, b)
	return len(b), nil
}

// Sum is the checksum of all that was read.
func (n *Noise) Sum() uint32 { return n.sum }
