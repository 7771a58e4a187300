package e2e

import (
	"testing"
	"testing/synctest"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/tests/harness/bubble"
)

// A fallback receiver and the links of a waypoint are refused: as ordinary ones
// they would take what is for others. Other capabilities do no harm.
func TestTerminiOfOtherKinds(t *testing.T) {
	for capability, refused := range map[amqp.Symbol]bool{"qd.fallback": true, "qd.waypoint": true, "qd.waypoint.2": true, "queue": false, "shared": false} {
		t.Run(string(capability), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				p := r.Connect("c")
				in := Receiving("in", 0, "q")
				in.Source.Capabilities = []amqp.Symbol{"a", capability}
				out := Sending("out", 1, "q")
				out.Target.Target.Capabilities = []amqp.Symbol{capability}
				p.Write(in)
				p.Until("", "attach name=\"in\" role=sender")
				if refused {
					p.Until("as a receiver", "detach closed ~amqp:not-implemented")
				}
				p.Write(out)
				p.Until("", "attach name=\"out\" role=receiver")
				if refused {
					p.Until("as a sender", "detach closed ~amqp:not-implemented")
				} else {
					p.Write(Flow(0, 0, 1))
					p.Until("as a sender", "flow link-credit=1")
				}
			})
		})
	}
}
