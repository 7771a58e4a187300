package e2e

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/frames"
	"sluice/amqp/messaging"
	"sluice/amqp/transport"
	"sluice/links"
	"sluice/tests/harness/bubble"
)

// §2.5.6: windows count transfer frames. A delivery that stays unsettled takes
// no room in them.
func TestBC01_UnsettledDeliveryDoesNotFillWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Transport: transport.Config{MaxFrameSize: 512, SessionBytes: 16 * 512}})
		in := r.Receiver("in", "held", 1)
		in.Attach(Receiving("in2", 1, "fast"))
		in.Write(Flow(1, 0, 2000))
		out := r.Sender("out", "held")
		out.Attach(Sending("out2", 1, "fast"))
		out.Write(With(Transfer(0, 0), Text("kept")))
		in.Want("the message that will never be settled", "transfer handle=0 delivery-id=0")
		for i := uint32(1); i <= 1000; i++ {
			if out.Window(0) <= 0 {
				t.Fatalf("the router's window is closed after %d messages", i-1)
			}
			out.Write(With(Transfer(1, i), Text("fast")))
			in.Want("the other link goes on", fmt.Sprintf("transfer handle=1 delivery-id=%d", i))
			in.Write(Accept(i))
			out.Until("and its deliveries are settled", fmt.Sprintf("disposition first=%d settled state=accepted", i))
		}
		in.Write(Accept(0))
		out.Until("the first can be settled still", "disposition first=0 settled state=accepted")
		r.Idle()
	})
}

// The same from the other side: a client that does not reopen the window of one
// session stops that session and nothing else.
func TestBC01_ClosedWindowParksItsSessionOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Dial()
		in.Handshake(Open("in"))
		begin := Begin()
		begin.IncomingWindow = 2
		in.BeginSession(0, begin)
		in.BeginSession(1, Begin())
		in.Write(Receiving("a", 0, "parked"), On(1, Receiving("b", 0, "open")))
		in.Want("", "[0] attach")
		in.Want("", "[1] attach")
		parked := Flow(0, 0, 100)
		parked.IncomingWindow = 2
		in.Write(parked, On(1, Flow(0, 0, 1000)))
		out := r.Sender("out", "parked")
		other := r.Sender("other", "open")
		for i := range uint32(20) {
			out.Write(With(Settled(0, i), Text("x")))
			out.WantAnything()
		}
		in.Want("the window takes two", "[0] transfer delivery-id=0")
		in.Want("the window takes two", "[0] transfer delivery-id=1")
		in.WantIdle("§2.5.6: when remote-incoming-window is 0 no transfer is sent")
		for i := range uint32(500) {
			other.Write(With(Settled(0, i), Text("y")))
			in.Want("the session beside it is at full speed", fmt.Sprintf("[1] transfer delivery-id=%d", i))
		}
		again := SessionFlow()
		again.IncomingWindow = 100
		in.Write(again)
		for i := range 18 {
			in.Want("the window is open again", fmt.Sprintf("[0] transfer delivery-id=%d", i+2))
		}
		in.WantIdle("all is there")
		r.Idle()
	})
}

// §2.5.6: "next-incoming-id … is incremented for each transfer frame"; §2.6.7:
// credit counts deliveries.
func TestBC03_WindowsCountFramesAndCreditCountsDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Transport: transport.Config{MaxFrameSize: 512, SessionBytes: 64 * 512}})
		in := r.Dial()
		open := Open("in")
		open.MaxFrameSize = 512
		in.Handshake(open)
		in.BeginSession(0, Begin())
		in.Attach(Receiving("in", 0, "q"))
		in.Write(Flow(0, 0, 50))
		out := r.Sender("out", "q")
		frames := 0
		for i := range uint32(20) {
			m := Message(bytes.Repeat([]byte{byte(i)}, 100_000))
			sent := out.Stream(Transfer(0, i), m, 400)
			frames += sent
			first, got, count := in.Message("a whole message")
			if !bytes.Equal(got, m) || first.DeliveryID != amqp.DeliveryNumber(i) {
				t.Fatalf("message %d arrived as %d bytes with id %d", i, len(got), first.DeliveryID)
			}
			if count < len(m)/512 {
				t.Fatalf("%d frames of at most 512 bytes for %d bytes", count, len(m))
			}
			in.Write(Accept(i))
			out.Until("settled", fmt.Sprintf("disposition first=%d", i))
		}
		out.All("")
		out.Write(Echo(SessionFlow()))
		out.Want("next-incoming-id counts frames, and all of the window is open", fmt.Sprintf("flow next-incoming-id=%d incoming-window=64", frames))
		r.Idle()
	})
}

// §2.8.10: serial numbers wrap, and any initial value is legal.
func TestBC05_CountersWrap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 100)
		out := r.Dial()
		out.Handshake(Open("out"))
		begin := Begin()
		begin.NextOutgoingID = 0xFFFFFFF0
		out.BeginSession(0, begin)
		attach := Sending("out", 0, "q")
		attach.InitialDeliveryCount = 0xFFFFFFF0
		out.Attach(attach)
		out.Want("credit is counted from the sender's delivery-count", "flow next-incoming-id=4294967280 delivery-count=4294967280 link-credit=1")
		for i := range uint32(64) {
			out.Write(With(Transfer(0, 0xFFFFFFF0+i), Text("x")))
			in.Want("each arrives", fmt.Sprintf("transfer delivery-id=%d", i))
		}
		out.All("")
		out.Write(Echo(Flow(0, 0, 0)))
		out.Want("16 before the wrap and 48 after it", "flow next-incoming-id=48 delivery-count=48")
		in.Write(Disposition(amqp.RoleReceiver, 0, 31, true, messaging.Accepted))
		out.Want("outcomes of consecutive ids are one range, across the wrap", "disposition first=4294967280 last=15 settled state=accepted")
		// §2.7.6, with a range that spans the wrap: the sender settles 16 … 47.
		out.Write(Disposition(amqp.RoleSender, 0xFFFFFFFA, 47, true, messaging.DeliveryState{}))
		in.All("")
		r.Idle()
	})
}

// §2.5.6: a flow that opens the window wakes whoever has something to send.
func TestBC07_ReopenedWindowWakesLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Dial()
		in.Handshake(Open("in"))
		begin := Begin()
		begin.IncomingWindow = 1
		in.BeginSession(0, begin)
		in.Attach(Receiving("in", 0, "q"))
		flow := func(window uint32) *frames.Flow {
			f := SessionFlow()
			f.IncomingWindow = window
			return f
		}
		credit := Flow(0, 0, 10_000)
		credit.IncomingWindow = 1
		in.Write(credit)
		out := r.Sender("out", "q")
		id := uint32(0)
		send := func(n int) {
			for range n {
				out.Write(With(Settled(0, id), Text("x")))
				out.WantAnything()
				id++
			}
		}
		send(200)
		for i := range 200 {
			in.Want("one frame for a window of one", fmt.Sprintf("transfer delivery-id=%d", i))
			in.WantIdle("the window is closed")
			in.Write(flow(1))
		}
		send(100) // the first goes at once, for the window that is still open
		in.Want("", "transfer delivery-id=200")
		in.WantIdle("the window is closed")
		in.Write(flow(500))
		for i := range 99 {
			in.Want("a wide window", fmt.Sprintf("transfer delivery-id=%d", i+201))
		}
		in.WantIdle("that was all")
		r.Idle()
	})
}

// §2.5.6: "remote-incoming-window = next-incoming-id(flow) + incoming-window(flow)
// - next-outgoing-id(endpoint)".
func TestFlowCountsFramesOnTheirWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 100)
		out := r.Sender("out", "q")
		for i := range uint32(10) {
			out.Write(With(Settled(0, i), Text("x")))
			out.WantAnything()
		}
		stale := SessionFlow() // sent when only 4 had arrived
		stale.NextIncomingID, stale.HasNextIncomingID, stale.IncomingWindow = 4, true, 8
		in.Write(stale)
		in.All("")
		for i := range uint32(10) {
			out.Write(With(Settled(0, 10+i), Text("x")))
			out.WantAnything()
		}
		in.Want("4 + 8 - 10 frames may be sent", "transfer delivery-id=10")
		in.Want("4 + 8 - 10 frames may be sent", "transfer delivery-id=11")
		in.WantIdle("and no more")
		in.Write(SessionFlow())
		if n := len(in.All("transfer")); n != 8 {
			t.Errorf("%d messages came with the window", n)
		}
	})
}

func TestFlowFromTheFutureEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p := r.Receiver("in", "q", 1)
		f := SessionFlow()
		f.NextIncomingID, f.HasNextIncomingID, f.IncomingWindow = 5, true, 10
		p.Write(f)
		p.Want("nothing has been sent, so no transfer 4 can have arrived", "end ~condition=amqp:invalid-field")
		p.Write(&frames.End{})
		p.BeginSession(0, Begin())
	})
}

// §2.7.4: echo requests "the partner to send a flow".
func TestEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		in := r.Receiver("in", "q", 7)
		in.Write(Echo(SessionFlow()))
		in.Want("the session's state", "flow next-incoming-id=0 next-outgoing-id=0 !handle")
		in.Write(Echo(Flow(0, 0, 9)))
		in.Want("the link's state", "flow handle=0 delivery-count=0 link-credit=9")
		out := r.Sender("out", "q")
		out.Write(Echo(Flow(0, 0, 0)))
		out.Want("the link's state", "flow handle=0 delivery-count=0 link-credit=1")
		out.WantIdle("one answer for one question")
	})
}

// Stage one holds what its window says and no more; a peer that sends beyond the
// window violates it (§2.8.17).
func TestWindowBoundsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{
			Transport: transport.Config{MaxFrameSize: 512, SessionBytes: 16 * 512},
			Limits:    links.Limits{UnboundBytes: 1000},
		})
		in := r.Receiver("in", "q", 0)
		out := r.Sender("out", "q")
		piece := bytes.Repeat([]byte{1}, 450)
		out.Write(With(More(Transfer(0, 0)), Message(make([]byte, 10_000))[:450]))
		sent := 1
		for range 2 { // all that is granted, and all that asking again grants
			out.Write(Echo(SessionFlow()))
			for ; out.Window(0) > 0; sent++ {
				out.Write(With(More(Next(0)), piece))
			}
		}
		if w := r.Incoming(0).Session().Waiting(); w != 16 {
			t.Errorf("%d frames wait in a window of 16", w)
		}
		if b := r.Incoming(0).Waiting(); b != 16*450 {
			t.Errorf("%d bytes wait", b)
		}
		// Only transfers wait: everything else is handled at once.
		out.WantAnything()
		out.Write(Echo(Flow(0, 0, 0)))
		out.Want("flows are answered while transfers wait", "flow handle=0 delivery-count=1 incoming-window=0")
		// A destination with credit takes it all, and the window opens.
		in.Write(Flow(0, 0, 1))
		got := 0
		for _, f := range in.All("transfer more") {
			got += len(f.Payload)
		}
		if got != 450*sent {
			t.Errorf("%d of %d bytes arrived", got, 450*sent)
		}
		if out.Window(0) < 8 {
			t.Errorf("the window is %d", out.Window(0))
		}
		out.Write(With(Next(0), piece))
		in.Want("the end of the message", "transfer !more")
		in.Write(Accept(0))
		out.Until("its outcome", "disposition first=0 settled state=accepted")
		r.Idle()
	})
}

func TestTransferBeyondTheWindowEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{
			Transport: transport.Config{MaxFrameSize: 512, SessionBytes: 16 * 512},
			Limits:    links.Limits{UnboundBytes: 100},
		})
		r.Receiver("in", "q", 0)
		out := r.Sender("out", "q")
		out.Write(With(More(Transfer(0, 0)), Message(make([]byte, 10_000))[:450]))
		for out.Window(0) > 0 {
			out.Write(With(More(Next(0)), []byte("x")))
		}
		out.WantAnything()
		out.Write(With(More(Next(0)), []byte("x")))
		out.Want("§2.8.17: the window was violated", "end ~condition=amqp:session:window-violation")
		out.Write(&frames.End{})
		out.BeginSession(0, Begin())
		r.Idle()
	})
}
