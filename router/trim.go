package router

import (
	"runtime"
	"runtime/debug"
)

// Memory that a burst has needed stays with the process for minutes if nobody
// asks for it: the Go runtime collects an idle heap every two minutes, and
// pools survive two collections.
const (
	trimAbove = 64 << 20 // bytes of buffers that must have become free
	trimAfter = 5        // sweeps in a row that must have found them free
)

// A trimmer decides when memory is given back to the system.
type trimmer struct {
	peak  int64 // most bytes of buffers in use since the last time
	quiet int   // sweeps in a row with much less in use
}

// due takes the bytes of buffers in use now and tells whether it is time.
func (t *trimmer) due(inUse int64) bool {
	t.peak = max(t.peak, inUse)
	if t.peak-inUse < trimAbove || inUse > t.peak/2 {
		t.quiet = 0
		return false
	}
	if t.quiet++; t.quiet < trimAfter {
		return false
	}
	t.peak, t.quiet = inUse, 0
	return true
}

// trim gives free memory back to the system. The first collection empties the
// pools, the second frees what was in them.
func trim() {
	runtime.GC()
	debug.FreeOSMemory()
}
