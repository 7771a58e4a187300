package edge

import "sluice/router/uplink"

// An Event is news for an Engine. Uplinks are named by their connections.
type Event interface{ event() }

type (
	// Up and Down tell that a connection to an interior router has opened, and
	// that it has ended.
	Up   struct{ Uplink uint64 }
	Down struct{ Uplink uint64 }
	// Usable tells that the links of an uplink that was activated are there.
	Usable struct{ Uplink uint64 }
	// Local tells whether an address has consumers (In) or producers (Out) here.
	Local struct {
		Proxy uplink.Proxy
		Has   bool
	}
	// Tracked tells whether an address has a destination beyond an uplink.
	Tracked struct {
		Uplink uint64
		Key    string
		Has    bool
	}
	// Answered tells that a proxy is attached, and Lost that it has ended or could
	// not be attached. Removed and Busy answer Remove: it is gone, or is still
	// needed.
	Answered struct {
		Uplink uint64
		Proxy  uplink.Proxy
	}
	Lost struct {
		Uplink uint64
		Proxy  uplink.Proxy
	}
	Removed struct {
		Uplink uint64
		Proxy  uplink.Proxy
	}
	Busy struct {
		Uplink uint64
		Proxy  uplink.Proxy
	}
)

func (Up) event()       {}
func (Down) event()     {}
func (Usable) event()   {}
func (Local) event()    {}
func (Tracked) event()  {}
func (Answered) event() {}
func (Lost) event()     {}
func (Removed) event()  {}
func (Busy) event()     {}

// An Action is what an Engine wants done.
type Action interface{ action() }

type (
	// Activate makes an uplink the one that is used.
	Activate struct{ Uplink uint64 }
	// Add and Remove attach and detach a proxy.
	Add struct {
		Uplink uint64
		Proxy  uplink.Proxy
	}
	Remove struct {
		Uplink uint64
		Proxy  uplink.Proxy
	}
	// Join makes the proxy sender of an address a destination; Leave ends that.
	Join struct {
		Uplink uint64
		Key    string
	}
	Leave struct {
		Uplink uint64
		Key    string
	}
	// Release ends the waiting at an address for the next uplink.
	Release struct{ Key string }
	// Beat sends a sign of life.
	Beat struct {
		Uplink uint64
		N      uint32
	}
	// Open says that there is a network beyond, Shut that there is none.
	Open struct{}
	Shut struct{}
)

func (Activate) action() {}
func (Add) action()      {}
func (Remove) action()   {}
func (Join) action()     {}
func (Leave) action()    {}
func (Release) action()  {}
func (Beat) action()     {}
func (Open) action()     {}
func (Shut) action()     {}
