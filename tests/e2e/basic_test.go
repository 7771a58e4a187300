package e2e

import (
	"bytes"
	"testing"
	"testing/synctest"

	. "sluice/amqp/amqptest"
	"sluice/tests/harness/bubble"
)

func TestMessageAndOutcomeCross(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		out.Write(With(Transfer(0, 0), Text("hello")))
		f := in.Want("the message goes to whoever has credit", "transfer handle=0 delivery-id=0 message-format=0 settled=false !more")
		if !bytes.Equal(f.Payload, Text("hello")) {
			t.Errorf("payload % x", f.Payload)
		}
		out.Want("the first message has shown a size, so the credit is that of small ones", "flow link-credit=249")
		out.WantIdle("no outcome before the receiver gives one")
		in.Write(Accept(0))
		out.Want("§2.6.12: the outcome settles the delivery", "disposition role=receiver first=0 settled state=accepted")
		in.WantIdle("it has settled first")
		r.Idle()
	})
}
