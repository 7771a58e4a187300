package e2e

import (
	"testing"
	"testing/synctest"

	. "sluice/amqp/amqptest"
	"sluice/amqp/messaging"
	"sluice/links"
	"sluice/tests/harness/bubble"
)

// A router of the first implementation takes the outcome of a message of which it
// has not sent all, and forgets the settlement: it gets that behind the end.
func TestSettleLate(t *testing.T) {
	for name, end := range map[string]any{"sent": With(Next(0), []byte("end")), "aborted": Abort(0)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{Limits: links.Limits{SettleLate: true}})
				in := r.Receiver("in", "q", 10)
				out := r.Sender("out", "q")
				out.Write(With(More(Transfer(0, 0)), Message(make([]byte, 1000))[:500]))
				in.Until("", "transfer delivery-id=0 more")
				in.Write(Settle(0, messaging.Modified(true, true, nil)))
				out.Until("the outcome, at once", "disposition first=0 !settled state=modified[true true]")
				out.Write(With(More(Next(0)), make([]byte, 100)))
				out.WantIdle("there is more to come")
				out.Write(end)
				if name == "sent" {
					out.Until("the settlement", "disposition first=0 settled state=modified[true true]")
				}
				out.Write(With(Transfer(0, 1), Text("whole")))
				in.Until("", "transfer delivery-id=1")
				in.Write(Accept(1))
				out.Until("a message that is there is settled at once", "disposition first=1 settled state=accepted")
				r.Idle()
			})
		})
	}
}

// The peer may settle first, or leave, before the message ends.
func TestSettleLate_SenderIsFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Limits: links.Limits{SettleLate: true}})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		out.Write(With(More(Transfer(0, 0)), Message(make([]byte, 1000))[:500]))
		in.Until("", "transfer delivery-id=0")
		in.Write(Settle(0, messaging.Released))
		out.Until("", "disposition first=0 !settled state=released")
		settled := Next(0)
		settled.Settled, settled.HasSettled = true, true
		out.Write(With(settled, []byte("end")))
		out.Write(With(More(Transfer(0, 1)), Message(make([]byte, 1000))[:500]))
		in.Until("", "transfer delivery-id=1")
		in.Write(Settle(1, messaging.Released))
		out.Until("nothing more about the first", "disposition first=1 !settled state=released")
		out.Drop()
		r.Idle()
	})
}
