package router

import (
	"runtime"
	"runtime/debug"

	"sluice/buffers"
	"sluice/router/control/web"
)

// Memory that a burst has needed stays with the process for minutes if nobody
// asks for it: the Go runtime collects an idle heap every two minutes, and
// pools survive two collections.
const (
	trimAbove = 16 << 20 // bytes that must have become free
	trimAfter = 5        // sweeps in a row that must have found them free
	trimPause = 30       // sweeps after which it is looked at again: who needs the memory again and again keeps it that long
)

// A trimmer decides when memory is given back to the system.
type trimmer struct {
	peak  int64 // most bytes since the last time
	quiet int   // sweeps in a row with much less in use
	pause int   // sweeps for which nothing is done
}

// due takes the bytes in use now, and of all that there are, which is how many were
// in use at a time since they were last collected, and tells whether it is time.
func (t *trimmer) due(inUse, made int64) bool {
	if t.pause > 0 {
		t.pause--
		return false
	}
	t.peak = max(t.peak, made, inUse)
	if t.peak-inUse < trimAbove || inUse > t.peak/2 {
		t.quiet = 0
		return false
	}
	if t.quiet++; t.quiet < trimAfter {
		return false
	}
	*t = trimmer{peak: inUse, pause: trimPause}
	return true
}

// occupied is about what there is in memory now: buffers that are in use, and
// connections, links and addresses.
func (r *Router) occupied() int64 {
	r.manager.mu.Lock()
	links := len(r.manager.known)
	r.manager.mu.Unlock()
	r.mu.Lock()
	connections := len(r.conns)
	r.mu.Unlock()
	return buffers.InUse() + web.Objects(connections, links, r.shared.Table.Len())
}

// trim gives free memory back to the system. The first collection empties the
// pools, the second frees what was in them.
func trim() {
	runtime.GC()
	debug.FreeOSMemory()
}
