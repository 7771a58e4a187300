package mesh

import (
	"fmt"
	"testing"

	"sluice/amqp/messaging"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// What a receiver had and did not settle when it leaves is reported as modified
// with delivery-failed, whatever way it leaves; what it was not sent goes to
// another receiver, wherever that is, or back as released.
func TestBC45_ReceiverLeavesAcrossHops(t *testing.T) {
	m := line(t)
	hops(t, m, func(t *testing.T, at string) {
		for how, leave := range map[string]func(in *inbox, c *raw.Conn){
			"detach": func(in *inbox, c *raw.Conn) { in.Detach() },
			"close":  func(in *inbox, c *raw.Conn) { c.Close() },
			"abort":  func(in *inbox, c *raw.Conn) { c.Abort() },
		} {
			for _, other := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/other=%v", how, other), func(t *testing.T) {
					address := fmt.Sprintf("leave/%s/%s/%v", at, how, other)
					c := dial(t, m.Addr(at), raw.Options{})
					in := newInbox(t, c.MustSession(), address, raw.ReceiverOptions{})
					in.AddCredit(3)
					out := sender(t, session(t, m.Addr("A")), address, raw.SenderOptions{KeepStates: true})
					for i := range 5 {
						must(t, out.Send(raw.Numbered(nil, small, uint64(i)), false))
					}
					for range 3 {
						in.next(t)
					}
					var heir *inbox
					if other {
						heir = newInbox(t, session(t, m.Addr("D")), address, raw.ReceiverOptions{})
						known(t, m, "A", at, "D")
					}
					leave(in, c)
					if other {
						heir.AddCredit(10)
						for i := range 2 {
							if !harness.Eventually(harness.Patience/4, func() bool { return len(heir.came) > 0 }) {
								t.Fatalf("the other receiver gets nothing; the sender has %+v and credit %d", out.Result(), out.Credit())
							}
							a := heir.next(t)
							if n := raw.Number(a.message); n != uint64(3+i) {
								t.Errorf("the other receiver has message %d, want %d", n, 3+i)
							}
							heir.Settle(a.id, messaging.Accepted)
						}
					}
					must(t, out.WaitSettled(5))
					r := out.Result()
					if r.Modified != 3 || other && r.Accepted != 2 || !other && r.Released != 2 || r.Twice != 0 {
						t.Errorf("outcomes %+v", r)
					}
					for _, s := range r.States {
						if s.Kind != messaging.StateModified {
							continue
						}
						if f, err := messaging.ParseModified(s); err != nil || !f.DeliveryFailed || f.UndeliverableHere {
							t.Errorf("modified with %+v, %v", f, err)
						}
					}
				})
			}
		}
	})
}

// A sender that leaves in the middle of a message leaves no half of it; what it
// has sent wholly goes on.
func TestSenderLeavesAcrossHops(t *testing.T) {
	m := line(t)
	hops(t, m, func(t *testing.T, at string) {
		in := newInbox(t, session(t, m.Addr(at)), "q."+at, raw.ReceiverOptions{})
		c := dial(t, m.Addr("A"), raw.Options{})
		out := sender(t, c.MustSession(), "q."+at, raw.SenderOptions{})
		for i := range 3 {
			must(t, out.Send(raw.Numbered(nil, small, uint64(i)), i == 1))
		}
		must(t, out.Begin(append(raw.DataHeader(300_000), make([]byte, 10_000)...)))
		c.Close()
		in.AddCredit(10)
		for i := range 3 {
			a := in.next(t)
			if a.aborted || raw.Number(a.message) != uint64(i) {
				t.Errorf("message %d (aborted=%v) for %d", raw.Number(a.message), a.aborted, i)
			}
			in.Settle(a.id, messaging.Accepted)
		}
		must(t, in.Drain())
		select {
		case a := <-in.came:
			if !a.aborted {
				t.Errorf("half a message of %d bytes looks complete", len(a.message))
			}
		default:
		}
	})
}

// Many senders of large messages at one end of a line, one slow receiver at the
// other: memory is bounded on each router, and another address is at its ease.
func TestBC09_ManyStreamsAcrossHops(t *testing.T) {
	senders := sized(200, 40)
	m := start(t, harness.Line(3))
	const spare = "beside"
	in := dial(t, m.Addr("C"), raw.Options{ReadBuffer: 32 << 10})
	receiver(t, in.MustSession(), "slow", raw.ReceiverOptions{Credit: uint32(senders)})
	in.Pause()
	peaks := sample(t, m)
	var conns []*raw.Conn
	for i := range senders {
		c := dial(t, m.Addr("A"), raw.Options{SendBuffer: 64 << 10})
		conns = append(conns, c)
		out := sender(t, c.MustSession(), "slow", raw.SenderOptions{})
		go out.Stream(64<<20, raw.NewNoise(uint32(i)), false)
	}
	l := &raw.Ledger{}
	ok := receiver(t, session(t, m.Addr("C")), spare, raw.ReceiverOptions{Credit: 100, Frame: l.Frame})
	out := sender(t, session(t, m.Addr("A")), spare, raw.SenderOptions{})
	n := sized(200_000, 20_000)
	for i := range n {
		must(t, out.Send(raw.Numbered(nil, small, uint64(i)), false))
	}
	if !harness.Eventually(harness.Patience/3, func() bool { return ok.Messages() == n }) {
		for _, name := range m.Names() {
			t.Logf("%s: %v", name, m.Router(name).Staged())
		}
		t.Fatalf("%d of %d messages came beside the streams; the sender has %+v", ok.Messages(), n, out.Result())
	}
	peak := peaks()
	// What a session may hold at the first router, and what crosses: streams that
	// are not taken hold a window and an outgoing link on each router.
	const session, rest, fixed = 4 << 20, 1 << 20, 64 << 20
	report(t, "%d streams of 64 MiB to a stopped receiver behind two trunks: peak RSS %v", senders, peak)
	for name, p := range peak {
		if limit := size(2 * (senders*(session+rest) + fixed)); p > limit {
			t.Errorf("peak RSS of %s: %v, the formula allows %v", name, p, limit)
		}
	}
	for _, c := range conns {
		if err := c.Err(); err != nil {
			t.Errorf("a sender was disconnected: %v", err)
		}
		c.Abort()
	}
	in.Abort()
	for _, name := range m.Names() {
		m.Router(name).WaitMetric("sluice_buffer_bytes", "nearly nothing", func(v float64) bool { return v < 4<<20 })
	}
}
