package web

import (
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
)

// What a connection with a session, a link and an address take on the Go heap, in
// bytes, without messages: as measured with thousands of idle ones, which
// tests/pressure repeats. Goroutine stacks are counted by themselves.
const (
	connectionBytes = 5632
	linkBytes       = 1280
	addressBytes    = 2048
)

// Objects is about what connections, links and addresses take on the Go heap.
func Objects(connections, links, addresses int) int64 {
	return int64(connections)*connectionBytes + int64(links)*linkBytes + int64(addresses)*addressBytes
}

// A MemoryPart is one of those that the resident memory of the process is made of.
type MemoryPart struct {
	Name  string // as the metric sluice_memory_bytes has it
	Bytes int64
}

// samples are what the runtime is asked for, in the order of the fields of heap.
var samples = []string{
	"/memory/classes/heap/objects:bytes",
	"/memory/classes/heap/unused:bytes",
	"/memory/classes/heap/free:bytes",
	"/memory/classes/heap/stacks:bytes",
	"/memory/classes/os-stacks:bytes",
	"/memory/classes/metadata/mspan/inuse:bytes",
	"/memory/classes/metadata/mspan/free:bytes",
	"/memory/classes/metadata/mcache/inuse:bytes",
	"/memory/classes/metadata/mcache/free:bytes",
	"/memory/classes/metadata/other:bytes",
	"/memory/classes/other:bytes",
	"/memory/classes/profiling/buckets:bytes",
}

// Memory takes the resident memory apart, as far as s has measured what it is for.
func (s *Snapshot) Memory() []MemoryPart {
	return memory(s.ChunkBytes, s.PooledBytes, s.Connections, s.Links, s.Addresses)
}

// Resident is the resident memory of the process in bytes; 0 where the system does
// not tell.
func Resident() int64 {
	anonymous, mapped, _ := resident()
	return anonymous + mapped
}

// memory takes the resident memory apart. Objects of the heap are buffers in use
// and in pools, what connections, links and addresses take, and the rest with what
// has not been collected. What the runtime has for itself is mapped long before it is
// used: of that as much counts as is resident.
func memory(buffers, pooled int64, connections, links, addresses int) []MemoryPart {
	read := make([]metrics.Sample, len(samples))
	for i, name := range samples {
		read[i].Name = name
	}
	metrics.Read(read)
	n := make([]int64, len(samples))
	for i := range read {
		if read[i].Value.Kind() == metrics.KindUint64 {
			n[i] = int64(read[i].Value.Uint64())
		}
	}
	left := n[0]
	take := func(want int64) int64 {
		got := max(min(want, left), 0)
		left -= got
		return got
	}
	parts := []MemoryPart{
		{"buffers", take(buffers)},
		{"pools", take(pooled)},
		{"connections", take(int64(connections) * connectionBytes)},
		{"links", take(int64(links) * linkBytes)},
		{"addresses", take(int64(addresses) * addressBytes)},
		{"objects", left},
		{"heap_unused", n[1]},
		{"heap_free", n[2]},
		{"stacks", n[3] + n[4]},
	}
	own := n[5] + n[6] + n[7] + n[8] + n[9] + n[10] + n[11]
	anonymous, mapped, ok := resident()
	if ok {
		known := int64(0)
		for _, p := range parts {
			known += p.Bytes
		}
		own = max(min(own, anonymous-known), 0)
	}
	return append(parts, MemoryPart{"runtime", own}, MemoryPart{"binary", mapped})
}

// resident is the resident memory of the process: that which is its own, and that
// which is mapped from files, which is the binary. It is false where the system
// does not tell.
func resident() (anonymous, mapped int64, ok bool) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, false
	}
	f := strings.Fields(string(text))
	if len(f) < 3 {
		return 0, 0, false
	}
	all, err1 := strconv.ParseInt(f[1], 10, 64)
	shared, err2 := strconv.ParseInt(f[2], 10, 64)
	page := int64(os.Getpagesize())
	return (all - shared) * page, shared * page, err1 == nil && err2 == nil
}
