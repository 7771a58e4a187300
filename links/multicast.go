package links

import (
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
)

// tally combines the outcomes of the copies of one delivery into the outcome
// that its sender sees, when all copies have one. The strongest decides:
// rejected, then accepted, modified, released, then what the standard does not
// define. The error of the first rejection and the fields of the first
// modification are passed on. The outcome of a single copy is here while it is
// told and not settled.
type tally struct {
	left  int // copies without an outcome
	open  int // copies that are not settled
	state messaging.DeliveryState
}

func strength(k messaging.StateKind) int {
	switch k {
	case messaging.StateRejected:
		return 5
	case messaging.StateAccepted:
		return 4
	case messaging.StateModified:
		return 3
	case messaging.StateReleased:
		return 2
	case messaging.StateOther:
		return 1
	}
	return 0
}

// told tells whether a copy has an outcome and is not settled.
func (t *tally) told() bool {
	if t.left == 0 && t.open == 0 { // not several copies, or all settled
		return t.state.Kind != messaging.StateNone
	}
	return t.open > t.left
}

// resolveOne adds the outcome of one copy, unless told says that it is there, and
// reports the combined outcome with the last: settled if all copies are.
func (d *Delivery) resolveOne(by *transport.Conn, settled, told bool, state messaging.DeliveryState) {
	d.mu.Lock()
	t := &d.tally
	if !told {
		if t.left--; strength(state.Kind) > strength(t.state.Kind) {
			t.state = state.Clone()
		}
	}
	if settled {
		t.open--
	}
	final, all, news := t.state, t.left == 0, !told || t.open == 0
	settled = t.open == 0
	d.mu.Unlock()
	if all && news {
		d.Resolve(by, settled, final)
	}
}
