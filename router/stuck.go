package router

import "sync/atomic"

// stuck is how much is stuck, as of the last look.
type stuck struct{ links, deliveries atomic.Int64 }
