package e2e

import (
	"strings"
	"testing"
	"testing/synctest"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/router/uplink"
	"sluice/tests/harness/bubble"
)

// A message that a router has given an address in another phase is not for those
// who receive from the same name in the default phase: it comes from a waypoint,
// or has found nobody there.
func TestPhaseOfTransit(t *testing.T) {
	for _, c := range []struct {
		name  string
		phase any
		want  string // the outcome
	}{
		{"none", nil, "state=accepted"},
		{"0", int32(0), "state=accepted"},
		{"0, as a long", int64(0), "state=accepted"},
		{"behind a waypoint", int32(1), "state=released"},
		{"fallback", int32(22), "state=released"},
		{"of no address", int32(12), "state=released"},
		{"too high", int32(23), "state=rejected"},
		{"negative", int32(-1), "state=rejected"},
		{"no int", "1", "state=rejected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				in := r.Receiver("in", "q", 10)
				p := r.DialEdge()
				p.Handshake(Open("E"))
				p.BeginSession(0, Begin())
				up := uplink.AttachOf(amqp.RoleSender, "", "")
				p.Attach(up)
				p.Until("", "flow handle=0")
				to := encoding.MapEntry{Key: amqp.Symbol("x-opt-qd.to"), Value: "q"}
				m := &messaging.Message{MessageAnnotations: encoding.Map{to}, Body: "x"}
				if c.phase != nil {
					m.MessageAnnotations = encoding.Map{{Key: amqp.Symbol("x-opt-qd.phase"), Value: c.phase}, to}
				}
				p.Write(With(Transfer(0, 0), encoded(t, m)))
				if c.want == "state=accepted" {
					in.Until("", "transfer delivery-id=0")
					in.Write(Accept(0))
				}
				if f := p.Until("", "disposition first=0 settled"); !strings.Contains(f.Text, c.want) {
					t.Errorf("got %s", f.Text)
				}
				in.WantIdle("nothing else")
			})
		})
	}
}
