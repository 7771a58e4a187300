//go:build poison

package buffers

// Poisoned tells whether returned Chunks are overwritten.
const Poisoned = true

func poison(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}
