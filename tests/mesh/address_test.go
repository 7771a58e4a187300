package mesh

import (
	"testing"
	"time"

	"sluice/amqp/messaging"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// distributions are the prefixes of addresses that tests use: each says how its
// messages are distributed.
var distributions = harness.Distribution("closest", "closest") +
	harness.Distribution("balanced", "balanced") + harness.Distribution("multicast", "multicast")

// distributed is a plan with addresses of every distribution.
func distributed(p harness.Plan) harness.Plan {
	p.Entities += distributions
	return p
}

func ringOf(n int) harness.Plan { return distributed(harness.Ring(n)) }

// everywhere waits until a multicast message from any router reaches as many
// receivers as one from any other, and all of them: every router knows of all
// receivers. Receivers must accept, or hand over, what is numbered with a probe
// number; see probe.
func everywhere(t *testing.T, m *harness.Mesh, address string) {
	t.Helper()
	// Credit comes with the first receiver that is known. News of all receivers
	// that exist now are there after news of a later one, since each router tells
	// its addresses in order.
	reachable(t, m, m.Names()...)
	for _, name := range m.Names() {
		out := sender(t, session(t, m.Addr(name)), address, raw.SenderOptions{})
		must(t, out.WaitCredit(1))
		must(t, out.Detach())
	}
}

// accepting is a receiver that accepts all and notes the numbers.
func accepting(t *testing.T, s *raw.Session, address string, credit uint32) (*raw.Receiver, *raw.Ledger) {
	t.Helper()
	l := &raw.Ledger{}
	return receiver(t, s, address, raw.ReceiverOptions{Credit: credit, Frame: l.Frame}), l
}

// quiet waits until nothing arrives for a while.
func quiet(in ...*raw.Receiver) {
	count := func() (n int) {
		for _, r := range in {
			n += r.Messages()
		}
		return n
	}
	for last := -1; last != count(); {
		last = count()
		time.Sleep(100 * time.Millisecond)
	}
}

// accepted notes the numbers that a sender is told to be accepted, when it sends
// numbers from 0 on over a session of its own.
func accepted(l *raw.Ledger) func(int, messaging.DeliveryState) {
	return func(n int, s messaging.DeliveryState) {
		if s.Kind == messaging.StateAccepted {
			l.Note(uint64(n))
		}
	}
}
