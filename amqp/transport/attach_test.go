package transport_test

import (
	"errors"
	"testing"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
)

// §2.6.3: a link is attached by one end, and the other answers with an attach
// of the same name and the opposite role.
func TestAttachIsCompletedByTheAnswer(t *testing.T) {
	conversation(t, transport.Config{}, nil, func(h *end, p *Peer) {
		s := h.begin()
		p.Want("", "[0] begin !remote-channel")
		answerBegin(p, 3, 0)
		l := h.attachTo(s, Receiving("in", 99, "a"))
		p.Want("the handle is ours to choose", `attach name="in" handle=0 role=receiver`)
		l.want(t, "nothing is known yet")
		if l.ep.Answered() || !l.ep.Attached() {
			t.Error("the link is attached and not answered")
		}
		p.Write(On(3, Sending("in", 5, "a")))
		l.want(t, "the answer completes it", "answered handle=5")
		p.Write(With(Settled(5, 0), []byte("x")).On(3))
		l.want(t, "the peer's handle is in use", `transfer "x"`)
		h.do(func(*transport.Conn) { l.ep.WantFlow() })
		p.Want("and so is ours", "flow handle=0 link-credit=7")
	})
}

// §2.5.1, §2.6.3: begin and attach may be pipelined, as the peers of a mesh do.
func TestAttachBeforeThePeersBegin(t *testing.T) {
	conversation(t, transport.Config{}, nil, func(h *end, p *Peer) {
		in, out := new(recorder), new(recorder)
		h.do(func(c *transport.Conn) {
			s, _ := c.Begin()
			s.Attach(in, Receiving("in", 0, ""))
			s.Attach(out, Sending("out", 0, ""))
		})
		p.Want("", "begin")
		p.Want("", `attach name="in" handle=0 role=receiver`)
		p.Want("", `attach name="out" handle=1 role=sender`)
		in.want(t, "")
		p.Write(beginFor(0), Sending("in", 0, ""), Receiving("out", 1, ""))
		in.want(t, "", "answered handle=0")
		out.want(t, "", "answered handle=1")
	})
}

// §2.6.3: nothing is sent on a link before the peer has attached its end.
func TestNothingIsSentBeforeTheAnswer(t *testing.T) {
	conversation(t, transport.Config{}, nil, func(h *end, p *Peer) {
		s := h.begin()
		answerBegin(p, 0, 0)
		out, in := h.attachTo(s, Sending("out", 0, "a")), h.attachTo(s, Receiving("in", 0, "a"))
		p.WantAnything()
		h.do(func(*transport.Conn) {
			s.Ready(out.ep)
			in.ep.WantFlow()
		})
		p.WantIdle("neither transfers nor credit")
		out.want(t, "")
		p.Write(Receiving("out", 0, "a"), Sending("in", 1, "a"))
		p.WantIdle("what was asked for before is not remembered")
		h.do(func(*transport.Conn) {
			s.Ready(out.ep)
			in.ep.WantFlow()
		})
		p.Want("the link says it again", "flow handle=1 link-credit=7")
		out.want(t, "", "answered handle=0", "write")
	})
}

// §2.6.3: a peer that does not make its terminus answers with a null one and
// then detaches: a refusal, whose error comes with the detach.
func TestAnswerWithoutTerminusIsARefusal(t *testing.T) {
	conversation(t, transport.Config{}, nil, func(h *end, p *Peer) {
		s := h.begin()
		answerBegin(p, 0, 0)
		out, in := h.attachTo(s, Sending("out", 0, "a")), h.attachTo(s, Receiving("in", 0, "a"))
		p.WantAnything()
		noTarget, noSource := Receiving("out", 0, "a"), Sending("in", 1, "a")
		noTarget.Target, noSource.Source = messaging.TargetField{}, nil
		p.Write(noTarget, noSource)
		out.want(t, "the error is still to come")
		h.do(func(*transport.Conn) {
			s.Ready(out.ep)
			in.ep.WantFlow()
		})
		p.Write(Flow(0, 0, 10), Echo(Flow(0, 0, 10)), With(Settled(1, 0), []byte("x")))
		p.WantIdle("nothing is sent on a link that is being refused")
		p.Write(
			&frames.Detach{Handle: 0, Closed: true, Error: amqp.Errorf(amqp.CondNotFound, "no such node")},
			&frames.Detach{Handle: 1, Closed: true},
		)
		out.want(t, "", "refused amqp:not-found: no such node", "gone closed=true")
		in.want(t, "a reason is always given", "refused amqp:link:detach-forced: the link was not attached, and no reason was given", "gone closed=true")
		p.Want("§2.6.6", "detach handle=0 closed")
		p.Want("", "detach handle=1 closed")
		h.attachTo(s, Sending("out", 0, "b"))
		p.Want("handle and name are free again", `attach name="out" handle=1`)
		if n := linkCount(h); n != 1 {
			t.Errorf("%d links are counted", n)
		}
	})
}

func linkCount(h *end) (n int) {
	h.do(func(c *transport.Conn) { n = c.LinkCount() })
	return n
}

// A detach of the peer is told with its error, and Gone as ever.
func TestDetachIsToldWithItsError(t *testing.T) {
	conversation(t, transport.Config{}, nil, func(h *end, p *Peer) {
		s := h.begin()
		answerBegin(p, 0, 0)
		a, b := h.attachTo(s, Sending("a", 0, "a")), h.attachTo(s, Sending("b", 0, "a"))
		p.Write(Receiving("a", 0, "a"), Receiving("b", 1, "a"))
		p.Write(&frames.Detach{Handle: 0, Closed: true, Error: amqp.Errorf(amqp.CondResourceDeleted, "gone")}, Detach(1, false))
		a.want(t, "", "answered handle=0", "detached amqp:resource-deleted: gone", "gone closed=true")
		b.want(t, "no error is none", "answered handle=1", "detached <nil>", "gone closed=false")
	})
}

// A link may be detached before it is answered: the answer then completes
// nothing, and the peer's detach frees the handle.
func TestDetachBeforeTheAnswer(t *testing.T) {
	conversation(t, transport.Config{}, nil, func(h *end, p *Peer) {
		s := h.begin()
		answerBegin(p, 0, 0)
		l := h.attachTo(s, Receiving("in", 0, "a"))
		h.do(func(*transport.Conn) { l.ep.Detach(true, nil) })
		l.want(t, "who detaches knows", "gone closed=true")
		again := h.attachTo(s, Receiving("in", 0, "a"))
		p.WantAnything()
		p.Write(Sending("in", 0, "a"), With(Settled(0, 0), []byte("x")), Detach(0, true), Sending("in", 0, "a"))
		l.want(t, "")
		again.want(t, "answers come in the order of what they answer", "answered handle=0")
		p.WantIdle("the peer's detach answers ours")
		h.attachTo(s, Receiving("other", 0, "a"))
		p.Want("the first handle is free again", `attach name="other" handle=0`)
	})
}

// The end of a session or of a connection ends links that wait for an answer,
// with its error.
func TestLossBeforeTheAnswer(t *testing.T) {
	lost := "refused amqp:link:detach-forced: the link was not attached, and no reason was given"
	for name, c := range map[string]struct {
		lose func(h *end, p *Peer, s *transport.Session)
		want string
	}{
		"session ended by the peer with an error": {func(h *end, p *Peer, s *transport.Session) {
			p.Write(&frames.End{Error: amqp.Errorf(amqp.CondInternalError, "oops")})
		}, "refused amqp:internal-error: oops"},
		"session ended by the peer": {func(h *end, p *Peer, s *transport.Session) { p.Write(&frames.End{}) }, lost},
		"session ended here": {func(h *end, p *Peer, s *transport.Session) {
			h.do(func(*transport.Conn) { s.End(nil) })
			p.Write(Sending("in", 0, "a"), &frames.End{})
		}, lost},
		"connection closed by the peer": {func(h *end, p *Peer, s *transport.Session) { p.Write(&frames.Close{}) }, lost},
		"connection closed here": {func(h *end, p *Peer, s *transport.Session) {
			h.do(func(c *transport.Conn) { c.Close(amqp.Errorf(amqp.CondConnectionForced, "bye")) })
		}, "refused amqp:connection:forced: bye"},
		"socket lost": {func(h *end, p *Peer, s *transport.Session) { p.Drop() }, "refused amqp:connection:forced: the connection was lost: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			conversation(t, transport.Config{}, nil, func(h *end, p *Peer) {
				s := h.begin()
				answerBegin(p, 0, 0)
				l := h.attachTo(s, Receiving("in", 0, "a"))
				c.lose(h, p, s)
				l.want(t, "", c.want, "gone closed=true")
				if _, err := s.Attach(new(recorder), Receiving("late", 0, "a")); err == nil {
					t.Error("a link was attached to a session that is gone")
				}
			})
		})
	}
}

// §2.7.3: a handle that the peer has in use ends the session, an answer's too.
func TestAnswerWithAHandleInUse(t *testing.T) {
	conversation(t, transport.Config{}, nil, func(h *end, p *Peer) {
		s := h.begin()
		answerBegin(p, 0, 0)
		a, b := h.attachTo(s, Sending("a", 0, "a")), h.attachTo(s, Sending("b", 0, "a"))
		p.Write(Receiving("a", 0, "a"), Receiving("b", 0, "a"))
		p.Until("", "end ~amqp:session:handle-in-use")
		a.want(t, "", "answered handle=0", `detached amqp:session:handle-in-use: attach of "b" to handle 0, which is in use`, "gone closed=true")
		b.want(t, "", `refused amqp:session:handle-in-use: attach of "b" to handle 0, which is in use`, "gone closed=true")
	})
}

// §2.6.3, figure 2.34: both ends may attach the same link at the same time;
// each attach answers the other.
func TestBothEndsAttachTheSameLink(t *testing.T) {
	conversation(t, transport.Config{}, nil, func(h *end, p *Peer) {
		s := h.begin()
		answerBegin(p, 0, 0)
		p.Want("", "begin")
		p.Write(Sending("x", 4, "a")) // before it has seen ours
		p.Want("", `attach name="x" handle=0 role=receiver !target`)
		p.Want("it is the peer's link, and refused", "detach handle=0")
		p.Write(Detach(4, true))
		l := h.attachTo(s, Receiving("x", 0, "a"))
		p.Write(Sending("x", 4, "a"))
		p.Want("", `attach name="x"`)
		p.WantIdle("crossing attaches want no further answer")
		l.want(t, "", "answered handle=4")
	})
}

// §2.6.1: a name may be used once in each direction. An attach of the peer in
// the other direction is another link; on another session it takes the name.
func TestNamesOfLinksThatWaitForAnAnswer(t *testing.T) {
	conversation(t, transport.Config{}, nil, func(h *end, p *Peer) {
		s := h.begin()
		answerBegin(p, 0, 0)
		l := h.attachTo(s, Receiving("x", 0, "a"))
		p.WantAnything()
		h.do(func(*transport.Conn) {
			_, err := s.Attach(new(recorder), Receiving("x", 0, "a"))
			var le *transport.LinkError
			if !errors.As(err, &le) || le.Wire.Condition != amqp.CondNotAllowed {
				t.Errorf("the name is taken: %v", err)
			}
		})
		p.Write(Receiving("x", 0, "a"))
		p.Want("refused by the handler, as any link", `attach name="x" handle=1 role=sender`)
		p.Want("", "detach handle=1")
		l.want(t, "")
		p.BeginSession(1, Begin())
		h.attach = func(_ *transport.Session, a *frames.Attach) (transport.Link, *frames.Attach, *amqp.Error) {
			return new(recorder), &frames.Attach{Source: a.Source, Target: a.Target}, nil
		}
		p.Write(On(1, Sending("x", 0, "a")))
		p.Want("", "[0] detach handle=0 closed ~amqp:link:stolen")
		p.Want("", `[1] attach name="x"`)
		l.want(t, "", "refused amqp:link:stolen: the link was attached again on this connection", "gone closed=true")
	})
}

// §2.7.2: handles stay within the peer's handle-max, as soon as that is known.
func TestHandleMaxOfThePeer(t *testing.T) {
	conversation(t, transport.Config{}, nil, func(h *end, p *Peer) {
		s := h.begin()
		a, b := h.attachTo(s, Sending("a", 0, "a")), h.attachTo(s, Sending("b", 0, "a"))
		p.WantAnything()
		answer := beginFor(0)
		answer.HandleMax = 0
		p.Write(answer)
		p.Want("what is above ends", "detach handle=1 closed ~handle-max")
		b.want(t, "", "refused amqp:resource-limit-exceeded: the peer's handle-max is 0, and the link has handle 1", "gone closed=true")
		h.do(func(*transport.Conn) {
			if _, err := s.Attach(new(recorder), Sending("c", 0, "a")); err == nil {
				t.Error("a handle above the handle-max was used")
			} else if want := `amqp:resource-limit-exceeded: no handle is left for link "c": handle-max is 15 here and 0 at the peer`; err.Error() != want {
				t.Errorf("got %v", err)
			}
		})
		p.Write(Receiving("a", 0, "a"), Receiving("b", 1, "a"), Detach(1, true))
		a.want(t, "what is within goes on", "answered handle=0")
		h.do(func(*transport.Conn) {
			if _, err := s.Attach(new(recorder), Sending("d", 0, "a")); err == nil {
				t.Error("a handle above the handle-max was used again")
			}
		})
		p.WantIdle("")
	})
}

// §2.7.1: channels stay within the channel-max of both; that is an error of the
// one who wanted another session, and harms nobody.
func TestBeginBeyondChannelMax(t *testing.T) {
	open := Open("peer")
	open.ChannelMax = 1
	conversation(t, transport.Config{}, open, func(h *end, p *Peer) {
		h.begin()
		h.begin()
		h.do(func(c *transport.Conn) {
			_, err := c.Begin()
			if want := "amqp:resource-limit-exceeded: no channel is left for another session: channel-max is 15 here and 1 at the peer"; err == nil || err.Error() != want {
				t.Errorf("got %v", err)
			}
		})
		p.Want("", "[0] begin")
		p.Want("", "[1] begin")
		p.WantIdle("")
	})
}

// §2.5.5: there is no way from BEGIN SENT to an end, so that waits for the
// peer's begin. What was attached before is gone at once.
func TestEndBeforeThePeersBegin(t *testing.T) {
	conversation(t, transport.Config{}, nil, func(h *end, p *Peer) {
		s := h.begin()
		l := h.attachTo(s, Sending("a", 0, "a"))
		h.do(func(*transport.Conn) { s.End(amqp.Errorf(amqp.CondNotAllowed, "changed my mind")) })
		l.want(t, "", "refused amqp:not-allowed: changed my mind", "gone closed=true")
		p.Want("", "begin")
		p.Want("", "attach")
		p.WantIdle("no end yet")
		p.Write(beginFor(0), Receiving("a", 0, "a"), Flow(0, 0, 10))
		p.Want("", "end ~changed")
		p.Write(&frames.End{})
		h.begin()
		p.Want("the channel is free again", "[0] begin")
	})
}

// A session of its own budget has a smaller window.
func TestSessionBudget(t *testing.T) {
	conversation(t, transport.Config{SessionBytes: 64 * 4096}, nil, func(h *end, p *Peer) {
		h.do(func(c *transport.Conn) {
			c.BeginWith(transport.SessionOptions{Bytes: 16 * 4096})
			c.BeginWith(transport.SessionOptions{Bytes: 1 << 30})
			c.BeginWith(transport.SessionOptions{})
			c.BeginWith(transport.SessionOptions{Bytes: 1})
		})
		p.Want("", "[0] begin incoming-window=16")
		p.Want("the configured budget is the most", "[1] begin incoming-window=64")
		p.Want("", "[2] begin incoming-window=64")
		p.Want("a window of less would be mostly flows", "[3] begin incoming-window=8")
	})
}
