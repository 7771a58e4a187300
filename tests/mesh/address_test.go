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

// everywhere waits until every router knows of all receivers of a multicast
// address, those behind uplinks too: edge routers ask for an address when they
// have a sender to it, so each router keeps one that sends nothing.
func everywhere(t *testing.T, m *harness.Mesh, address string) {
	t.Helper()
	for _, name := range m.Names() {
		out := sender(t, session(t, m.Addr(name)), address, raw.SenderOptions{})
		must(t, out.WaitCredit(1))
		m.WaitTracked(name)
	}
	known(t, m, m.Names()...)
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
