package edge

import "time"

// A Status is what management, metrics and readiness show of an edge router. It
// does not change.
type Status struct {
	// Active is the connection of the uplink that is used, Interior the id of the
	// router there; 0 and empty for none. Usable tells whether its links are there.
	Active   uint64
	Interior string
	Since    time.Time
	Usable   bool
	Idle     int // uplinks that are open and not used
	// Proxies: receivers, senders, and senders that lead to a destination.
	In, Out, Tracked int
}

// Status returns the state as of the last change.
func (a *Agent) Status() *Status { return a.status.Load() }

func (a *Agent) report() {
	s := &Status{Idle: a.engine.Idle()}
	s.Active, s.Since, s.Usable = a.engine.Active()
	if u := a.uplinks[s.Active]; u != nil {
		s.Interior = u.Conn.Remote().ContainerID
	}
	s.In, s.Out, s.Tracked = a.engine.Counts()
	a.status.Store(s)
}
