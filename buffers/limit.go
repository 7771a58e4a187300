package buffers

import "sync/atomic"

var (
	limit atomic.Int64
	tight atomic.Bool
)

// SetLimit sets the process-wide budget for buffers, in bytes; 0 for none. It
// is the last of all bounds: nothing is refused because of it, but while it is
// exceeded nobody is asked to send more.
func SetLimit(n int64) { limit.Store(n) }

// Limit is the process-wide budget in bytes; 0 for none.
func Limit() int64 { return limit.Load() }

// Tight tells whether the budget is exceeded. Whoever finds it so and holds
// something back is told by its owner when Relieved reports true.
func Tight() bool {
	n := limit.Load()
	if n == 0 || inUse.Load() < n {
		return false
	}
	tight.Store(true)
	return true
}

// Relieved tells, once, that the budget was exceeded and no longer is: three
// quarters of it or less are in use.
func Relieved() bool {
	return tight.Load() && inUse.Load() <= limit.Load()/4*3 && tight.CompareAndSwap(true, false)
}
