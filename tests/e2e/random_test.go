package e2e

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"
	"testing/synctest"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/links"
	"sluice/router/forward"
	"sluice/tests/harness/bubble"
)

// numbered returns a message that tells what it is.
func numbered(key string, size int) []byte {
	return Message(fmt.Appendf(nil, "%s:%d:%s", key, size, bytes.Repeat([]byte{byte(size)}, size)))
}

// randomSender sends what it has credit for, and knows what it is owed.
type randomSender struct {
	*world
	r      *bubble.Router // that it is connected to
	name   string
	p      *Peer
	link   int // index among the router's incoming links
	next   uint32
	owed   map[uint32]bool                // unsettled: an outcome has to come, once
	waived map[uint32]bool                // aborted: an outcome may cross, while the abort waits in stage one
	told   map[uint32]messaging.StateKind // of those owed: outcomes that have come and are not settled
	stream []byte                         // the rest of a message that has begun
	id     uint32                         // its delivery-id
}

// randomReceiver takes what it gets.
type randomReceiver struct {
	*world
	r         *bubble.Router
	name      string
	p         *Peer
	count     uint32 // deliveries begun
	limit     uint32
	current   []byte
	id        uint32
	settled   bool
	open      bool // between the first and the last frame
	over      bool // settled before it was complete
	unsettled []uint32
	got       int
}

type world struct {
	t       *testing.T
	rnd     *rand.Rand
	r       *bubble.Router
	address string
	multi   bool
	trace   []string
	sent    map[string]bool
	seen    map[string]int
	redo    bool
}

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

func (w *world) fatal(p *Peer, format string, args ...any) {
	w.t.Helper()
	n := max(0, len(w.trace)-40)
	for _, s := range w.trace[n:] {
		w.t.Log(s)
	}
	for i := range w.r.Incomings() {
		if l := w.r.Incoming(i); l.Unsettled() != 0 {
			w.t.Logf("incoming %d: %d unsettled, %d undelivered, %d in stage one, held %v", i, l.Unsettled(), l.Undelivered(), l.Waiting(), l.Held())
		}
	}
	w.t.Logf("%+v", w.r.Address("q").View())
	w.r.Address("q").Destinations(func(s *links.Sender) {
		w.t.Logf("outgoing %s: %d bytes, load %d, credit %d", s.Endpoint().Name(), s.Outgoing(), s.Load(), s.Credit())
	})
	w.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), p.Trace())
}

func (s *randomSender) connect() {
	s.p = s.r.Connect(s.name)
	a := Sending(s.name, 0, s.address)
	a.ReceiverSettleMode = amqp.ReceiverSettleMode(s.rnd.Intn(2))
	s.p.Attach(a)
	s.link = s.r.Incomings() - 1
	s.note("%s is incoming link %d", s.name, s.link)
	s.next, s.owed, s.waived, s.stream = 0, make(map[uint32]bool), make(map[uint32]bool), nil
	s.told = make(map[uint32]messaging.StateKind)
}

func (s *randomSender) read() {
	for _, f := range s.p.All("") {
		code, _, _ := frames.PeekPerformative(f.Raw)
		switch code {
		case frames.PerformativeFlow:
		case frames.PerformativeDisposition:
			var d frames.Disposition
			f.Decode(&d)
			for id := uint32(d.First); ; id++ {
				if !s.owed[id] && !s.waived[id] && d.Settled {
					s.fatal(s.p, "%s: an outcome that is not owed: %s", s.name, f.Text)
				}
				if !d.State.IsTerminal() {
					s.fatal(s.p, "%s: no outcome: %s", s.name, f.Text)
				}
				switch before, told := s.told[id]; {
				case told && before != d.State.Kind:
					s.fatal(s.p, "%s: the outcome was %v: %s", s.name, before, f.Text)
				case told && !d.Settled:
					s.fatal(s.p, "%s: told twice: %s", s.name, f.Text)
				case d.Settled:
					delete(s.owed, id)
					delete(s.waived, id)
					delete(s.told, id)
				case s.owed[id]:
					s.told[id] = d.State.Kind
				}
				if id == uint32(d.Last) {
					break
				}
			}
		default:
			s.fatal(s.p, "%s: unexpected %s", s.name, f.Text)
		}
	}
}

func (s *randomSender) step() {
	s.read()
	switch k := s.rnd.Intn(40); {
	case k == 0:
		s.note("%s drops", s.name)
		s.p.Drop()
		s.connect()
	case k == 1 && len(s.owed) > 0:
		for id := range s.next {
			if !s.owed[id] || id == s.id && s.stream != nil {
				continue
			}
			s.note("%s settles %d", s.name, id)
			s.p.Write(Disposition(amqp.RoleSender, id, id, true, messaging.DeliveryState{}))
			synctest.Wait() // or else an outcome may cross
			delete(s.owed, id)
			break
		}
	case k < 5 && len(s.told) > 0:
		for id := range s.next {
			if s.told[id] == 0 || id == s.id && s.stream != nil {
				continue
			}
			s.note("%s settles %d, whose outcome it knows", s.name, id)
			s.p.Write(Disposition(amqp.RoleSender, id, id, true, messaging.DeliveryState{}))
			synctest.Wait() // or else the settlement may cross
			delete(s.owed, id)
			delete(s.told, id)
			break
		}
	case s.stream != nil:
		if s.rnd.Intn(6) == 0 {
			s.note("%s aborts %d", s.name, s.id)
			s.p.Write(Abort(0))
			s.stream = nil
			s.waived[s.id] = s.owed[s.id]
			delete(s.owed, s.id)
			delete(s.told, s.id)
			return
		}
		n := min(len(s.stream), 1+s.rnd.Intn(15_000))
		f := Next(0)
		f.More = n < len(s.stream)
		s.note("%s goes on with %d, %d of %d bytes", s.name, s.id, n, len(s.stream))
		if s.p.Window(0) < 1 {
			return
		}
		s.p.Write(With(f, s.stream[:n]))
		if s.stream = s.stream[n:]; !f.More {
			s.stream = nil
		}
	case s.r.Credit(s.link) > 0 && s.p.Window(0) > 0:
		size := []int{0, 10, 100, 3000, 60_000}[s.rnd.Intn(5)]
		key := fmt.Sprintf("%s/%d/%d", s.name, s.link, s.next)
		m := numbered(key, size)
		s.sent[key] = true
		f := Transfer(0, s.next)
		if s.rnd.Intn(3) == 0 {
			f.Settled, f.HasSettled = true, true
		} else {
			s.owed[s.next] = true
		}
		s.id = s.next
		s.next++
		n := min(len(m), 14_000)
		if s.rnd.Intn(2) == 0 {
			n = min(n, 1+s.rnd.Intn(200))
		}
		f.More = n < len(m)
		s.note("%s sends %d, %d of %d bytes, settled %v", s.name, s.id, n, len(m), f.Settled)
		s.p.Write(With(f, m[:n]))
		if f.More {
			s.stream = m[n:]
		}
	}
}

func (r *randomReceiver) connect() {
	r.p = r.r.Connect(r.name)
	r.attach()
}

func (r *randomReceiver) attach() {
	a := Receiving(r.name, 0, r.address)
	if r.rnd.Intn(3) == 0 {
		a.SenderSettleMode = amqp.SenderSettleSettled
	}
	a.ReceiverSettleMode = amqp.ReceiverSettleMode(r.rnd.Intn(2))
	r.p.Write(a)
	r.p.Until("", "attach")
	r.count, r.limit, r.open, r.unsettled = 0, 0, false, nil
}

func (r *randomReceiver) read() {
	for _, f := range r.p.All("") {
		code, _, _ := frames.PeekPerformative(f.Raw)
		switch code {
		case frames.PerformativeFlow:
			var fl frames.Flow
			f.Decode(&fl)
			if fl.HasHandle && fl.Drain {
				r.count = uint32(fl.DeliveryCount)
			}
		case frames.PerformativeDisposition:
			var d frames.Disposition
			f.Decode(&d)
			if d.Role != amqp.RoleSender || !d.Settled {
				r.fatal(r.p, "%s: %s", r.name, f.Text)
			}
			for id := d.First; ; id++ {
				r.forget(uint32(id))
				if id == d.Last {
					break
				}
			}
		case frames.PerformativeTransfer:
			var t frames.Transfer
			payload := f.Decode(&t)
			r.note("%s gets %s", r.name, f.Text)
			if !r.open {
				if r.count == r.limit {
					r.fatal(r.p, "%s: a delivery beyond the credit: %s", r.name, f.Text)
				}
				r.count++
				r.current, r.id, r.settled, r.over = nil, uint32(t.DeliveryID), false, false
			}
			r.settled = r.settled || t.Settled
			r.current = append(r.current, payload...)
			if r.open = t.More && !t.Aborted; r.open || t.Aborted {
				continue
			}
			r.complete(f)
		default:
			r.fatal(r.p, "%s: unexpected %s", r.name, f.Text)
		}
	}
}

func (r *randomReceiver) complete(f Frame) {
	b := r.current
	if i := bytes.Index(b, []byte("\x00\x53\x77")); i > 0 {
		b = b[i:] // a header that counts failures
	}
	m := decoded(r.t, b)
	parts := bytes.SplitN(m.Body.([]byte), []byte(":"), 3)
	var size int
	fmt.Sscan(string(parts[1]), &size)
	key := string(parts[0])
	r.note("%s has %s as %d, settled %v", r.name, key, r.id, r.settled)
	if !r.sent[key] || !bytes.Equal(b, numbered(key, size)) {
		r.fatal(r.p, "%s: message %q of %d bytes is not what was sent", r.name, key, len(b))
	}
	if r.seen[key]++; !r.multi && !r.redo && r.seen[key] > 1 {
		r.fatal(r.p, "%s: %s arrived twice", r.name, key)
	}
	r.got++
	if !r.settled && !r.over {
		r.unsettled = append(r.unsettled, r.id)
	}
}

func (r *randomReceiver) forget(id uint32) {
	for i, u := range r.unsettled {
		if u == id {
			r.unsettled = append(r.unsettled[:i], r.unsettled[i+1:]...)
			return
		}
	}
}

func (r *randomReceiver) step() {
	if r.rnd.Intn(3) > 0 {
		r.read()
	}
	switch k := r.rnd.Intn(30); {
	case k == 0:
		r.note("%s drops", r.name)
		r.p.Drop()
		r.connect()
	case k == 1:
		closed := r.rnd.Intn(2) == 0
		r.read()
		r.note("%s detaches, closed %v", r.name, closed)
		r.p.Write(Detach(0, closed))
		for !r.detached() {
		}
		r.attach()
	case k < 10:
		r.read() // else its view of the count is old
		n := uint32(r.rnd.Intn(6))
		r.note("%s gives credit %d at %d", r.name, n, r.count)
		f := Flow(0, r.count, n)
		f.Drain = r.rnd.Intn(4) == 0
		r.limit = r.count + n
		r.p.Write(f)
		synctest.Wait()
	case k < 20 && len(r.unsettled) > 0:
		id := r.unsettled[r.rnd.Intn(len(r.unsettled))]
		state := []messaging.DeliveryState{messaging.Accepted, messaging.Accepted, messaging.Released, messaging.Rejected(nil), messaging.Modified(true, false, nil), {}}[r.rnd.Intn(6)]
		if state.Kind == messaging.StateNone {
			state = messaging.Accepted
		}
		r.note("%s settles %d %v", r.name, id, state.Kind)
		r.p.Write(Settle(id, state))
		r.forget(id)
	case k > 20 && k < 25 && len(r.unsettled) > 0:
		id := r.unsettled[r.rnd.Intn(len(r.unsettled))]
		state := []messaging.DeliveryState{messaging.Accepted, messaging.Released, messaging.Modified(true, false, nil)}[r.rnd.Intn(3)]
		r.note("%s says %v of %d", r.name, state.Kind, id)
		r.p.Write(Disposition(amqp.RoleReceiver, id, id, false, state))
	case k == 25 && r.open && !r.settled && !r.over:
		r.note("%s says released of %d early", r.name, r.id)
		r.p.Write(Disposition(amqp.RoleReceiver, r.id, r.id, false, messaging.Released))
	case k == 20 && r.open && !r.settled && !r.over:
		r.note("%s settles %d early", r.name, r.id)
		r.over = true
		r.p.Write(Settle(r.id, messaging.Released))
	}
}

// detached reads up to the answer to a detach.
func (r *randomReceiver) detached() bool {
	for _, f := range r.p.All("") {
		r.note("%s discards %s", r.name, f.Text)
		if code, _, _ := frames.PeekPerformative(f.Raw); code == frames.PerformativeDetach {
			return true
		}
	}
	return false
}

// Whatever peers do within the rules, nobody is disconnected, messages arrive as
// they were sent and once, each sender hears one outcome for each delivery, and
// nothing is left.
func TestRandomTraffic(t *testing.T) {
	randomly(t, 60, randomTraffic)
}

// randomly runs f with every distribution, with and without redelivery, for a
// number of seeds; a sixth of them with -short.
func randomly(t *testing.T, seeds int, f func(t *testing.T, d forward.Distribution, redeliver bool, seed int64)) {
	if testing.Short() {
		seeds = max(seeds/6, 5)
	}
	for _, d := range []forward.Distribution{forward.Balanced, forward.Closest, forward.Multicast} {
		for _, redeliver := range []bool{false, true} {
			for seed := range seeds {
				if redeliver && d == forward.Multicast {
					continue
				}
				t.Run(fmt.Sprintf("%v/redeliver=%v/%d", d, redeliver, seed), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { f(t, d, redeliver, int64(seed)) })
				})
			}
		}
	}
}

// newWorld returns a world without routers, and what they are like: their marks
// are so low that they are reached all the time.
func newWorld(t *testing.T, d forward.Distribution, redeliver bool, seed int64) (*world, bubble.Options) {
	w := &world{t: t, rnd: rand.New(rand.NewSource(seed)), address: "q", multi: d == forward.Multicast, redo: redeliver, sent: make(map[string]bool), seen: make(map[string]int)}
	return w, bubble.Options{
		PipeBytes: 8192,
		Limits:    links.Limits{Capacity: 8, LinkBytes: 200_000, OutgoingHigh: 30_000, OutgoingLow: 10_000, UnboundBytes: 20_000},
		Treatment: func(_ string, t *forward.Treatment) {
			t.Distribution, t.Redeliver = d, redeliver
			t.HighCount, t.LowCount = 6, 2
			t.UnsettledTimeout = 60e9
			if seed%3 == 0 {
				t.Patience = 20e9
			}
		},
	}
}

func randomTraffic(t *testing.T, d forward.Distribution, redeliver bool, seed int64) {
	w, o := newWorld(t, d, redeliver, seed)
	w.r = bubble.New(t, o)
	var senders []*randomSender
	var receivers []*randomReceiver
	for i := range 3 {
		receivers = append(receivers, &randomReceiver{world: w, r: w.r, name: fmt.Sprint("in", i)})
		receivers[i].connect()
	}
	for i := range 3 {
		senders = append(senders, &randomSender{world: w, r: w.r, name: fmt.Sprint("out", i)})
		senders[i].connect()
	}
	for range 300 {
		switch w.rnd.Intn(12) {
		case 0:
			wait(w.rnd.Intn(3))
			w.r.Sweep()
		default:
			if w.rnd.Intn(2) == 0 {
				senders[w.rnd.Intn(3)].step()
			} else {
				receivers[w.rnd.Intn(3)].step()
			}
		}
	}
	w.finish(senders, receivers, w.r.Sweep)
	wait(10)                                // links that were detached and not closed, with deliveries of senders that have gone …
	w.finish(senders, receivers, w.r.Sweep) // … which are sent again
	w.r.Idle()
	if t.Failed() {
		w.fatal(senders[0].p, "not idle")
	}
}

// finish lets all receivers take all, and all senders finish: everything must end.
func (w *world) finish(senders []*randomSender, receivers []*randomReceiver, sweep func()) {
	quiet := 0
	for round := range 400 {
		busy := false
		for _, r := range receivers {
			before := r.got
			r.read()
			busy = busy || r.got != before || len(r.unsettled) > 0 || r.open
			for _, id := range r.unsettled {
				r.p.Write(Accept(id))
			}
			r.unsettled = nil
			if r.limit-r.count < 50 {
				r.limit = r.count + 100
				r.p.Write(Flow(0, r.count, 100))
			}
		}
		for _, s := range senders {
			s.read()
			for s.stream != nil && s.p.Window(0) > 0 {
				n := min(len(s.stream), 14_000)
				f := Next(0)
				f.More = n < len(s.stream)
				s.p.Write(With(f, s.stream[:n]))
				if s.stream = s.stream[n:]; !f.More {
					s.stream = nil
				}
				busy = true
			}
			busy = busy || len(s.owed) > 0
		}
		if quiet++; busy {
			quiet = 0
		} else if quiet == 3 {
			break
		}
		if round > 300 {
			wait(1) // links that were detached and not closed
			sweep()
		}
	}
	for _, s := range senders {
		if len(s.owed) > 0 || s.stream != nil {
			w.fatal(s.p, "%s has no outcome for %v, and %d bytes to send", s.name, s.owed, len(s.stream))
		}
	}
}
