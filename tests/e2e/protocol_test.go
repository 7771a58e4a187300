package e2e

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/router/forward"
	"sluice/tests/harness/bubble"
)

func hx(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// §2.7.5, §2.8.17: a wrong sequence of transfers ends the smallest thing that
// the spec lets it end, with a condition, and what was unsettled goes back.
func TestBC37_MalformedSequences(t *testing.T) {
	without := func(f *frames.Transfer, drop func(*frames.Transfer)) *frames.Transfer {
		drop(f)
		return f
	}
	text := Text("x")
	part := Message(make([]byte, 1000))[:500]
	for _, test := range []struct {
		name  string
		write []any
		want  string
	}{
		{"an id is left out", []any{With(Transfer(0, 0), text), With(Transfer(0, 2), text)}, "end ~amqp:invalid-field"},
		{"an id goes back", []any{With(Transfer(0, 100), text), With(Transfer(0, 99), text)}, "end ~amqp:invalid-field"},
		{"an id is repeated", []any{With(Transfer(0, 0), text), With(Transfer(0, 0), text)}, "end ~amqp:invalid-field"},
		{"an id is repeated on another link", []any{With(Transfer(0, 0), text), With(Transfer(1, 0), text)}, "end ~amqp:invalid-field"},
		{"no id", []any{With(without(Transfer(0, 0), func(f *frames.Transfer) { f.HasDeliveryID = false }), text)}, "end ~amqp:invalid-field"},
		{"no tag", []any{With(without(Transfer(0, 0), func(f *frames.Transfer) { f.HasDeliveryTag = false }), text)}, "end ~amqp:invalid-field"},
		{"another id in the middle", []any{With(More(Transfer(0, 0)), part), With(Transfer(0, 1), part)}, "end ~amqp:invalid-field"},
		{"another tag in the middle", []any{With(More(Transfer(0, 0)), part), With(&frames.Transfer{DeliveryTag: []byte("other"), HasDeliveryTag: true}, part)}, "end ~amqp:invalid-field"},
		{"another format in the middle", []any{With(More(Transfer(0, 0)), part), With(&frames.Transfer{MessageFormat: 5, HasMessageFormat: true}, part)}, "end ~amqp:invalid-field"},
		{"a continuation of nothing", []any{With(Next(0), part)}, "end ~amqp:invalid-field"},
		{"a handle without a link", []any{With(Transfer(7, 0), text)}, "end ~amqp:session:unattached-handle"},
		{"a link on which the peer receives", []any{With(Transfer(2, 0), text)}, "end ~amqp:not-allowed"},
		{"a channel without a session", []any{With(Transfer(0, 0), text).On(9)}, "close ~amqp:not-allowed"},
		{"beyond the credit", []any{With(Transfer(0, 0), text), With(Transfer(0, 1), text)}, "detach handle=0 closed ~amqp:link:transfer-limit-exceeded"},
		{"a tag that is too long", []any{With(without(Transfer(0, 0), func(f *frames.Transfer) { f.DeliveryTag = make([]byte, 33) }), text)}, "close ~amqp:decode-error"},
		{"after detach", []any{Detach(0, true), With(Transfer(0, 0), text)}, "end ~amqp:session:unattached-handle"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				in := r.Receiver("in", "q", 10)
				out := r.Sender("out", "q")
				out.Attach(Sending("other", 1, "q"))
				out.Want("", "flow handle=1 link-credit=1")
				out.Attach(Receiving("mine", 2, "elsewhere"))
				out.Write(test.write...) // as one read: no credit and no flow is given in between
				out.Until(test.name, test.want)
				// What had arrived was forwarded, and no longer matters to its sender.
				for _, f := range in.All("transfer !aborted !more") {
					var tr frames.Transfer
					f.Decode(&tr)
					in.Write(Accept(uint32(tr.DeliveryID)))
				}
				in.All("")
				r.Idle()
				switch {
				case strings.HasPrefix(test.want, "end"):
					out.Write(&frames.End{})
					out.BeginSession(0, Begin())
				case strings.HasPrefix(test.want, "close"):
					out.Write(&frames.Close{})
					out.WantEnd("")
				}
			})
		})
	}
}

// §2.7.6: ids that are not unsettled mean nothing, and cost nothing.
func TestBC41_DispositionRanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 1000)
		out := r.Sender("out", "q")
		for i := range uint32(10) {
			out.Write(With(Transfer(0, i), Text("x")))
			out.WantAnything()
		}
		in.WantAnything()
		odd := []any{
			&frames.Disposition{Role: amqp.RoleReceiver, First: 0, Last: 0xFFFFFFFF, HasLast: true, Settled: true, State: messaging.Accepted}, // ends before it begins
			&frames.Disposition{Role: amqp.RoleReceiver, First: 9, Last: 3, HasLast: true, Settled: true, State: messaging.Accepted},
			&frames.Disposition{Role: amqp.RoleReceiver, First: 10, Last: 0x7FFFFFFF, HasLast: true, Settled: true, State: messaging.Accepted}, // not sent yet
			&frames.Disposition{Role: amqp.RoleReceiver, First: 0x80000001, Last: 0xFFFFFFFF, HasLast: true, Settled: true, State: messaging.Accepted},
			&frames.Disposition{Role: amqp.RoleSender, First: 0, Last: 0x7FFFFFF0, HasLast: true, Settled: true, State: messaging.Accepted}, // a role that has nothing unsettled here
		}
		for range 2000 {
			in.Write(odd...)
		}
		in.WantIdle("nothing is meant by them")
		out.WantIdle("nothing has changed")
		in.Write(&frames.Disposition{Role: amqp.RoleReceiver, First: 0x80000010, Last: 4, HasLast: true, Settled: true, State: messaging.Accepted})
		out.Until("the part of a range that is unsettled", "disposition first=0 last=4 settled state=accepted")
		in.Write(&frames.Disposition{Role: amqp.RoleReceiver, First: 3, Last: 0x7FFFFFFF, HasLast: true, Settled: true, State: messaging.Released})
		out.Until("the part of a range that is unsettled", "disposition first=5 last=9 settled state=released")
		out.WantIdle("each once")
		r.Idle()
	})
}

// §2.6.4: what is unsettled on a link that was detached, and not closed, may be
// settled still; after a close nothing may.
func TestBC45_SettlingAfterTheLinkHasGone(t *testing.T) {
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprintf("closed=%v", closed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				in := r.Receiver("in", "q", 10)
				out := r.Sender("out", "q")
				out.Write(With(Transfer(0, 0), Text("x")))
				in.Want("", "transfer delivery-id=0")
				out.WantAnything()
				in.Write(Detach(0, closed))
				if closed {
					in.Want("", "detach handle=0 closed")
					out.Until("the outcome will not come", "disposition first=0 settled state=modified[true]")
					in.Write(Accept(0))
					in.WantIdle("ignored")
					out.WantIdle("one outcome")
				} else {
					in.Want("", "detach handle=0 !closed")
					if len(out.All("disposition")) != 0 {
						t.Errorf("it may be settled still:\n%s", out.Trace())
					}
					in.Write(Accept(0))
					out.Until("", "disposition first=0 settled state=accepted")
				}
				r.Idle()
			})
		})
	}
}

// Nobody waits for ever for the outcome of a link that was detached.
func TestBC45_DetachedLinkExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		other := r.Connect("other")
		other.Attach(Receiving("other", 0, "q")) // so that the address stays
		out := r.Sender("out", "q")
		for i := range uint32(3) { // each time, not only the first
			out.Write(With(Transfer(0, i), Text("x")))
			in.Want("", fmt.Sprintf("transfer delivery-id=%d", i))
			in.Write(Detach(0, false))
			in.Want("", "detach handle=0 !closed")
			out.WantAnything()
			wait(3)
			out.WantIdle("there is time left")
			wait(7)
			out.Want("", fmt.Sprintf("disposition first=%d settled state=modified[true]", i))
			in.Write(Accept(i))
			out.WantIdle("too late")
			r.Idle()
			wait(60)
			in.Attach(Receiving("in", 0, "q"))
			in.Write(Flow(0, 0, 10))
		}
	})
}

// The same when nothing is read between the end of one wait and the next detach.
func TestBC45_DetachedLinksExpireOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 1)
		in.Attach(Receiving("in2", 1, "q"))
		in.Write(Flow(1, 0, 1))
		out := r.Sender("out", "q")
		for i := range uint32(2) {
			out.Write(With(Transfer(0, i), Text("x")))
			out.WantAnything()
		}
		in.WantAnything()
		for i := range uint32(2) {
			in.Write(Detach(i, false))
			wait(10)
			out.Until("", fmt.Sprintf("disposition first=%d settled state=modified[true]", i))
		}
		r.Idle()
	})
}

// §2.7.6: what a sender settles is settled, also while it waits in stage one.
func TestSenderSettlesWhatWaitsInStageOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Limits: links.Limits{UnboundBytes: 1000}})
		in := r.Receiver("in", "q", 0)
		out := r.Sender("out", "q")
		m := Message(make([]byte, 3000))
		out.Write(With(Settled(0, 0), Text("small")))
		out.Until("", "flow delivery-count=1 link-credit=249")
		out.Write(With(More(Transfer(0, 1)), m[:2000]), With(Next(0), m[2000:]), With(Transfer(0, 2), Text("x")))
		synctest.Wait()
		if !r.Incoming(0).Held() || r.Incoming(0).Waiting() == 0 {
			t.Fatal("nothing waits in stage one")
		}
		out.Write(Disposition(amqp.RoleSender, 2, 2, true, messaging.DeliveryState{}))
		synctest.Wait()
		in.Write(Flow(0, 0, 10))
		in.Want("", "transfer delivery-id=0 settled=true")
		in.Message("")
		in.Want("", "transfer delivery-id=2 settled=true")
		in.Write(Disposition(amqp.RoleReceiver, 0, 2, true, messaging.Accepted))
		out.Until("", "disposition first=1 settled state=accepted !last")
		out.All("flow")
		r.Idle()
	})
}

// §2.5.1: a frame on a channel that was ended is an error of the connection.
func TestBC45_SettlingAfterTheSessionHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 10)
		out := r.Sender("out", "q")
		out.Write(With(Transfer(0, 0), Text("x")))
		in.Want("", "transfer delivery-id=0")
		in.Write(&frames.End{})
		in.Want("", "end !error")
		out.Until("", "disposition first=0 settled state=modified[true]")
		in.Write(Accept(0))
		in.Want("", "close ~condition=amqp:not-allowed")
		r.Idle()
	})
}

// §2.6.6: closed is mirrored, and what crosses ends well.
func TestBC49_DetachIsMirrored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p := r.Connect("c")
		for handle, a := range []*frames.Attach{Receiving("a", 0, "q"), Sending("b", 1, "q")} {
			for _, closed := range []bool{true, false} {
				p.Attach(a)
				p.WantAnything()
				p.Write(Detach(uint32(handle), closed))
				want := "detach !error " + map[bool]string{true: "closed", false: "!closed"}[closed]
				p.Until("", want)
				p.WantIdle("")
			}
			// The name can be used again after both.
			p.Attach(a)
			p.WantAnything()
		}
	})
}

// A detach of ours crosses one of the peer's, closing or not.
func TestBC49_CrossingDetaches(t *testing.T) {
	for _, closed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := bubble.New(t, bubble.Options{})
			r.Receiver("in", "q", 10)
			out := r.Sender("out", "q")
			f := Transfer(0, 0)
			f.Resume = true
			out.Write(With(f, Text("x")), Detach(0, closed)) // the first makes the router detach
			out.Until("ours", "detach handle=0 closed ~error=")
			out.WantIdle("theirs is the answer to it")
			out.Attach(Sending("out", 0, "q"))
			out.Want("", "flow handle=0 link-credit=1")
		})
	}
}

// What a terminus is not kept for is said (§3.5.3).
func TestBC49_TerminiAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p := r.Connect("c")
		a := Receiving("a", 0, "q")
		a.Source.Durable, a.Source.ExpiryPolicy, a.Source.Timeout = 2, "never", 100
		a.Source.Filter = hx("c1 01 00")
		got := p.Attach(a).Source
		if got.Durable != 0 || got.ExpiryPolicy != "link-detach" || got.Timeout != 0 || got.Filter != nil {
			t.Errorf("source %+v", got)
		}
		b := Sending("b", 1, "q")
		b.Target.Target.Durable, b.Target.Target.ExpiryPolicy = 2, "never"
		if got := p.Attach(b).Target.Target; got.Durable != 0 || got.ExpiryPolicy != "link-detach" {
			t.Errorf("target %+v", got)
		}
	})
}

// §2.6.1: names are unique in each direction; a second attach steals.
func TestBC51_LinkNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p := r.Connect("c")
		p.Attach(Receiving("x", 0, "q"))
		p.Attach(Sending("x", 1, "q"))
		p.Want("(a) the same name in the other direction is another link", "flow handle=1")
		p.Write(Receiving("x", 2, "q2"))
		p.Want("(b) the same name again steals", "detach handle=0 closed ~condition=amqp:link:stolen")
		p.Until("and is attached", "attach name=\"x\" role=sender source={address=\"q2\" expiry-policy=link-detach}")
		p.WantAnything()
		p.Write(Detach(0, true))
		p.WantIdle("the answer to the detach")
		// (c) detach, and at once attach, before the answer.
		p.Write(Detach(1, true), Sending("x", 1, "q"))
		p.Want("", "detach handle=1 closed !error")
		p.Until("", "attach name=\"x\" role=receiver")
		if n := len(p.All("detach")); n != 0 {
			t.Errorf("the new link was stolen from:\n%s", p.Trace())
		}
	})
}

// Clients that run in many copies give the same container-id and names: none is
// harmed by another.
func TestBC51_ManyClientsWithOneContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		var all []*Peer
		for range 30 {
			p := r.Connect("the same")
			p.Attach(Receiving("x", 0, "q"))
			all = append(all, p)
		}
		for _, p := range all {
			p.WantIdle("nobody is stolen from")
		}
	})
}

// §2.5.4, §2.6.5: an error ends the smallest thing that it can.
func TestBC53_ErrorsAtTheSmallestScope(t *testing.T) {
	resume := Transfer(9, 0)
	resume.Resume = true
	for _, test := range []struct {
		name  string
		write []any
		want  string
		links int // that are left of nine
	}{
		{"an address that is unavailable", []any{Sending("bad", 10, "closed/x")}, "detach closed ~amqp:not-found", 9},
		{"a resumed delivery", []any{With(resume, Text("x"))}, "detach handle=9 closed ~amqp:not-implemented", 9},
		{"a message that cannot be read", []any{With(Transfer(9, 0), hx("00 53 70 c0 ff ff ff"))}, "disposition settled ~state=rejected", 9},
		{"a handle in use", []any{Sending("bad", 3, "q")}, "end ~amqp:session:handle-in-use", 0},
		{"a flow for no link", []any{Flow(44, 0, 1)}, "end ~amqp:session:unattached-handle", 0},
		{"a detach of no link", []any{Detach(44, true)}, "end ~amqp:session:unattached-handle", 0},
		{"a handle above the limit", []any{Sending("bad", 5000, "q")}, "close ~amqp:connection:framing-error", -1},
		{"a second open", []any{Open("again")}, "close ~amqp:illegal-state", -1},
		{"a begin on a channel in use", []any{Begin()}, "close ~amqp:not-allowed", -1},
		{"a performative with a field too many", []any{hx("00 00 00 11 02 00 00 00 00 53 17 c0 04 03 40 40 40")}, "close ~amqp:decode-error", -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{Treatment: func(name string, t *forward.Treatment) {
					if strings.HasPrefix(name, "closed/") {
						t.Distribution = forward.Unavailable
					}
				}})
				p := r.Connect("c")
				for i := range uint32(9) {
					p.Attach(Receiving(fmt.Sprint("r", i), i, "q"))
				}
				p.Attach(Sending("s", 9, "q"))
				p.Want("", "flow handle=9")
				p.Write(test.write...)
				p.Until("", test.want)
				switch test.links {
				case 9:
					for i := range uint32(9) {
						p.Write(Echo(Flow(i, 0, i+1)))
						p.Until("", fmt.Sprintf("flow handle=%d link-credit=%d", i, i+1))
					}
				case 0:
					p.Write(&frames.End{})
					p.BeginSession(0, Begin())
					p.Attach(Receiving("r", 0, "q"))
				default:
					p.Write(&frames.Close{})
					p.WantEnd("")
				}
			})
		})
	}
}

// §2.6.3: a link is refused by an attach without terminus, then a detach.
func TestBC63_MissingAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Treatment: func(name string, t *forward.Treatment) {
			t.Distribution = forward.Unavailable
			if name == "here" {
				t.Distribution = forward.Balanced
			}
		}})
		p := r.Connect("c")
		for i, name := range []string{"nowhere", "Here", "here.x", "here/x"} {
			p.Write(Sending(name, uint32(i), name))
			p.Want("", "attach role=receiver !target")
			p.Want("", "detach closed ~condition=amqp:not-found")
			p.Write(Detach(uint32(i), true))
			p.Write(Receiving(name, uint32(i), name))
			p.Want("", "attach role=sender !source initial-delivery-count=0")
			p.Want("", "detach closed ~condition=amqp:not-found")
			p.Write(Detach(uint32(i), true))
		}
		p.Attach(Receiving("ok", 0, "/here/")) // slashes around it name nothing
		// An anonymous sender hears of each message; the link stays.
		p.Attach(Sending("anon", 1, ""))
		p.Want("", "flow handle=1")
		for i, to := range []string{"nowhere", "Here", "here/x"} {
			p.Write(With(Transfer(1, uint32(i)), encoded(t, &messaging.Message{Properties: &messaging.Properties{To: to}, Body: "x"})))
			p.Until("", fmt.Sprintf("disposition first=%d settled ~state=rejected ~amqp:not-found", i))
		}
		p.Write(With(Transfer(1, 3), encoded(t, &messaging.Message{Body: "x"})))
		p.Until("no address", "disposition first=3 settled ~state=rejected ~amqp:precondition-failed")
		p.Write(With(Transfer(1, 4), encoded(t, &messaging.Message{Properties: &messaging.Properties{To: "here"}, Body: "x"})))
		p.WantAnything()
		p.Write(Flow(0, 0, 1))
		p.Want("", "transfer handle=0 delivery-id=0")
		p.Write(Accept(0))
		p.Until("", "disposition role=receiver first=4 settled state=accepted")
		r.Idle()
	})
}

// A coordinator is refused (§4.2), and the session lives.
func TestBC55_Coordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p := r.Connect("c")
		a := Sending("tx", 0, "")
		a.Target = messaging.TargetField{Coordinator: &messaging.Coordinator{}}
		for range 100 {
			p.Write(a)
			p.Want("", "attach role=receiver !target !coordinator")
			p.Want("", "detach closed ~condition=amqp:not-implemented")
			p.Write(Detach(0, true))
		}
		p.Attach(Receiving("ok", 0, "q"))
		if n := r.Outgoing(0).Endpoint().Handle(); n != 0 {
			t.Errorf("handle %d: those of refused links are not used again", n)
		}
	})
}

// §2.3.1, §2.8.15, §2.8.16: malformed frames end the connection with a condition.
func TestBC81_MalformedFrames(t *testing.T) {
	const framing, decode = "~condition=amqp:connection:framing-error", "~condition=amqp:decode-error"
	table := []struct{ name, wire, want string }{
		{"size below the header", "00 00 00 07 02 00 00 00", framing},
		{"size zero", "00 00 00 00 02 00 00 00", framing},
		{"size above the max-frame-size", "00 01 00 00 02 00 00 00", framing},
		{"size of a gigabyte", "40 00 00 00 02 00 00 00", framing},
		{"data offset 0", "00 00 00 08 00 00 00 00", framing},
		{"data offset 1", "00 00 00 08 01 00 00 00", framing},
		{"data offset beyond the frame", "00 00 00 08 03 00 00 00", framing},
		{"type SASL after open", "00 00 00 0c 02 01 00 00 00 53 18 45", framing},
		{"type 2", "00 00 00 0c 02 02 00 00 00 53 18 45", framing},
		{"type 255", "00 00 00 08 02 ff 00 00", framing},
		{"no descriptor", "00 00 00 09 02 00 00 00 45", decode},
		{"unknown descriptor", "00 00 00 0c 02 00 00 00 00 53 19 45", decode},
		{"descriptor of a section", "00 00 00 0c 02 00 00 00 00 53 75 45", decode},
		{"SASL performative", "00 00 00 0c 02 00 00 00 00 53 41 45", "~condition="},
		{"truncated descriptor", "00 00 00 0a 02 00 00 00 00 53", decode},
		{"list longer than the frame", "00 00 00 0e 02 00 00 00 00 53 17 c0 09 01", decode},
		{"count larger than the list", "00 00 00 0e 02 00 00 00 00 53 17 c0 01 05", decode},
		{"a map for a list", "00 00 00 0e 02 00 00 00 00 53 17 c1 01 00", decode},
		{"bytes after end", "00 00 00 0d 02 00 00 00 00 53 17 45 45", decode},
		{"begin without fields", "00 00 00 0c 02 00 00 05 00 53 11 45", "~condition="},
		{"attach without fields", "00 00 00 0c 02 00 00 00 00 53 12 45", "~condition="},
		{"flow without fields", "00 00 00 0c 02 00 00 00 00 53 13 45", "~condition="},
		{"transfer without fields", "00 00 00 0c 02 00 00 00 00 53 14 45", "~condition="},
		{"disposition without fields", "00 00 00 0c 02 00 00 00 00 53 15 45", "~condition="},
		{"detach without fields", "00 00 00 0c 02 00 00 00 00 53 16 45", "~condition="},
		{"string for a handle", "00 00 00 11 02 00 00 00 00 53 14 c0 04 01 a1 01 41", decode},
		{"handle with a null", "00 00 00 0f 02 00 00 00 00 53 14 c0 02 01 40", "~condition="},
		{"error that is not one", "00 00 00 0f 02 00 00 00 00 53 17 c0 02 01 41", decode},
		{"flow on a channel without session", "00 00 00 15 02 00 00 09 00 53 13 c0 08 04 40 52 01 52 01 52 01", "~condition=amqp:not-allowed"},
		{"end on a channel without session", "00 00 00 0c 02 00 00 09 00 53 17 45", "~condition=amqp:not-allowed"},
		{"begin above the channel-max", "00 00 00 14 02 00 01 00 00 53 11 c0 07 04 40 43 52 01 52 01", framing},
		{"begin that answers none", "00 00 00 16 02 00 00 05 00 53 11 c0 09 04 60 00 09 43 52 01 52 01", "~condition="},
	}
	for _, test := range table {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				p := r.Connect("c")
				p.Write(hx(test.wire))
				p.Want(test.name, "close "+test.want)
				p.Write(&frames.Close{})
				p.WantEnd("")
			})
		})
	}
	// What is legal beside it.
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p := r.Connect("c")
		p.Write(hx("00 00 00 08 02 00 00 00"))                         // a heartbeat
		p.Write(hx("00 00 00 0c 03 00 00 00 de ad be ef"))             // an empty frame with an extended header
		p.Write(hx("00 00 00 10 03 00 00 00 de ad be ef 00 53 17 45")) // end, likewise
		p.Want("§2.3.1: the extended header is ignored", "end !error")
		// Byte by byte.
		f := hx("00 00 00 0c 02 00 00 00 00 53 18 45")
		for _, c := range f {
			p.Write([]byte{c})
			synctest.Wait()
		}
		p.Want("", "close !error")
		p.WantEnd("")
	})
}

// A frame that does not come to its end.
func TestBC81_TruncatedFrameThenEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p := r.Connect("c")
		p.Attach(Receiving("r", 0, "q"))
		p.Write(hx("00 00 00 20 02 00 00 00 00 53"))
		p.WantIdle("the rest may come")
		p.End.CloseWrite()
		if n := r.Collect(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

// §2.4.6: after a close of ours all but the peer's is discarded, and a peer that
// does not answer is not waited for.
func TestCloseHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p := r.Connect("c")
		p.Write(Open("again"))
		p.Want("", "close ~condition=amqp:illegal-state")
		p.Write(Sending("s", 0, "q"))
		p.WantIdle("discarded")
		wait(1)
		p.WantIdle("it may answer still")
		wait(2)
		p.WantEnd("and is not waited for longer")
	})
}

// The peer closes and reads nothing more: that must not hold the connection.
func TestCloseOfAPeerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{PipeBytes: 4096})
		in := r.Receiver("in", "q", 1000)
		out := r.Sender("out", "q")
		out.Write(With(Transfer(0, 0), Message(make([]byte, 10_000))))
		out.WantAnything() // the pipe to in is full
		in.Write(&frames.Close{})
		wait(60)
		if n := r.Collect(); n != 1 {
			t.Fatalf("%d connections are left, of which one is the sender's", n)
		}
		out.Until("", "disposition first=0 settled state=modified[true]")
		r.Idle()
	})
}

// §2.4.5: a peer that is silent for longer than what was agreed is given up; what
// is announced is half of it.
func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Transport: transport.Config{IdleTimeout: 10e9}})
		p := r.Dial()
		if open := p.Handshake(Open("c")); open.IdleTimeout != 5000 || !open.HasIdleTimeout {
			t.Errorf("announced %d", open.IdleTimeout)
		}
		for range 5 {
			wait(9)
			p.WantIdle("in time")
			p.Write(hx("00 00 00 08 02 00 00 00"))
			synctest.Wait()
		}
		wait(9)
		p.WantIdle("9 seconds")
		wait(1)
		p.Want("10 seconds", "close ~condition=amqp:resource-limit-exceeded ~idle")
		wait(2)
		p.WantEnd("no answer")
	})
}

// §2.4.5: heartbeats are sent often enough that the peer never has to give up.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p := r.Dial()
		open := Open("c")
		open.IdleTimeout, open.HasIdleTimeout = 4000, true
		p.Handshake(open)
		for range 10 {
			wait(1)
			p.WantIdle("not yet")
			wait(1)
			p.Want("half of the peer's time-out", "[0] heartbeat")
		}
		p.BeginSession(0, Begin())
		wait(1)
		p.WantIdle("any frame counts")
		wait(1)
		p.Want("", "[0] heartbeat")
	})
}

func TestNoHeartbeatsWithoutNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p := r.Connect("c")
		wait(3600)
		p.WantIdle("nobody has asked")
	})
}

// §2.7.1: handles and channels have limits, and are used again.
func TestHandlesAndChannelsAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Transport: transport.Config{ChannelMax: 2, HandleMax: 3}})
		p := r.Dial()
		if open := p.Handshake(Open("c")); open.ChannelMax != 2 {
			t.Errorf("channel-max %d", open.ChannelMax)
		}
		for range 10 {
			for ch := range uint16(3) {
				if b := p.BeginSession(ch, Begin()); b.HandleMax != 3 {
					t.Errorf("handle-max %d", b.HandleMax)
				}
			}
			for ch := range uint16(3) {
				p.Write(On(ch, &frames.End{}))
				p.Want("", "end !error")
			}
		}
		p.BeginSession(0, Begin())
		for range 10 {
			for h := range uint32(4) {
				if a := p.Attach(Receiving(fmt.Sprint(h), h, "q")); a.Handle > 3 {
					t.Errorf("handle %d", a.Handle)
				}
			}
			for h := range uint32(4) {
				p.Write(Detach(h, true))
				p.Want("", "detach closed")
			}
		}
		p.Write(Receiving("x", 4, "q"))
		p.Want("§2.7.2", "close ~condition=amqp:connection:framing-error")
	})
}

// The peer's handle-max binds the router (§2.7.2).
func TestHandleMaxOfThePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p := r.Dial()
		p.Handshake(Open("c"))
		begin := Begin()
		begin.HandleMax = 0
		p.BeginSession(0, begin)
		p.Attach(Receiving("a", 0, "q"))
		p.Write(Receiving("b", 1, "q"))
		p.Want("", "end ~condition=amqp:resource-limit-exceeded")
	})
}

// A dynamic source and target (§3.5.3, §3.5.4): the router names them.
func TestDynamicTermini(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Connect("in")
		a := Receiving("reply", 0, "")
		a.Source.Dynamic = true
		got := in.Attach(a)
		if !got.Source.Dynamic || got.Source.Address == "" {
			t.Fatalf("source %+v", got.Source)
		}
		in.Write(Flow(0, 0, 1))
		in.WantIdle("")
		out := r.Sender("out", got.Source.Address)
		out.Write(With(Transfer(0, 0), Text("x")))
		in.Want("", "transfer")
		anon := r.Connect("anon")
		anon.Attach(Sending("a", 0, ""))
		anon.Want("", "flow")
		in.Write(Flow(0, 1, 1))
		anon.Write(With(Settled(0, 0), encoded(t, &messaging.Message{Properties: &messaging.Properties{To: got.Source.Address}, Body: "y"})))
		in.Want("", "transfer")
		in.Write(Accept(0))
		b := Sending("to", 1, "")
		b.Target.Target.Dynamic = true
		if got := in.Attach(b); got.Target.Target.Address == "" || !got.Target.Target.Dynamic {
			t.Errorf("target %+v", got.Target)
		}
	})
}
