package mesh

import (
	"fmt"
	"testing"

	"sluice/amqp/messaging"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// A ring of four with an edge router at two sides: each multicast message
// reaches each receiver once, wherever both are.
func TestBC87_RingWithEdges(t *testing.T) {
	m := start(t, distributed(harness.RingWithEdges()))
	once(t, m, sized(20_000, 1000))
}

// A service at one edge router answers clients at all others at their dynamic
// addresses, through a sender to each and through one to all.
func TestReplies_AtDynamicAddresses(t *testing.T) {
	m := start(t, harness.RingWithEdges())
	service := session(t, m.Addr("E2"))
	requests := newInbox(t, service, "service", raw.ReceiverOptions{Credit: 100})
	replies := sender(t, session(t, m.Addr("E2")), "", raw.SenderOptions{})
	// The news of the service may reach A by D before it reaches B, by which A sends.
	known(t, m, m.Names()...)
	done := 0
	for _, at := range m.Names() {
		for i := range 5 {
			client := session(t, m.Addr(at))
			in := newInbox(t, client, "", raw.ReceiverOptions{Dynamic: true, Credit: 10})
			out := sender(t, client, "service", raw.SenderOptions{})
			must(t, out.WaitCredit(1))
			request := &messaging.Message{Properties: &messaging.Properties{ReplyTo: in.Address(), CorrelationID: uint64(i)}}
			must(t, out.Send(raw.Numbered(request, small, uint64(i)), false))
			a := requests.next(t)
			requests.Settle(a.id, messaging.Accepted)
			asked, err := messaging.DecodeMessage(a.message)
			must(t, err)
			to := asked.Properties.ReplyTo
			named := sender(t, service, to, raw.SenderOptions{})
			if err := named.WaitCredit(1); err != nil {
				t.Fatalf("no credit for replies to %s: %v", to, err)
			}
			must(t, named.Send(raw.Numbered(nil, small, uint64(i)), false))
			must(t, replies.Send(raw.Numbered(raw.To(to), small, uint64(i)), false))
			done++
			for range 2 {
				a := in.next(t)
				if raw.Number(a.message) != uint64(i) {
					t.Errorf("at %s comes %d for %d", at, raw.Number(a.message), i)
				}
				in.Settle(a.id, messaging.Accepted)
			}
			must(t, named.WaitSettled(1))
			must(t, replies.WaitSettled(done))
			must(t, named.Detach())
		}
	}
	if r := replies.Result(); r.Accepted != done {
		t.Errorf("outcomes of %d replies: %+v", done, r)
	}
}

// A message of an anonymous sender to an address that nobody has is released,
// wherever the sender is, small and large; one that somebody has arrives with the
// same bytes.
func TestBC59_AnonymousToSomebodyAndNobody(t *testing.T) {
	m := start(t, harness.RingWithEdges())
	for _, from := range []string{"A", "E1"} {
		for _, to := range []string{"A", "C", "E2"} {
			t.Run(from+" to "+to, func(t *testing.T) {
				address := fmt.Sprintf("somebody/%s/%s", from, to)
				l := &raw.Ledger{}
				in := receiver(t, session(t, m.Addr(to)), address, raw.ReceiverOptions{Credit: 10, Frame: l.Frame})
				known(t, m, from, to)
				out := sender(t, session(t, m.Addr(from)), "", raw.SenderOptions{})
				sizes := []int{10, 1000, 200_000, sized(50<<20, 5<<20)}
				for i, size := range sizes {
					must(t, out.Send(raw.Numbered(raw.To(address), size, uint64(i)), false))
					must(t, out.Send(raw.Numbered(raw.To("nobody/at/all"), size, uint64(i)), false))
				}
				must(t, out.WaitSettled(2*len(sizes)))
				must(t, in.WaitMessages(len(sizes)))
				if r := out.Result(); r.Accepted != len(sizes) || r.Released != len(sizes) {
					t.Errorf("outcomes %+v", r)
				}
				for i := range sizes {
					if l.Count(uint64(i)) != 1 {
						t.Errorf("message %d came %d times", i, l.Count(uint64(i)))
					}
				}
			})
		}
	}
}
