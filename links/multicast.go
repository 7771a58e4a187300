package links

import (
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
)

// tally combines the outcomes of the copies of one delivery into the outcome
// that its sender sees, when all copies have one. The strongest decides:
// rejected, then accepted, modified, released. The error of the first rejection
// and the fields of the first modification are passed on.
type tally struct {
	left  int
	kind  messaging.StateKind
	state messaging.DeliveryState
}

func strength(k messaging.StateKind) int {
	switch k {
	case messaging.StateRejected:
		return 4
	case messaging.StateAccepted:
		return 3
	case messaging.StateModified:
		return 2
	case messaging.StateReleased:
		return 1
	}
	return 0
}

// resolveOne adds the outcome of one copy and reports the combined outcome with
// the last.
func (d *Delivery) resolveOne(by *transport.Conn, state messaging.DeliveryState) {
	d.mu.Lock()
	t := &d.tally
	if t.left--; strength(state.Kind) > strength(t.kind) {
		t.kind, t.state = state.Kind, state.Clone()
	}
	final, last := t.state, t.left == 0
	d.mu.Unlock()
	if last {
		d.Resolve(by, true, final)
	}
}
