package edge

import "time"

const (
	// heartbeatInterval is how often an edge router says that it is there; an
	// interior router waits for four times that.
	heartbeatInterval = 2 * time.Second

	// bridgeTime is how long messages wait for a new uplink to tell about their
	// address: longer than it takes to attach many proxies, shorter than their
	// senders' patience.
	bridgeTime = 5 * time.Second

	// batch is how many addresses are looked at in one go, so that no connection
	// is locked for long, and unanswered how many proxies may be on their way:
	// what a peer has not answered costs memory on both sides.
	batch      = 256
	unanswered = 1024

	// A proxy that is still needed is looked at again after busyTime, later after
	// twice that and so on; one that was refused or lost after lostTime, likewise.
	busyTime = 20 * time.Millisecond
	busyMost = time.Second
	lostTime = time.Second
	lostMost = time.Minute
)
