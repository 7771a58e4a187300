package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/encoding"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/router/forward"
	"sluice/router/uplink"
	"sluice/tests/harness/bubble"
)

// captured are the frames of one direction of the recorded uplink between an edge
// router QDR.E and an interior one QDR.A of the first implementation, up to an
// offset, each with its offset.
func captured(t testing.TB, name string, from, to int) (list []capturedFrame) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "amqp", "frames", "testdata", "captures", "edge-uplink."+name+".bin"))
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < min(to, len(b)); {
		if bytes.HasPrefix(b[at:], []byte("AMQP")) {
			at += frames.ProtocolHeaderSize
			continue
		}
		h, err := frames.ParseHeader(b[at:])
		if err != nil {
			t.Fatal(err)
		}
		if at >= from {
			list = append(list, capturedFrame{at, h.Channel, b[at : at+int(h.Size)], b[at+int(h.BodyOffset()) : at+int(h.Size)]})
		}
		at += int(h.Size)
	}
	return list
}

type capturedFrame struct {
	at      int
	channel uint16
	raw     []byte
	body    []byte
}

func capturedAt(t testing.TB, name string, at int) capturedFrame {
	t.Helper()
	list := captured(t, name, at, at+1)
	if len(list) != 1 || list[0].at != at {
		t.Fatalf("no frame begins at %d", at)
	}
	return list[0]
}

func (c capturedFrame) attach(t testing.TB) *frames.Attach {
	t.Helper()
	a := new(frames.Attach)
	if _, err := a.Decode(c.body); err != nil {
		t.Fatal(err)
	}
	return a
}

// payload is the message of a transfer.
func (c capturedFrame) payload(t testing.TB) []byte {
	t.Helper()
	b, err := new(frames.Transfer).Decode(c.body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// like compares an attach with a recorded one, but for its name.
func like(t *testing.T, what string, got *frames.Attach, want capturedFrame) {
	t.Helper()
	w := want.attach(t)
	if len(got.Name) != len(w.Name) || !strings.HasPrefix(got.Name, "qdlink.") {
		t.Errorf("%s: the name is %q, not like %q", what, got.Name, w.Name)
	}
	w.Name, w.Handle = got.Name, got.Handle
	if a, b := frames.Format(0, w.Append(nil)), frames.Format(0, got.Append(nil)); a != b {
		t.Errorf("%s:\nwant %s\ngot  %s", what, a, b)
	}
}

// uplinked is an edge router QDR.E whose uplink has its first links.
type uplinked struct {
	*bubble.Edge
	p *Peer
}

func (u *uplinked) attach(why string, channel uint16) *frames.Attach {
	u.T.Helper()
	a := new(frames.Attach)
	u.p.Want(why, fmt.Sprintf("[%d] attach", channel)).Decode(a)
	return a
}

// answer answers an attach as the interior router of the recording does.
func (u *uplinked) answer(channel uint16, a *frames.Attach, like capturedFrame) uint32 {
	u.T.Helper()
	reply := like.attach(u.T)
	reply.Name, reply.Handle = a.Name, a.Handle
	u.p.Write(On(channel, reply))
	return a.Handle
}

func newUplinked(t *testing.T, offered ...amqp.Symbol) *uplinked {
	u := &uplinked{Edge: bubble.NewEdge(bubble.New(t, bubble.Options{}), "QDR.E")}
	u.p = u.DialUplink()
	open := Open("QDR.A")
	open.OfferedCapabilities = offered
	u.p.Handshake(open)
	for range 2 {
		u.p.Want("§1.4: a session for proxies, and one for services", "begin")
	}
	for i, l := range []struct {
		channel uint16
		at      int
		name    string
		answer  int
	}{{0, 353, "anonymous", 352}, {0, 458, "downlink", 489}, {1, 618, "tracking", 649}, {1, 1096, "heartbeat", 1313}} {
		a := u.attach(l.name, l.channel)
		like(t, l.name, a, capturedAt(t, "E-to-A", l.at))
		if i == 0 {
			for ch := range uint16(2) {
				b := Begin()
				b.HasRemoteChannel, b.RemoteChannel = true, ch
				u.p.Write(On(ch, b))
			}
		}
		u.answer(l.channel, a, capturedAt(t, "A-to-E", l.answer))
	}
	f := Flow(3-1, 0, 2)
	f.Handle = 1
	u.p.Write(Frame{Channel: 1, Body: f})
	u.p.Until("§11.2: the downlink's credit", "[0] flow handle=1 link-credit=1000")
	u.p.Until("the tracking link's credit", "[1] flow handle=0 link-credit=1000")
	u.p.WantIdle("nobody is here")
	return u
}

// An edge router attaches the links of the first implementation, in its order and
// form, proxies for its clients, and sends and takes its messages.
func TestUplink_AsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUplinked(t)
		// A consumer here: a proxy receiver.
		in := u.Receiver("in", "ed.q", 10)
		a := u.attach("a proxy for the consumer", 0)
		like(t, "proxy for a consumer", a, capturedAt(t, "E-to-A", 1763))
		h := u.answer(0, a, capturedAt(t, "A-to-E", 1894))
		u.p.Want("a credit of one until a message shows its size", fmt.Sprintf("[0] flow handle=%d link-credit=1", h))
		m := capturedAt(t, "A-to-E", 2077)
		transfer := Transfer(h, 0)
		u.p.Write(With(transfer, m.payload(t)))
		f := in.Until("the message comes down", "transfer")
		if want := []byte("x-user"); !bytes.Contains(f.Payload, want) || bytes.Contains(f.Payload, []byte("x-opt-qd")) {
			t.Errorf("the client gets % x", f.Payload)
		}
		in.Write(Accept(0))
		u.p.Until("its outcome goes up", "[0] disposition role=receiver first=0 settled state=accepted")
		in.Write(Detach(0, true))
		u.p.Until("the proxy goes with the last consumer", fmt.Sprintf("[0] detach handle=%d closed", h))
		u.p.Write(Detach(h, true))

		// A producer here: a proxy sender.
		out := u.Connect("out")
		out.Attach(Sending("out", 0, "up.q"))
		a = u.attach("a proxy for the producer", 0)
		like(t, "proxy for a producer", a, capturedAt(t, "E-to-A", 2744))
		h = u.answer(0, a, capturedAt(t, "A-to-E", 2641))
		u.p.Write(Flow(h, 0, 250))
		out.WantIdle("§11.4: nobody is known beyond")
		tracked := Settled(0, 0)
		u.p.Write(With(tracked, capturedAt(t, "A-to-E", 2786).payload(t)).On(1))
		out.Want("there is somebody", "flow handle=0 link-credit=1")
		want := capturedAt(t, "E-to-A", 2926).payload(t)
		out.Write(With(Transfer(0, 0), encoded(t, &messaging.Message{
			Header:             &messaging.Header{},
			MessageAnnotations: messageAnnotation("x-user", "keep"),
			Properties:         &messaging.Properties{MessageID: "0"}, Body: "m0",
		})))
		f = u.p.Until("the message goes up", fmt.Sprintf("[0] transfer handle=%d", h))
		if !bytes.Equal(f.Payload, want) {
			t.Errorf("up goes\n% x, and not\n% x", f.Payload, want)
		}
		u.p.Write(Accept(0))
		out.Until("", "disposition first=0 settled state=accepted")

		// BC-61: the destination beyond is gone.
		u.p.Write(With(Settled(0, 1), uplink.AppendTracked(nil, "M0up.q", false)).On(1))
		synctest.Wait()
		out.WantAnything()
		if c := u.Credit(0); c != 0 {
			t.Errorf("credit of %d with nobody there", c)
		}

		// §11.6: a heartbeat each 2 s.
		time.Sleep(2 * time.Second)
		f = u.p.Until("a heartbeat", "[1] transfer handle=1 settled=true")
		if got, want := f.Payload, []byte{0, 0x53, 0x77, 0x54, 0}; !bytes.Equal(got, want) {
			t.Errorf("the heartbeat is % x", got)
		}
	})
}

func messageAnnotation(k, v string) encoding.Map {
	return encoding.Map{{Key: amqp.Symbol(k), Value: v}}
}

// producer makes the edge router send to q, and returns its client and the handle
// of the proxy.
func (u *uplinked) producer() (out *Peer, h uint32) {
	out = u.Connect("out")
	out.Attach(Sending("out", 0, "q"))
	a := u.attach("a proxy for the producer", 0)
	h = u.answer(0, a, capturedAt(u.T, "A-to-E", 2641))
	u.p.Write(Flow(h, 0, 250))
	u.p.Write(With(Settled(0, 0), uplink.AppendTracked(nil, "M0q", true)).On(1))
	out.Want("there is somebody", "flow handle=0 link-credit=1")
	return out, h
}

// large sends 200 kB of a message that goes on, and returns them.
func large(out *Peer) []byte {
	part := Message(make([]byte, 1_000_000))[:200_000]
	transfer := More(Transfer(0, 0))
	for p := range slices.Chunk(part, 10_000) {
		out.Write(With(transfer, p))
		transfer = More(Next(0))
		synctest.Wait()
	}
	return part
}

// §2.5: a message that is not complete has a link and session of its own where the
// interior router offers that, and is on the proxy where it does not.
func TestUplink_Streams(t *testing.T) {
	t.Run("offered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			u := newUplinked(t, "qd.streaming-links")
			out, _ := u.producer()
			large(out)
			u.p.Until("a session", "[2] begin")
			a := u.attach("a link with plain termini", 2)
			like(t, "stream", a, capturedAt(t, "E-to-A", 353))
			b := Begin()
			b.HasRemoteChannel, b.RemoteChannel = true, 2
			u.p.Write(On(2, b))
			u.answer(2, a, capturedAt(t, "A-to-E", 352))
			u.p.Write(Frame{Channel: 2, Body: Flow(0, 0, 10)})
			f := u.p.Until("the message", "[2] transfer handle=0 more")
			if !bytes.Contains(f.Payload, []byte("x-opt-qd.to\xa1\x01q")) {
				t.Errorf("without its address: % x", f.Payload[:60])
			}
			out.Write(Abort(0))
			u.p.Until("", "[2] transfer handle=0 aborted")
		})
	})
	t.Run("not offered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			u := newUplinked(t)
			out, h := u.producer()
			large(out)
			u.p.Until("the message", fmt.Sprintf("[0] transfer handle=%d more", h))
			out.Write(Abort(0))
			u.p.Until("", "[0] transfer aborted")
		})
	})
	t.Run("refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			u := newUplinked(t, "qd.streaming-links")
			out, h := u.producer()
			large(out)
			u.p.Until("a session", "[2] begin")
			a := u.attach("a link with plain termini", 2)
			b := Begin()
			b.HasRemoteChannel, b.RemoteChannel = true, 2
			u.p.Write(On(2, b), On(2, &frames.Attach{Name: a.Name, Handle: 0, Role: amqp.RoleReceiver, Source: a.Source}),
				On(2, &frames.Detach{Handle: 0, Closed: true, Error: amqp.Errorf(amqp.CondNotImplemented, "no")}))
			u.p.Until("the message goes on the proxy instead", fmt.Sprintf("[0] transfer handle=%d more", h))
			out.Write(Abort(0))
			u.p.Until("", "[0] transfer aborted")
		})
	})
}

// An uplink whose interior router refuses one of the links that it needs is
// closed, so that another is used.
func TestUplink_RefusedLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := bubble.NewEdge(bubble.New(t, bubble.Options{}), "E")
		p := e.DialUplink()
		p.Handshake(Open("A"))
		p.Want("", "begin")
		p.Want("", "begin")
		a := new(frames.Attach)
		p.Want("", "attach").Decode(a)
		b := Begin()
		b.HasRemoteChannel, b.RemoteChannel = true, 0
		p.Write(b, &frames.Attach{Name: a.Name, Handle: a.Handle, Role: amqp.RoleReceiver, Source: a.Source},
			&frames.Detach{Handle: a.Handle, Closed: true, Error: amqp.Errorf(amqp.CondNotAllowed, "no")})
		p.Until("it says why", "close ~amqp:not-allowed")
	})
}

// An interior router that lets heartbeats wait is gone.
func TestUplink_SilentInterior(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUplinked(t)
		for i := range uint32(5) { // it takes them, and gives the credit back
			time.Sleep(2 * time.Second)
			u.p.Until("a heartbeat", "[1] transfer handle=1")
			u.p.Write(Frame{Channel: 1, Body: Flow(1, i+1, 2)})
		}
		time.Sleep(8 * time.Second)
		u.p.Until("the last that there is credit for", "[1] transfer handle=1")
		u.p.Want("", "[1] transfer handle=1")
		u.p.WantIdle("two more wait")
		time.Sleep(2 * time.Second)
		u.p.Until("10 s after the last credit", "close ~amqp:connection:forced")
	})
}

// A proxy that the interior router refuses is not asked for all the time.
func TestUplink_RefusedProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUplinked(t)
		u.Receiver("in", "q", 10)
		for _, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			a := u.attach("a proxy", 0)
			u.p.Write(&frames.Attach{Name: a.Name, Handle: a.Handle, Role: amqp.RoleSender, Target: a.Target, HasInitialDeliveryCount: true},
				&frames.Detach{Handle: a.Handle, Closed: true, Error: amqp.Errorf(amqp.CondNotFound, "Node not found")})
			u.p.Want("", "detach")
			time.Sleep(wait - time.Millisecond)
			u.p.All("transfer") // heartbeats
			time.Sleep(time.Millisecond)
		}
		u.attach("and again", 0)
	})
}

// An interior router answers an edge router of the first implementation as that
// expects, up to its link routes, of which there are none.
func TestEdges_Replay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		r.SetID("QDR.A")
		stop := r.Services()
		defer stop()
		in := r.Receiver("in", "up.q", 10)
		p := r.DialEdge()
		var all []Frame
		var temporary []string
		for _, f := range captured(t, "E-to-A", 55, 3569) {
			if f.at == 55 {
				p.Write(Header(frames.ProtoAMQP), f.raw)
				p.WantHeader("", frames.ProtoAMQP)
				continue
			}
			// Flows and dispositions tell of what the other end has sent then.
			var flow frames.Flow
			if flow.Decode(f.body); flow.NextIncomingID != 0 || bytes.HasPrefix(f.body, []byte{0, 0x53, 0x15}) {
				continue
			}
			for i, was := range []string{"pjFtgpujurjoSdO", "Y_exrY6tib_0wZY"} {
				if len(temporary) > i { // where it wants replies is named differently here
					f.raw = bytes.ReplaceAll(f.raw, []byte(was), []byte(temporary[i]))
				}
			}
			p.Write(f.raw)
			synctest.Wait()
			if f.at == 2926 {
				f := in.Until("its message has arrived", "transfer")
				if bytes.Contains(f.Payload, []byte("x-opt-qd")) || !bytes.Contains(f.Payload, []byte("m0")) {
					t.Errorf("% x", f.Payload)
				}
				in.Write(Accept(0))
			}
			for _, got := range p.All("") {
				all = append(all, got)
				if _, name, ok := strings.Cut(got.Text, "QDR.A/temp."); ok {
					temporary = append(temporary, name[:15])
				}
			}
		}
		all = append(all, p.All("")...)
		var lines []string
		replies := 0
		for _, f := range all {
			lines = append(lines, f.Text)
			if strings.Contains(f.Text, "end") && strings.Contains(f.Text, "error") || strings.Contains(f.Text, "error=") {
				t.Errorf("the interior router ends something: %s", f.Text)
			}
			if bytes.Contains(f.Payload, []byte("client-0000")) {
				replies++
			}
		}
		text := strings.Join(lines, "\n")
		for _, want := range []string{
			"[0] flow next-incoming-id=0",            // credit of the anonymous link
			`capabilities=[qd.router-edge-downlink]`, // the downlink
			`address="amqp:/_topo/0/QDR.A/temp.`,     // where replies go
			`target={address="$management"`,          // requests are taken
			`target={address="_$qd.addr_lookup"`,     //
			`[0] disposition role=receiver first=0 settled state=accepted`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %s in\n%s", want, text)
			}
		}
		if replies != 2 {
			t.Errorf("%d replies to two lookups", replies)
		}
		tracked := uplink.AppendTracked(nil, "M0up.q", true)
		found := false
		for _, f := range all {
			found = found || bytes.Equal(f.Payload, tracked)
		}
		if !found {
			t.Errorf("the edge router was not told of its destination")
		}
	})
}

// An edge router is told of the destinations of what it sends to: at once, of each
// change, and not of its own.
func TestEdges_Tracking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p := r.DialEdge()
		p.Handshake(Open("E"))
		p.BeginSession(0, Begin())
		down := uplink.AttachOf(amqp.RoleReceiver, "E", "", uplink.CapDownlink)
		p.Attach(down)
		tracking := uplink.AttachOf(amqp.RoleReceiver, uplink.Tracking, "")
		tracking.Handle = 1
		p.Attach(tracking)
		p.Write(Flow(1, 0, 100))
		told := func(why string, want ...bool) {
			t.Helper()
			synctest.Wait()
			var got []bool
			for _, f := range p.All("transfer handle=1") {
				key, has, err := uplink.DecodeTracked(f.Payload)
				if err != nil || key != "M0q" {
					t.Fatal(key, err)
				}
				got = append(got, has)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: told %v, want %v", why, got, want)
			}
		}
		out := Sending("out", 2, "q")
		p.Write(out)
		told("nobody is there", false)
		in := r.Receiver("in", "q", 10)
		told("somebody has come", true)
		in.Write(Detach(0, true))
		told("and gone", false)
		p.Write(Receiving("own", 3, "q"))
		told("its own receivers do not count")
		in.Write(Receiving("in2", 0, "q"))
		told("others do", true)
		in.Write(Receiving("in3", 1, "q"), Detach(0, true))
		told("one is enough")
		in.Write(Detach(1, true))
		told("the last is gone", false)
		p.Write(Detach(3, true))
		told("that changes nothing")
		// An edge router that does not read hears of the last state only.
		p.Write(Flow(1, 5, 0))
		synctest.Wait()
		for i := range 9 {
			in.Write(Receiving(fmt.Sprint("x", i), 0, "q"))
			synctest.Wait()
			in.Write(Detach(0, true))
			synctest.Wait()
		}
		in.Write(Receiving("last", 0, "q"))
		told("it gives no credit")
		p.Write(Flow(1, 5, 1000))
		synctest.Wait()
		frames := p.All("transfer handle=1")
		if len(frames) == 0 {
			t.Fatal("it hears nothing")
		}
		if _, has, _ := uplink.DecodeTracked(frames[len(frames)-1].Payload); !has {
			t.Error("the last that it hears is not the truth")
		}
	})
}

// An edge router that stops its heartbeats is given up after 8 s.
func TestEdges_SilentEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p := r.DialEdge()
		p.Handshake(Open("E"))
		p.BeginSession(0, Begin())
		p.Attach(uplink.AttachOf(amqp.RoleReceiver, "E", "", uplink.CapDownlink))
		beat := uplink.AttachOf(amqp.RoleSender, "", uplink.Heartbeat)
		beat.Handle, beat.Source = 1, nil
		p.Attach(beat)
		p.Want("§11.2", "flow handle=1 link-credit=2")
		for i := range uint32(5) {
			p.Write(With(Settled(1, i), uplink.AppendHeartbeat(nil, i)))
			time.Sleep(2 * time.Second)
			r.Edges().Check(time.Now())
		}
		p.All("flow")
		p.WantIdle("it beats")
		time.Sleep(7 * time.Second)
		r.Edges().Check(time.Now())
		synctest.Wait()
		p.Until("it has been silent for 9 s", "close ~amqp:connection:forced")
	})
}

// What an edge router may say of a message is where it goes to, not where it has
// been.
func TestEdges_Annotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := bubble.NewMesh(t, bubble.Options{}, "A", "B").Line()
		a := m.Router("A")
		in := m.Router("B").Receiver("in", "q", 10)
		m.Soon()
		p := a.DialEdge()
		p.Handshake(Open("E"))
		p.BeginSession(0, Begin())
		p.Attach(Sending("up", 0, ""))
		p.WantAnything()
		p.Write(With(Transfer(0, 0), encoded(t, &messaging.Message{
			MessageAnnotations: encoding.Map{
				{Key: amqp.Symbol("x-opt-qd.to"), Value: "q"},
				{Key: amqp.Symbol("x-opt-qd.ingress"), Value: "0/B"},
				{Key: amqp.Symbol("x-opt-qd.trace"), Value: []any{"0/B", "0/A"}},
			}, Body: "x",
		})))
		in.Until("a trace that is not believed does not stop it", "transfer")
		in.Write(Accept(0))
		p.Until("", "disposition first=0 settled state=accepted")
	})
}

// When what waits from an edge router can go nowhere any more, it comes back, and
// those who were kept from sending while it waited may send.
func TestEdges_StrandedMessagesHoldNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Treatment: func(_ string, t *forward.Treatment) { t.HighCount, t.LowCount = 4, 2 }})
		in := r.Receiver("in", "q", 0)
		p := r.DialEdge()
		p.Handshake(Open("E"))
		p.BeginSession(0, Begin())
		p.Attach(Receiving("own", 0, "q"))
		p.Write(Sending("up", 1, "q"))
		p.Until("", "flow handle=1")
		for id := range uint32(4) {
			p.Write(With(Transfer(1, id), Text("m")))
			synctest.Wait()
		}
		out := r.Connect("out")
		out.Attach(Sending("out", 0, "q"))
		out.WantIdle("the address is full")
		in.Write(Detach(0, true))
		p.Until("nobody is left but receivers of the edge router", "disposition role=receiver first=0 last=3 settled state=released")
		out.Want("there is room", "flow handle=0 link-credit=1")
	})
}
