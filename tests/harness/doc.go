// Package harness runs the real binary for tests: it builds sluice once, starts
// it with a configuration, waits until it is ready, samples its memory,
// descriptors and goroutines, and stops it.
package harness
