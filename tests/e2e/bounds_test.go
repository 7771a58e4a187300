package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/encoding"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/forward"
	"sluice/tests/harness/bubble"
)

// Multicast messages that wait for a stopped subscriber count towards the marks
// of their address, whoever sent them: publishers that come, send one message
// and go have no credit that would bound them.
func TestMulticastOfManyPublishersIsBounded(t *testing.T) {
	const high, low = 40, 20
	big := Message(make([]byte, 1000))
	size := int64(len(big))
	for mark, treat := range map[string]func(*forward.Treatment){
		"count": func(t *forward.Treatment) { t.HighCount, t.LowCount = high, low },
		"bytes": func(t *forward.Treatment) { t.HighBytes, t.LowBytes = high*size, low*size },
	} {
		// fill has publishers come until the address is full.
		fill := func(t *testing.T, credit uint32) (r *bubble.Router, in, late *Peer, published int) {
			r = bubble.New(t, bubble.Options{
				PipeBytes: 4096,
				Treatment: func(n string, t *forward.Treatment) { multicast(n, t); treat(t) },
			})
			in = r.Receiver("in", "q", credit)
			a := r.Address("q")
			for ; a.Gate() != links.GateFull; published++ {
				if published == 1000 {
					t.Fatalf("%d messages were taken: %+v", published, a.View())
				}
				out := r.Sender(fmt.Sprint("out", published), "q")
				out.Write(With(Settled(0, 0), big))
				out.WantAnything()
				out.Drop()
				r.Collect()
			}
			if v := a.View(); v.WaitingBytes != high*size {
				t.Errorf("full at %d bytes, the high mark is at %d", v.WaitingBytes, high*size)
			}
			late = r.Connect("late")
			late.Attach(Sending("late", 0, "q"))
			late.WantIdle("the address is full")
			return r, in, late, published
		}
		t.Run(mark+"/no credit", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, in, late, n := fill(t, 0)
				if n != high {
					t.Errorf("%d messages, the high mark is %d", n, high)
				}
				in.Write(Flow(0, 0, high-low-1))
				if n := len(in.All("transfer")); n != high-low-1 {
					t.Errorf("%d copies came", n)
				}
				late.WantIdle("the low mark has not been reached")
				in.Write(Flow(0, high-low-1, 1))
				in.Want("", "transfer")
				late.Want("the low mark", "flow handle=0 link-credit=1")
				in.Write(Flow(0, high-low, 1000))
				if n := len(in.All("transfer")); n != low {
					t.Errorf("%d copies came", n)
				}
				r.Idle()
			})
		})
		t.Run(mark+"/does not read", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, in, late, n := fill(t, 1000)
				a := r.Address("q")
				buf := make([]byte, 500)
				for a.Gate() == links.GateFull {
					if v := a.View(); v.WaitingBytes <= low*size {
						t.Fatalf("still full: %+v", v)
					}
					if n, _ := in.End.TryRead(buf); n == 0 {
						t.Fatal("nothing is there and the address is full")
					}
					synctest.Wait()
				}
				if v := a.View(); v.WaitingBytes > low*size {
					t.Errorf("open at %d bytes, the low mark is at %d", v.WaitingBytes, low*size)
				}
				late.Want("the low mark", "flow handle=0 link-credit=1")
				late.Write(With(Settled(0, 0), big))
				late.WantAnything()
				total := 0
				for k := 1; k > 0; total += k {
					k, _ = in.End.TryRead(buf)
					synctest.Wait()
				}
				if total < low*int(size) {
					t.Errorf("%d bytes came of what was left of %d messages", total, n)
				}
				r.Idle()
			})
		})
	}
}

// Credit from the time of tiny messages does not let a link have more under way
// than its budget and one message: the rest waits in stage one. A message that
// has begun goes on, since nothing would ever end it.
func TestGrowingMessagesWaitInStageOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Transport: transport.Config{MaxFrameSize: 256 << 10, SessionBytes: 64 << 20}})
		limits := bubble.DefaultLimits()
		in := r.Receiver("in", "q", 0)
		out := r.Sender("out", "q")
		link := r.Incoming(0)
		var all [][]byte
		message := func(size int) []byte {
			b := make([]byte, size)
			binary.BigEndian.PutUint32(b, uint32(len(all)))
			all = append(all, Message(b))
			return all[len(all)-1]
		}
		send := func(size int) {
			id := uint32(len(all))
			out.Write(With(Settled(0, id), message(size)))
		}
		send(4)
		out.Want("", "flow delivery-count=1 link-credit=249")
		for range 60 {
			send(4)
		}
		if c := r.Credit(0); c != 189 {
			t.Fatalf("credit %d", c)
		}
		for range 10 {
			send(100_000)
		}
		synctest.Wait()
		if n := link.Undelivered(); n >= limits.LinkBytes || link.Waiting() != 0 {
			t.Fatalf("%d bytes are under way, %d wait", n, link.Waiting())
		}
		// This one is begun within the budget and crosses it.
		id := uint32(len(all))
		m := message(90_000)
		out.Write(With(More(Settled(0, id)), m[:40_000]))
		out.Write(With(More(Next(0)), m[40_000:60_000]))
		out.Write(With(Next(0), m[60_000:]))
		synctest.Wait()
		under := link.Undelivered()
		if link.Waiting() != 0 || under < limits.LinkBytes {
			t.Errorf("the message that had begun was stopped: %d bytes are under way, %d wait", under, link.Waiting())
		}
		if bound := limits.LinkBytes + limits.UnboundBytes; under > bound {
			t.Errorf("%d bytes are under way, the bound is %d", under, bound)
		}
		for range 178 {
			send(100_000)
		}
		synctest.Wait()
		if n := link.Undelivered(); n != under {
			t.Errorf("%d bytes are under way, before there were %d", n, under)
		}
		if n, want := link.Waiting(), int64(178*len(all[len(all)-1])); n != want {
			t.Errorf("%d bytes wait in stage one, want %d", n, want)
		}
		if n := len(out.All("detach")); n != 0 {
			t.Errorf("the link was detached for using what it had been granted\n%s", out.Trace())
		}
		in.Write(Flow(0, 0, 1000))
		for i, want := range all {
			if _, got, _ := in.Message("all arrive"); !bytes.Equal(got, want) {
				t.Fatalf("at %d came %d bytes, want %d", i, len(got), len(want))
			}
		}
		in.WantIdle("all have come")
		if n := len(out.All("detach")); n != 0 {
			t.Errorf("the link was detached\n%s", out.Trace())
		}
		r.Idle()
	})
}

// Messages cost memory even if they have no bytes: no more than 4096 are bound
// to a link and not written, whatever its credit; at half of that others follow.
func TestEmptyMessagesAreBounded(t *testing.T) {
	const total, most = 10_000, 4096
	for _, format := range []uint32{0, 1} {
		for _, creditFirst := range []bool{true, false} {
			for _, d := range []forward.Distribution{forward.Balanced, forward.Closest} {
				t.Run(fmt.Sprintf("format=%d/credit first=%v/%v", format, creditFirst, d), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := bubble.New(t, bubble.Options{
							Limits: links.Limits{Capacity: 2 * total},
							Treatment: func(_ string, t *forward.Treatment) {
								t.Distribution = d
								t.HighCount, t.LowCount = 10*total, total
							},
						})
						in := r.Dial()
						in.Handshake(Open("in"))
						begin := Begin()
						begin.IncomingWindow = 0
						in.BeginSession(0, begin)
						in.Attach(Receiving("in", 0, "q"))
						if creditFirst {
							in.Write(Flow(0, 0, 1<<20))
						}
						out := r.Sender("out", "q")
						for id := uint32(0); id < total; id++ {
							f := Settled(0, id)
							f.HasMessageFormat, f.MessageFormat = true, format
							out.Write(With(f, nil))
							if id%100 == 0 {
								out.WantAnything()
							}
						}
						if !creditFirst {
							in.Write(Flow(0, 0, 1<<20))
						}
						in.WantIdle("the window is closed")
						a := r.Address("q")
						check := func(sent int) {
							t.Helper()
							if v := a.View(); total-v.Waiting-sent > most {
								t.Errorf("%d messages are bound to the link", total-v.Waiting-sent)
							}
						}
						window := func(n uint32) {
							f := SessionFlow()
							f.IncomingWindow = n
							in.Write(f)
							if got := len(in.All("transfer")); got != int(n) {
								t.Fatalf("%d came of %d", got, n)
							}
						}
						check(0)
						waiting := a.View().Waiting
						window(most / 2)
						if v := a.View(); v.Waiting != waiting {
							t.Errorf("%d messages left the address before the low mark", waiting-v.Waiting)
						}
						window(1)
						check(most/2 + 1)
						if v := a.View(); v.Waiting != waiting-most/2-1 {
							t.Errorf("%d messages left the address at the low mark", waiting-v.Waiting)
						}
						window(total - most/2 - 1)
						in.WantIdle("all have come")
						r.Idle()
					})
				})
			}
		}
	}
}

// §2.6.12: a sender that settles second is told the outcome. Once is enough,
// however often a receiver says it: each would be a frame for somebody else.
func TestOutcomeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Connect("out")
		attach := Sending("out", 0, "q")
		attach.ReceiverSettleMode = amqp.ReceiverSettleSecond
		out.Attach(attach)
		out.Want("", "flow handle=0 link-credit=1")
		out.Write(With(Transfer(0, 0), Text("x")))
		out.Want("", "flow handle=0 link-credit=249")
		in.Want("", "transfer delivery-id=0 settled=false")
		no := Disposition(amqp.RoleReceiver, 0, 0, false, messaging.Rejected(&amqp.Error{Condition: "no", Description: strings.Repeat("n", 1000)}))
		for range 20 {
			in.Write(no, no, no)
			synctest.Wait()
		}
		in.Write(Disposition(amqp.RoleReceiver, 0, 0, false, messaging.Accepted))
		out.Want("the outcome", "disposition role=receiver first=0 !settled ~state=rejected")
		out.WantIdle("once")
		in.WantIdle("its sender has not settled")
		out.Write(Disposition(amqp.RoleSender, 0, 0, true, messaging.Rejected(nil)))
		in.Want("now it has", "disposition role=sender first=0 settled")
		in.Write(no)
		in.WantIdle("the delivery is forgotten")
		out.WantIdle("the delivery is forgotten")
		r.Idle()
	})
}

// §2.8.10 makes the delivery-count a serial number, which reaches half way
// round; link-credit is a plain uint, and more of it than that is much credit,
// not none.
func TestCreditBeyondHalfOfTheNumbers(t *testing.T) {
	for _, credit := range []uint32{1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1} {
		t.Run(fmt.Sprintf("%#x", credit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				in := r.Receiver("in", "q", credit)
				out := r.Sender("out", "q")
				for i := range uint32(10) {
					out.Write(With(Settled(0, i), Text("x")))
					out.WantAnything()
					in.Want("there is credit", fmt.Sprintf("transfer delivery-id=%d", i))
					in.Write(Flow(0, i+1, credit))
				}
				in.WantIdle("ten were sent")
				r.Idle()
			})
		})
	}
}

// annotated returns a message with an annotation of n bytes.
func annotated(t *testing.T, n int) []byte {
	return encoded(t, &messaging.Message{
		MessageAnnotations: encoding.Map{{Key: amqp.Symbol("x-opt-mine"), Value: strings.Repeat("m", n)}},
		Body:               "body",
	})
}

// An envelope that comes in pieces is not looked at again for each piece: what
// that takes grows with the size of the envelope, not with its square.
func TestEnvelopeInPiecesCostsLinearWork(t *testing.T) {
	cost := func(n int) uint64 {
		out, in := pair(t, 250)
		m := annotated(t, n)
		var wire []byte
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f := More(Transfer(0, 0))
		f.HasSettled = true
		for i := range m {
			f.More = i+1 < len(m)
			wire = append(frames.AppendTransferFrame(wire, 0, f, 1), m[i])
			f = Next(0)
			if i%100 == 99 || !f.More && i+1 == len(m) {
				out.write(wire)
				wire = wire[:0]
			}
		}
		in.move()
		runtime.ReadMemStats(&after)
		if in.sent < len(m) {
			t.Fatalf("%d bytes of %d were forwarded", in.sent, len(m))
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	cost(1 << 10) // fills pools
	small, large := cost(16<<10), cost(32<<10)
	if float64(large) > 3*float64(small) {
		t.Errorf("%d bytes were allocated for an envelope of 16 KiB in pieces, %d for one of 32 KiB", small, large)
	}
}

// However small the pieces of an envelope are, its message arrives as it was.
func TestEnvelopeInPieces(t *testing.T) {
	for _, test := range []struct{ size, frame int }{{100, 1}, {10_000, 1}, {60_000, 7}, {65_400, 100}} {
		t.Run(fmt.Sprintf("%d bytes in pieces of %d", test.size, test.frame), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				in := r.Receiver("in", "q", 10)
				out := r.Sender("out", "q")
				m := annotated(t, test.size)
				out.Stream(Transfer(0, 0), m, test.frame)
				if _, got, _ := in.Message(""); !bytes.Equal(got, m) {
					t.Errorf("%d bytes came of %d", len(got), len(m))
				}
				in.Write(Accept(0))
				out.Until("", "disposition first=0 settled state=accepted")
				r.Idle()
			})
		})
	}
}

// §2.7.5: an aborted delivery is gone, also if its abort met it on its way back
// to the address: it does not wait there until somebody has credit.
func TestAbortedDeliveryDoesNotStay(t *testing.T) {
	for _, abortFirst := range []bool{true, false} {
		for _, leaves := range []bool{true, false} {
			t.Run(fmt.Sprintf("abort first=%v/receiver leaves=%v", abortFirst, leaves), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := bubble.New(t, bubble.Options{})
					in := r.Dial()
					in.Handshake(Open("in"))
					begin := Begin()
					begin.IncomingWindow = 0
					in.BeginSession(0, begin)
					in.Attach(Receiving("in", 0, "q"))
					in.Write(Flow(0, 0, 3))
					other := r.Receiver("other", "q", 0)
					out := r.Sender("out", "q")
					out.Write(With(Settled(0, 0), Text("stays")))
					out.WantAnything()
					out.Write(With(More(Transfer(0, 1)), Message(make([]byte, 1000))[:500]))
					out.WantAnything()
					a := r.Address("q")
					abort := func() {
						out.Write(Abort(0))
						out.WantIdle("nothing is to be said of it")
					}
					if abortFirst {
						abort()
					}
					if leaves {
						in.Write(Detach(0, true))
						in.Want("", "detach")
					} else {
						in.Write(Flow(0, 0, 0))
						in.WantIdle("")
					}
					if !abortFirst {
						if v := a.View(); v.Waiting != 2 {
							t.Errorf("both wait: %+v", v)
						}
						abort()
					}
					if v := a.View(); v.Waiting != 1 {
						t.Errorf("the aborted delivery waits: %+v", v)
					}
					other.Write(Flow(0, 0, 10))
					other.Want("what was not aborted", "transfer delivery-id=0 payload=10 !more")
					other.WantIdle("")
					r.Idle()
				})
			})
		}
	}
}

// raw writes to a peer's connection without waiting for anybody, which a Peer
// does not do, and keeps what comes.
type raw struct {
	p    *Peer
	came []byte
}

// read reads until the connection ends.
func (w *raw) read() {
	buf := make([]byte, 4096)
	for {
		n, err := w.p.End.Read(buf)
		if w.came = append(w.came, buf[:n]...); err != nil {
			return
		}
	}
}

func (w *raw) write(items ...any) { w.p.End.Write(Wire(items...)) }

// absolute returns a flow that lets the first credit deliveries of a link be
// sent, in the first window frames of the session.
func absolute(credit, window uint32) *frames.Flow {
	return &frames.Flow{Handle: 0, HasHandle: true, HasLinkCredit: true, LinkCredit: credit, HasNextIncomingID: true, IncomingWindow: window}
}

// transfers calls f for the transfers of what came.
func (w *raw) transfers(t *testing.T, f func(*frames.Transfer, []byte)) {
	for b := w.came; len(b) > 0; {
		h, err := frames.ParseHeader(b)
		if err != nil || int(h.Size) > len(b) {
			t.Fatalf("%v: % x", err, b[:min(len(b), 100)])
		}
		body := b[h.BodyOffset():h.Size]
		b = b[h.Size:]
		if code, _, _ := frames.PeekPerformative(body); code != frames.PerformativeTransfer {
			continue
		}
		var x frames.Transfer
		payload, err := x.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		f(&x, payload)
	}
}

// Aborts that race with the return of what they abort.
func TestAbortRacesWithReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rounds, each = 30, 100
		r := bubble.New(t, bubble.Options{
			PipeBytes: 256, // so that nobody is far ahead
			Limits:    links.Limits{Capacity: 4 * rounds * each},
			Transport: transport.Config{SessionBytes: 1 << 30},
		})
		in := &raw{p: r.Receiver("in", "q", 1)}
		out := &raw{p: r.Sender("out", "q")}
		out.p.Write(With(Settled(0, 0), Text("x")))
		out.p.WantAnything()
		in.p.Want("", "transfer")
		if c := r.Credit(0); c < rounds*each {
			t.Fatalf("credit %d", c)
		}
		var readers sync.WaitGroup
		readers.Go(in.read)
		readers.Go(out.read)
		part := Message(make([]byte, 100))[:50]
		id := uint32(1)
		for range rounds {
			var writers sync.WaitGroup
			var done atomic.Bool
			writers.Go(func() {
				for range each {
					out.write(With(More(Transfer(0, id)), part))
					out.write(Abort(0))
					id++
				}
				done.Store(true)
			})
			writers.Go(func() {
				for !done.Load() {
					in.write(absolute(100_000, 1)) // one frame has used the window up
					runtime.Gosched()
					in.write(absolute(1, 1))
				}
			})
			writers.Wait()
			synctest.Wait()
			if v := r.Address("q").View(); v.Waiting != 0 || v.WaitingBytes != 0 {
				t.Fatalf("aborted deliveries wait: %+v", v)
			}
			r.Idle()
		}
		in.p.End.Close()
		out.p.End.Close()
		readers.Wait()
		in.transfers(t, func(*frames.Transfer, []byte) { t.Error("an aborted delivery was sent") })
	})
}

// Settled messages of one frame travel without much of a state. Receivers that
// leave, and that take credit back, return them while their senders go on: none
// is lost or doubled, and nobody reads what another connection is writing.
func TestReceiversComeAndGoUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const senders, each = 2, 2000
		r := bubble.New(t, bubble.Options{
			PipeBytes: 256, // so that nobody is far ahead
			Limits:    links.Limits{Capacity: 4 * each},
			Transport: transport.Config{SessionBytes: 1 << 30},
			// Taking turns, the messages reach those whose window is closed too.
			Treatment: func(_ string, t *forward.Treatment) { t.Distribution = forward.Closest },
		})
		stays := &raw{p: r.Receiver("stays", "q", 1<<20)}
		all := []*raw{stays}
		var outs, ins []*raw
		body := func(i, n uint32) []byte { return Text(fmt.Sprintf("%d/%d", i, n)) }
		for i := range uint32(senders) {
			out := &raw{p: r.Sender(fmt.Sprint("out", i), "q")}
			out.p.Write(With(Settled(0, 0), body(i, 0)))
			out.p.WantAnything()
			if c := r.Credit(int(i)); c < each {
				t.Fatalf("credit %d", c)
			}
			outs = append(outs, out)
		}
		if n := len(stays.p.All("transfer")); n != senders {
			t.Fatalf("%d came", n)
		}
		for i := range 2 {
			ins = append(ins, &raw{p: r.Receiver(fmt.Sprint("in", i), "q", 0)})
		}
		all = append(append(all, outs...), ins...)
		synctest.Wait()
		var readers, sending, receiving sync.WaitGroup
		var done atomic.Bool
		for _, p := range all {
			readers.Go(p.read)
		}
		for i, out := range outs {
			sending.Go(func() {
				for n := uint32(1); n <= each; n++ {
					out.write(With(Settled(0, n), body(uint32(i), n)))
				}
			})
		}
		for i, in := range ins {
			receiving.Go(func() {
				for n := uint32(1); !done.Load(); n++ {
					in.write(absolute(1<<20, n))
					runtime.Gosched()
					in.write(absolute(0, n))
					if n%16 == uint32(i) {
						in.write(absolute(1<<20, n))
						runtime.Gosched()
						in.write(Detach(0, true), Receiving(fmt.Sprintf("in%d/%d", i, n), 0, "q"))
					}
				}
				in.write(Detach(0, true))
			})
		}
		sending.Wait()
		done.Store(true)
		receiving.Wait()
		synctest.Wait()
		r.Idle()
		for _, p := range all {
			p.p.End.Close()
		}
		readers.Wait()
		seen := make(map[string]int)
		taken := 0
		for _, p := range append(ins, stays) {
			p.transfers(t, func(x *frames.Transfer, payload []byte) {
				seen[string(payload)]++
				if p != stays {
					taken++
				}
			})
		}
		for i := range uint32(senders) {
			for n := uint32(1); n <= each; n++ {
				if k := seen[string(body(i, n))]; k != 1 {
					t.Fatalf("message %d of sender %d came %d times", n, i, k)
				}
			}
		}
		if len(seen) != senders*each || taken == 0 {
			t.Errorf("%d messages, %d of them to those that come and go", len(seen), taken)
		}
		t.Logf("%d messages went to those that come and go", taken)
	})
}
