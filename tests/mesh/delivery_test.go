package mesh

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// An aborted delivery never looks complete, and the next one on the link is whole
// (§2.6.14). Large beginnings have been forwarded when the abort comes.
func TestBC27_AbortsAcrossHops(t *testing.T) {
	m := line(t)
	hops(t, m, func(t *testing.T, at string) {
		in := newInbox(t, session(t, m.Addr(at)), "q."+at, raw.ReceiverOptions{Credit: 10})
		out := sender(t, session(t, m.Addr("A")), "q."+at, raw.SenderOptions{})
		for _, size := range []int{10, 1000, 15_000} {
			must(t, out.Begin(append(raw.DataHeader(100_000), make([]byte, size)...)))
			must(t, out.SendAbort())
			want := raw.Numbered(nil, 50_000, uint64(size))
			must(t, out.Send(want, false))
			a := in.next(t)
			if a.aborted {
				a = in.next(t)
			}
			if a.aborted || !bytes.Equal(a.message, want) {
				t.Fatalf("after an abort at %d bytes: %d bytes, aborted=%v", size, len(a.message), a.aborted)
			}
			in.Settle(a.id, messaging.Accepted)
		}
		must(t, out.WaitSettled(3))
		in.none(t)
	})
}

// A drain is answered with what is there (§2.6.7), whatever the distance.
func TestDrainAcrossHops(t *testing.T) {
	m := line(t)
	hops(t, m, func(t *testing.T, at string) {
		in := newInbox(t, session(t, m.Addr(at)), "q."+at, raw.ReceiverOptions{})
		in.AddCredit(5)
		must(t, in.Drain())
		in.none(t)
		out := sender(t, session(t, m.Addr("A")), "q."+at, raw.SenderOptions{})
		for i := range 3 {
			must(t, out.Send(raw.Numbered(nil, small, uint64(i)), false))
		}
		in.AddCredit(10)
		for i := range 3 {
			a := in.next(t)
			if raw.Number(a.message) != uint64(i) {
				t.Errorf("message %d comes as number %d", raw.Number(a.message), i)
			}
			in.Settle(a.id, messaging.Accepted)
		}
		must(t, in.Drain())
		in.none(t)
		must(t, out.WaitSettled(3))
	})
}

// A message whose ttl runs out while it waits is reported to its sender and does
// not arrive (§3.2.1); one that arrives says what is left.
func TestTTLAcrossHops(t *testing.T) {
	m := line(t)
	hops(t, m, func(t *testing.T, at string) {
		in := newInbox(t, session(t, m.Addr(at)), "q."+at, raw.ReceiverOptions{})
		out := sender(t, session(t, m.Addr("A")), "q."+at, raw.SenderOptions{KeepStates: true})
		ttl := func(ms uint32) *messaging.Message {
			return &messaging.Message{Header: &messaging.Header{TTL: ms, HasTTL: true}}
		}
		begin := time.Now()
		must(t, out.Send(raw.Numbered(ttl(50), small, 1), false))
		must(t, out.WaitSettled(1))
		if d := time.Since(begin); d < 50*time.Millisecond || d > 5*time.Second {
			t.Errorf("given up after %v", d)
		}
		if s := out.Result().States; len(s) != 1 || s[0].Kind != messaging.StateModified {
			t.Errorf("outcomes %v", s)
		}
		must(t, out.Send(raw.Numbered(ttl(60_000), small, 2), false))
		in.AddCredit(10)
		a := in.next(t)
		d, err := messaging.DecodeMessage(a.message)
		must(t, err)
		if raw.Number(a.message) != 2 || d.Header == nil || !d.Header.HasTTL || d.Header.TTL > 60_000 || d.Header.TTL < 30_000 {
			t.Errorf("message %d with header %+v", raw.Number(a.message), d.Header)
		}
		in.Settle(a.id, messaging.Accepted)
		must(t, out.WaitSettled(2))
		in.none(t)
	})
}

// A sender that settles first (§2.7.6) has its credit back; the message arrives
// all the same.
func TestBC19_EarlySettlementAcrossHops(t *testing.T) {
	m := line(t)
	hops(t, m, func(t *testing.T, at string) {
		const n = 200
		in := newInbox(t, session(t, m.Addr(at)), "q."+at, raw.ReceiverOptions{Credit: 1000})
		out := sender(t, session(t, m.Addr("A")), "q."+at, raw.SenderOptions{})
		for round := range 3 {
			for i := range n {
				must(t, out.Send(raw.Numbered(nil, small, uint64(round*n+i)), false))
			}
			for range n {
				in.next(t)
			}
			out.SettleAll()
			must(t, out.WaitCredit(n))
		}
		in.none(t)
	})
}

// A receiver of rcv-settle-mode second settles when the sender has (§2.6.12).
func TestSettleModeSecondAcrossHops(t *testing.T) {
	m := line(t)
	hops(t, m, func(t *testing.T, at string) {
		ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
		defer cancel()
		open := func(addr string) *goamqp.Session {
			c, err := goamqp.Dial(ctx, "amqp://"+addr, nil)
			must(t, err)
			t.Cleanup(func() { c.Close() })
			s, err := c.NewSession(ctx, nil)
			must(t, err)
			return s
		}
		in, err := open(m.Addr(at)).NewReceiver(ctx, "q."+at, &goamqp.ReceiverOptions{Credit: 10, SettlementMode: goamqp.ReceiverSettleModeSecond.Ptr()})
		must(t, err)
		out, err := open(m.Addr("A")).NewSender(ctx, "q."+at, nil)
		must(t, err)
		for range 3 {
			sent := make(chan error, 1)
			go func() { sent <- out.Send(ctx, goamqp.NewMessage([]byte("x")), nil) }()
			msg, err := in.Receive(ctx, nil)
			must(t, err)
			must(t, in.AcceptMessage(ctx, msg))
			must(t, <-sent)
		}
	})
}

// message-format stays as it is (§2.7.5) and such a message is not looked into.
// Where nothing can be added to it that tells the next router its address, its
// sender is told so.
func TestBC67_MessageFormatAcrossHops(t *testing.T) {
	m := line(t)
	hops(t, m, func(t *testing.T, at string) {
		in := newInbox(t, session(t, m.Addr(at)), "q."+at, raw.ReceiverOptions{Credit: 10})
		out := sender(t, session(t, m.Addr("A")), "q."+at, raw.SenderOptions{KeepStates: true})
		want := bytes.Repeat([]byte("\xffno sections "), 100)
		must(t, out.SendFormat(0x80013700, want, false))
		go func() {
			if a, ok := <-in.came; ok {
				if a.format != 0x80013700 || !bytes.Equal(a.message, want) {
					t.Errorf("format %#x, %d bytes: %.60q", a.format, len(a.message), a.message)
				}
				in.Settle(a.id, messaging.Accepted)
			}
		}()
		must(t, out.WaitSettled(1))
		close(in.came)
		if r := out.Result(); r.Accepted != 1 {
			t.Errorf("outcomes %+v", r)
		}
	})
}

// A message that grows beyond what the next router takes is rejected, with the
// reason, when it does; the copies that have been begun are aborted. Whatever
// else crosses the same trunk goes on (§2.7.3, §2.8.18).
func TestBC33_TooLargeForTheNextRouter(t *testing.T) {
	const limit = 1 << 16 // below what crosses on a link of its own
	p := distributed(harness.Line(3).WithEdge("E", "B"))
	p.Between = fmt.Sprintf(" maxMessageSize: %d", limit)
	m := start(t, p)
	for _, from := range []string{"C", "E"} { // whose connectors lead to listeners with the limit
		beside := receiver(t, session(t, m.Addr("A")), "beside."+from, raw.ReceiverOptions{Credit: 100})
		other := sender(t, session(t, m.Addr(from)), "beside."+from, raw.SenderOptions{})
		must(t, other.WaitCredit(1))
		for _, kind := range []string{"closest", "multicast"} {
			t.Run(from+"/"+kind, func(t *testing.T) {
				address := kind + "/large." + from
				var ins []*inbox
				for _, at := range []string{"A", "B", "A"} {
					ins = append(ins, newInbox(t, session(t, m.Addr(at)), address, raw.ReceiverOptions{Credit: 10}))
				}
				if kind == "closest" { // one at A alone
					must(t, ins[1].Detach())
					must(t, ins[2].Detach())
					ins = ins[:1]
				}
				known(t, m, "A", from)
				out := sender(t, session(t, m.Addr(from)), address, raw.SenderOptions{KeepStates: true})
				must(t, out.WaitCredit(1))
				rejected := 0
				sizes := append([]int{limit / 2, 10 * limit, limit - 2000}, slices.Repeat([]int{limit + 1}, 12)...) // as many as there are links, and more
				for i, size := range append(sizes, 100) {
					message := raw.Numbered(nil, size, uint64(i))
					must(t, out.Send(message, false))
					if size < limit {
						for _, in := range ins {
							a := in.next(t)
							for a.aborted {
								a = in.next(t)
							}
							if !bytes.Equal(a.message, message) {
								t.Errorf("%d bytes of %d", len(a.message), len(message))
							}
							in.Settle(a.id, messaging.Accepted)
						}
					} else {
						rejected++
					}
					must(t, out.WaitSettled(i+1))
					r := out.Result()
					if r.Rejected != rejected || r.Accepted != i+1-rejected {
						t.Fatalf("outcomes %+v", r)
					}
					if size > limit {
						why, err := messaging.ParseRejected(r.States[len(r.States)-1])
						if err != nil || why == nil || why.Condition != amqp.CondMessageSizeExceeded {
							t.Errorf("rejected with %v (%v)", why, err)
						}
					}
					before := beside.Messages()
					must(t, other.Send(raw.Numbered(nil, small, 1), false))
					must(t, beside.WaitMessages(before+1))
				}
				if out.Detached() != nil {
					t.Errorf("the sender was detached: %v", out.Detached())
				}
				for _, in := range ins {
					for len(in.came) > 0 {
						if a := in.next(t); !a.aborted {
							t.Errorf("%d bytes come as a message", len(a.message))
						}
					}
				}
			})
		}
	}
	for _, name := range m.Names() {
		if !harness.Eventually(harness.Patience/3, func() bool {
			for _, stage := range []string{"session", "content", "outgoing"} {
				if m.Router(name).Metrics()[`sluice_stage_bytes{stage="`+stage+`"}`] != 0 {
					return false
				}
			}
			return true
		}) {
			t.Errorf("%s holds %v", name, m.Router(name).Staged())
		}
	}
}

// What one router takes in front of a message's body passes all others, with
// what they add to it.
func TestLongSectionsAcrossHops(t *testing.T) {
	m := start(t, harness.Line(3).WithEdge("E", "C"))
	for _, way := range []string{"A-A", "A-B", "A-C", "A-E", "E-A", "E-E"} {
		from, at, _ := strings.Cut(way, "-")
		in := newInbox(t, session(t, m.Addr(at)), way, raw.ReceiverOptions{Credit: 10})
		known(t, m, from, at)
		named := sender(t, session(t, m.Addr(from)), way, raw.SenderOptions{})
		anonymous := sender(t, session(t, m.Addr(from)), "", raw.SenderOptions{})
		for _, out := range []*raw.Sender{named, anonymous} {
			message := raw.To(way)
			message.MessageAnnotations = encoding.Map{{Key: amqp.Symbol("x-long"), Value: ""}}
			through := messaging.SectionMessageAnnotations // which are looked at
			if out == anonymous {
				through = messaging.SectionProperties
			}
			env, err := messaging.Scan(raw.Numbered(message, small, 1), through)
			must(t, err)
			message.MessageAnnotations[0].Value = strings.Repeat("l", 64<<10-9-env.Rest) // a long string's size takes more
			want := raw.Numbered(message, small, 1)
			must(t, out.Send(want, false))
			a := in.next(t)
			if !bytes.Equal(a.message, want) {
				t.Errorf("%s: got %d bytes, want %d", way, len(a.message), len(want))
			}
			in.Settle(a.id, messaging.Accepted)
			must(t, out.WaitSettled(1))
			message.MessageAnnotations[0].Value = strings.Repeat("l", 64<<10)
			must(t, out.Send(raw.Numbered(message, small, 1), false))
			must(t, out.WaitSettled(2))
			if r := out.Result(); r.Accepted != 1 || r.Rejected != 1 {
				t.Errorf("%s: outcomes %+v", way, r)
			}
		}
	}
}
