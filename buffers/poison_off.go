//go:build !poison

package buffers

// Poisoned tells whether returned Chunks are overwritten.
const Poisoned = false

func poison([]byte) {}
