package e2e

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/messaging"
	"sluice/router/forward"
	"sluice/tests/harness/bubble"
)

// network is two interior routers, and an edge router at each.
type network struct {
	*bubble.Mesh
	e, f *bubble.Edge
	up   *bubble.Cable // of e, to A
}

func edgeNetwork(t *testing.T, o bubble.Options) *network {
	n := &network{Mesh: bubble.NewMesh(t, o, "A", "B").Line()}
	n.e, n.f = n.AddEdge(o, "E"), n.AddEdge(o, "F")
	n.up = n.e.Join(n.Router("A"))
	n.f.Join(n.Router("B"))
	n.Soon()
	return n
}

// at is a router of the network by its name.
func (n *network) at(name string) *bubble.Router {
	switch name {
	case "E":
		return n.e.Router
	case "F":
		return n.f.Router
	}
	return n.Router(name)
}

// ways runs a test for each way that a message can take through edge routers.
func ways(t *testing.T, o bubble.Options, test func(n *network, from, to *bubble.Router)) {
	for _, way := range []string{"E-E", "E-A", "E-B", "A-E", "B-E", "E-F"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := edgeNetwork(t, o)
				test(n, n.at(way[:1]), n.at(way[2:]))
				n.Idle()
				n.e.Idle()
				n.f.Idle()
			})
		})
	}
}

// Outcomes cross edge routers like any.
func TestEdge_Outcomes(t *testing.T) {
	for name, state := range map[string]messaging.DeliveryState{
		"accepted": messaging.Accepted, "released": messaging.Released,
		"rejected": messaging.Rejected(&amqp.Error{Condition: "test:no", Description: "not this"}),
		"modified": messaging.Modified(true, true, nil),
	} {
		t.Run(name, func(t *testing.T) {
			ways(t, bubble.Options{}, func(n *network, from, to *bubble.Router) {
				in := to.Receiver("in", "q", 10)
				n.Soon()
				out := from.Sender("out", "q")
				n.Soon()
				out.Write(With(Transfer(0, 0), Text("m")))
				f := in.Until("", "transfer delivery-id=0")
				if !bytes.Equal(f.Payload, Text("m")) {
					n.T.Errorf("the message has changed: % x", f.Payload)
				}
				in.Write(Settle(0, state))
				synctest.Wait()
				got := out.Until("", "disposition first=0 settled")
				if w := Wire(Disposition(amqp.RoleReceiver, 0, 0, true, state)); !bytes.Contains(w, got.Raw[len(got.Raw)-8:]) {
					n.T.Errorf("got %s", got.Text)
				}
			})
		})
	}
}

// Settled messages arrive settled, however many and whether or not the receiver
// takes them at once.
func TestEdge_Presettled(t *testing.T) {
	ways(t, bubble.Options{}, func(n *network, from, to *bubble.Router) {
		in := to.Receiver("in", "q", 5)
		n.Soon()
		out := from.Sender("out", "q")
		n.Soon()
		sent := uint32(0)
		for from.Credit(0) > 0 && sent < 2000 {
			for range from.Credit(0) {
				out.Write(With(Settled(0, sent), Text(fmt.Sprint(sent))))
				sent++
			}
			synctest.Wait()
		}
		out.WantAnything()
		n.Soon()
		in.Write(Flow(0, 0, 100_000))
		for i := range sent {
			f := in.Until(fmt.Sprintf("message %d of %d", i, sent), "transfer")
			if !bytes.Equal(f.Payload, Text(fmt.Sprint(i))) || !strings.Contains(f.Text, "settled=true") {
				n.T.Fatalf("message %d is %s", i, f.Text)
			}
		}
	})
}

// BC-61: the credit of senders follows the last receiver anywhere, both ways and
// every time.
func TestEdge_CreditFollowsReceivers(t *testing.T) {
	ways(t, bubble.Options{}, func(n *network, from, to *bubble.Router) {
		out := from.Connect("out")
		out.Attach(Sending("out", 0, "q"))
		n.Soon()
		in := to.Connect("in")
		for i := range 30 {
			if c := from.Credit(0); c != 0 {
				n.T.Fatalf("round %d: credit of %d without a receiver", i, c)
			}
			in.Write(Receiving(fmt.Sprint("in", i), 0, "q"), Flow(0, 0, 10))
			n.Soon()
			if from.Credit(0) == 0 {
				n.T.Fatalf("round %d: no credit with a receiver", i)
			}
			in.Write(Detach(0, true))
			n.Soon()
		}
		in.WantAnything()
		out.WantAnything()
	})
}

// A receiver that takes nothing costs its senders their credit, wherever they
// are, and nothing else.
func TestEdge_StoppedReceiverCostsItsSendersCredit(t *testing.T) {
	few := bubble.Options{Treatment: func(_ string, f *forward.Treatment) { f.HighCount, f.LowCount = 100, 50 }}
	ways(t, few, func(n *network, from, to *bubble.Router) {
		in := to.Receiver("in", "q", 1)
		n.Soon()
		out := from.Sender("out", "q")
		n.Soon()
		sent := uint32(0)
		for from.Credit(0) > 0 {
			for range from.Credit(0) {
				out.Write(With(Transfer(0, sent), Text(fmt.Sprint(sent))))
				sent++
			}
			synctest.Wait()
			if sent > 5000 {
				n.T.Fatal("credit goes on for ever")
			}
		}
		in.Until("", "transfer delivery-id=0")
		in.WantIdle("its credit is used up")
		in.Write(Flow(0, 0, 100_000))
		for i := uint32(1); i < sent; i++ {
			in.Until(fmt.Sprint(sent), fmt.Sprintf("transfer delivery-id=%d", i))
		}
		in.Write(Disposition(amqp.RoleReceiver, 0, sent-1, true, messaging.Accepted))
		synctest.Wait()
		out.WantAnything()
		if from.Credit(0) == 0 {
			n.T.Error("no credit came back")
		}
	})
}

// Nothing is hoarded: of two receivers at different edge routers one that asks
// for little gets little, and the other the rest.
func TestEdge_ReceiversGetWhatTheyAskFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := edgeNetwork(t, bubble.Options{})
		slow := n.e.Receiver("slow", "q", 3)
		fast := n.f.Receiver("fast", "q", 1000)
		n.Soon()
		out := n.at("A").Sender("out", "q")
		for i := range uint32(100) {
			out.Write(With(Transfer(0, i), Text(fmt.Sprint(i))))
			synctest.Wait()
		}
		n.Soon()
		s, f := len(slow.All("transfer")), len(fast.All("transfer"))
		if s != 3 || f != 97 {
			t.Errorf("the receiver that asked for 3 has %d, the other %d of 97", s, f)
		}
		slow.Write(Disposition(amqp.RoleReceiver, 0, 2, true, messaging.Accepted))
		fast.Write(Disposition(amqp.RoleReceiver, 0, 96, true, messaging.Accepted))
		synctest.Wait()
		out.WantAnything()
		n.Idle()
	})
}

// BC-59: an anonymous sender reaches an address that its edge router does not
// know, small or not, and learns of one that nobody knows.
func TestEdge_AnonymousSenders(t *testing.T) {
	for _, size := range []int{10, 5_000_000} {
		t.Run(fmt.Sprint("size=", size), func(t *testing.T) {
			ways(t, bubble.Options{}, func(n *network, from, to *bubble.Router) {
				in := to.Receiver("in", "q", 100)
				n.Soon()
				out := from.Connect("out")
				out.Attach(Sending("out", 0, ""))
				synctest.Wait()
				body := encoded(n.T.(*testing.T), &messaging.Message{Properties: &messaging.Properties{To: "q"}, Data: [][]byte{make([]byte, size)}})
				var got []byte
				transfer := Transfer(0, 0)
				for part := range slices.Chunk(body, 16000) {
					transfer.More = &part[len(part)-1] != &body[len(body)-1]
					out.Write(With(transfer, part))
					transfer = Next(0)
					for _, f := range in.All("transfer") {
						got = append(got, f.Payload...)
					}
					out.All("flow")
				}
				if !bytes.Equal(got, body) {
					n.T.Errorf("%d bytes have become %d", len(body), len(got))
				}
				in.Write(Accept(0))
				synctest.Wait()
				out.Until("its outcome comes back", "disposition first=0 settled state=accepted")
				nowhere := encoded(n.T.(*testing.T), &messaging.Message{Properties: &messaging.Properties{To: "nobody"}})
				out.Write(With(Transfer(0, 1), nowhere))
				synctest.Wait()
				out.Until("nobody is there", "disposition first=1 settled state=released")
			})
		})
	}
}

// A message for all reaches each receiver once, wherever it is, from a sender
// with or without an address.
func TestEdge_Multicast(t *testing.T) {
	o := bubble.Options{Treatment: multicast}
	for _, anonymous := range []bool{false, true} {
		t.Run(fmt.Sprint("anonymous=", anonymous), func(t *testing.T) {
			for _, from := range []string{"E", "A", "B", "F"} {
				t.Run(from, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						n := edgeNetwork(t, o)
						var in []*Peer
						for _, at := range []string{"E", "E", "A", "B", "F"} {
							in = append(in, n.at(at).Receiver(fmt.Sprint("in", len(in)), "all", 100))
						}
						n.Soon()
						to := "all"
						if anonymous {
							to = ""
						}
						out := n.at(from).Connect("out")
						out.Attach(Sending("out", 0, to))
						n.Soon()
						m := encoded(t, &messaging.Message{Properties: &messaging.Properties{To: "all"}, Body: "x"})
						for i := range uint32(20) {
							out.Write(With(Transfer(0, i), m))
							n.Soon()
							for j, p := range in {
								if got := p.All("transfer"); len(got) != 1 {
									t.Fatalf("receiver %d has message %d %d times", j, i, len(got))
								}
								p.Write(Accept(i))
							}
							synctest.Wait()
							out.Until("", fmt.Sprintf("disposition first=%d settled state=accepted", i))
						}
						n.Idle()
					})
				})
			}
		})
	}
}

// Receivers on an edge router are closer than all others.
func TestEdge_ClosestStaysHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := edgeNetwork(t, bubble.Options{Treatment: func(_ string, f *forward.Treatment) { f.Distribution = forward.Closest }})
		near := n.e.Receiver("near", "q", 100)
		far := n.at("A").Receiver("far", "q", 100)
		n.Soon()
		out := n.e.Sender("out", "q")
		n.Soon()
		for i := range uint32(10) {
			out.Write(With(Transfer(0, i), Text("x")))
			near.Until("", "transfer")
		}
		far.WantIdle("it is farther")
		near.Write(Detach(0, true))
		n.Soon()
		out.WantAnything()
		out.Write(With(Transfer(0, 10), Text("x")))
		far.Until("the next one goes there", "transfer")
		far.Write(Accept(0))
		out.Until("", "disposition first=10 settled state=accepted")
	})
}

// A stream that its receiver does not take stops nothing else on an uplink.
func TestEdge_StuckStream(t *testing.T) {
	ways(t, bubble.Options{}, func(n *network, from, to *bubble.Router) {
		stuck := to.Connect("stuck")
		stuck.Attach(Receiving("stuck", 0, "slow"))
		f := Flow(0, 0, 10)
		f.IncomingWindow = 2 // and never more
		stuck.Write(f)
		in := to.Receiver("in", "q", 1000)
		n.Soon()
		slow := from.Sender("slow", "slow")
		out := from.Sender("out", "q")
		n.Soon()
		transfer := More(Transfer(0, 0))
		big := Message(make([]byte, 2_000_000))
		for i := range 100 { // 16 kB each, which is within the session's window
			slow.Write(With(transfer, big[i*16000:(i+1)*16000]))
			transfer = More(Next(0))
			synctest.Wait()
		}
		for i := range uint32(50) {
			out.Write(With(Transfer(0, i), Text("x")))
			in.Until("others go on", fmt.Sprintf("transfer delivery-id=%d", i))
			in.Write(Accept(i))
			out.Until("", fmt.Sprintf("disposition first=%d", i))
		}
		slow.Write(Abort(0))
		g := SessionFlow()
		g.IncomingWindow = 10_000
		stuck.Write(g)
		stuck.Until("", "transfer aborted")
	})
}

// What is inside an edge router can be reached from everywhere by its name.
func TestEdge_DynamicSources(t *testing.T) {
	for _, from := range []string{"E", "A", "B", "F"} {
		t.Run(from, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := edgeNetwork(t, bubble.Options{})
				in := n.e.Connect("in")
				a := Receiving("in", 0, "")
				a.Source.Dynamic = true
				name := in.Attach(a).Source.Address
				if !strings.HasPrefix(name, "amqp:/_edge/E/temp.") {
					t.Fatalf("the source is %q", name)
				}
				in.Write(Flow(0, 0, 10))
				time.Sleep(2 * time.Second)
				for i, to := range []string{"", name} {
					out := n.at(from).Connect(fmt.Sprint("out", i))
					out.Attach(Sending("out", 0, to))
					n.Soon()
					out.Write(With(Transfer(0, 0), encoded(t, &messaging.Message{Properties: &messaging.Properties{To: name}, Body: "x"})))
					in.Until("", fmt.Sprintf("transfer delivery-id=%d", i))
					in.Write(Accept(uint32(i)))
					out.Until("", "disposition first=0 settled state=accepted")
				}
			})
		})
	}
}

// When the uplink is lost another takes over; messages that wait go that way, and
// what was under way has failed.
func TestEdge_FailOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := edgeNetwork(t, bubble.Options{})
		n.e.Join(n.Router("B"))
		if s := n.e.Agent.Status(); s.Interior != "A" || s.Idle != 1 {
			t.Fatalf("%+v", s)
		}
		in := n.at("A").Receiver("in", "q", 1)
		down := n.e.Receiver("down", "d", 10)
		n.Soon()
		out := n.e.Sender("out", "q")
		pre := n.e.Connect("pre")
		pre.Attach(Sending("pre", 0, "q"))
		n.Soon()
		out.Write(With(Transfer(0, 0), Text("under way")))
		in.Until("", "transfer delivery-id=0")
		for i := range uint32(20) {
			pre.Write(With(Settled(0, i), Text(fmt.Sprint(i))))
			synctest.Wait()
		}
		n.up.Cut()
		out.Until("what was under way has failed", "disposition first=0 settled state=modified[true]")
		n.Soon()
		if s := n.e.Agent.Status(); s.Interior != "B" || s.Idle != 0 || s.In != 1 || s.Out != 1 || s.Tracked != 1 {
			t.Fatalf("%+v", s)
		}
		in.Write(Accept(0), Flow(0, 1, 100))
		n.Soon()
		seen := make(map[string]bool)
		for _, f := range in.All("transfer") {
			seen[string(f.Payload)] = true
		}
		for i := range 20 {
			if !seen[string(Text(fmt.Sprint(i)))] {
				t.Errorf("settled message %d is lost", i)
			}
		}
		other := n.at("A").Sender("other", "d")
		other.Write(With(Transfer(0, 0), Text("x")))
		down.Until("the way down is there, too", "transfer")
		down.Write(Accept(0))
		other.Until("", "disposition first=0 settled state=accepted")
		if c := n.e.Credit(0); c == 0 {
			t.Error("the sender has no credit")
		}
	})
}

// Without an uplink an edge router serves its own clients.
func TestEdge_Alone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := edgeNetwork(t, bubble.Options{})
		in := n.e.Receiver("in", "q", 10)
		far := n.e.Connect("far")
		far.Attach(Sending("far", 0, "beyond"))
		out := n.e.Sender("out", "q")
		n.at("A").Receiver("beyond", "beyond", 10)
		n.Soon()
		if n.e.Credit(0) == 0 {
			t.Error("no credit for what is beyond")
		}
		n.up.Cut()
		n.Soon()
		if n.e.Credit(0) != 0 {
			t.Error("credit for what cannot be reached")
		}
		out.Write(With(Transfer(0, 0), Text("x")))
		in.Until("", "transfer")
		in.Write(Accept(0))
		out.Until("", "disposition first=0 settled state=accepted")
	})
}

// Two edge routers with one id cannot be on one interior router, unless they are
// lives of the same, or the first is silent.
func TestEdge_DuplicateID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := edgeNetwork(t, bubble.Options{})
		twin := n.AddEdge(bubble.Options{}, "E")
		twin.Join(n.Router("A"))
		n.Soon()
		if s := twin.Agent.Status(); s.Active != 0 {
			t.Errorf("the second has an uplink: %+v", s)
		}
		if len(twin.Causes) != 1 || twin.Causes[0].Err == nil || twin.Causes[0].Err.Condition != amqp.CondNotAllowed {
			t.Errorf("the second was told %v", twin.Causes[0].Err)
		}
		if s := n.e.Agent.Status(); !s.Usable {
			t.Errorf("the first has lost its uplink: %+v", s)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		n := edgeNetwork(t, bubble.Options{})
		n.e.Instance = 7
		n.up.Cut()
		first := n.e.Join(n.Router("A"))
		again := n.AddEdge(bubble.Options{}, "E")
		again.Instance = 7
		again.Join(n.Router("A"))
		n.Soon()
		if s := again.Agent.Status(); !s.Usable {
			t.Errorf("the same edge router was refused: %+v", s)
		}
		first.Cut()
	})
}

// An edge router that says nothing for more than 8 s is given up.
func TestEdge_Heartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := edgeNetwork(t, bubble.Options{})
		for range 60 {
			time.Sleep(time.Second)
			n.Router("A").Edges().Check(time.Now())
		}
		synctest.Wait()
		if s := n.e.Agent.Status(); !s.Usable {
			t.Errorf("it beats, and was given up: %+v", s)
		}
	})
}
