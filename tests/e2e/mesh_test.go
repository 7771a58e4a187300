package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/router/forward"
	"sluice/tests/harness/bubble"
)

// hops runs a test with the sender 0 to 3 routers away from the receiver.
func hops(t *testing.T, o bubble.Options, f func(m *bubble.Mesh, first, last *bubble.Router)) {
	t.Helper()
	for n := range 4 {
		t.Run(fmt.Sprintf("hops=%d", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ids := []string{"A", "B", "C", "D"}[:n+1]
				m := bubble.NewMesh(t, o, ids...).Line()
				f(m, m.Router("A"), m.Router(ids[n]))
				m.Idle()
			})
		})
	}
}

// Outcomes reach the sender as the receiver gave them, over any number of hops.
func TestMesh_Outcomes(t *testing.T) {
	rejected := messaging.Rejected(&amqp.Error{Condition: "test:no", Description: "not this"})
	for name, state := range map[string]messaging.DeliveryState{
		"accepted": messaging.Accepted, "released": messaging.Released, "rejected": rejected,
		"modified": messaging.Modified(false, true, nil), "failed": messaging.Modified(true, false, nil),
		"of another specification": {Kind: messaging.StateOther, Raw: []byte("\x00\xa3\x06test:x\xc0\x04\x01\xa1\x01y")},
	} {
		t.Run(name, func(t *testing.T) {
			hops(t, bubble.Options{}, func(m *bubble.Mesh, first, last *bubble.Router) {
				in := last.Receiver("in", "q", 10)
				m.Soon()
				out := first.Sender("out", "q")
				out.Write(With(Transfer(0, 0), Text("m")))
				f := in.Until("", "transfer delivery-id=0")
				if !bytes.Equal(f.Payload, Text("m")) {
					m.T.Errorf("the message has changed: % x", f.Payload)
				}
				in.Write(Settle(0, state))
				synctest.Wait()
				got := out.Until("", "disposition first=0 settled")
				if w := Wire(Disposition(amqp.RoleReceiver, 0, 0, true, state)); !bytes.Contains(w, got.Raw[len(got.Raw)-8:]) {
					m.T.Errorf("got %s", got.Text)
				}
			})
		})
	}
}

// A message that was sent settled arrives settled, and holds its place until it
// has left the last router.
func TestMesh_Presettled(t *testing.T) {
	hops(t, bubble.Options{}, func(m *bubble.Mesh, first, last *bubble.Router) {
		in := last.Receiver("in", "q", 10)
		m.Soon()
		out := first.Sender("out", "q")
		out.Write(With(Settled(0, 0), Text("m")))
		f := in.Until("", "transfer delivery-id=0")
		if !strings.Contains(f.Text, "settled") {
			m.T.Errorf("it arrived unsettled: %s", f.Text)
		}
	})
}

// Without credit of the receiver messages wait, none is lost, settled or not,
// and the sender's credit ends.
func TestMesh_StoppedReceiverCostsItsSendersCredit(t *testing.T) {
	few := bubble.Options{Treatment: func(_ string, f *forward.Treatment) { f.HighCount, f.LowCount = 100, 50 }}
	for _, settled := range []bool{false, true} {
		t.Run(fmt.Sprintf("settled=%v", settled), func(t *testing.T) {
			hops(t, few, func(m *bubble.Mesh, first, last *bubble.Router) {
				in := last.Receiver("in", "q", 1)
				m.Soon()
				out := first.Sender("out", "q")
				sent := uint32(0)
				for first.Credit(0) > 0 {
					for range first.Credit(0) {
						transfer := Transfer(0, sent)
						if settled {
							transfer = Settled(0, sent)
						}
						out.Write(With(transfer, Text(fmt.Sprint(sent))))
						sent++
					}
					synctest.Wait()
					if sent > 5000 {
						m.T.Fatal("credit goes on for ever")
					}
				}
				out.WantAnything()
				in.Until("", "transfer delivery-id=0")
				in.Write(Flow(0, 0, 100_000))
				for i := uint32(1); i < sent; i++ {
					f := in.Until("", fmt.Sprintf("transfer delivery-id=%d", i))
					if !bytes.Equal(f.Payload, Text(fmt.Sprint(i))) {
						m.T.Fatalf("message %d is % x", i, f.Payload)
					}
				}
				if !settled {
					in.Write(Disposition(amqp.RoleReceiver, 0, sent-1, true, messaging.Accepted))
					synctest.Wait()
				}
				out.WantAnything()
				if first.Credit(0) == 0 {
					m.T.Error("no credit came back")
				}
			})
		})
	}
}

// A stream that its receiver does not take stops nothing else between the same
// two routers.
func TestMesh_StuckStream(t *testing.T) {
	hops(t, bubble.Options{}, func(m *bubble.Mesh, first, last *bubble.Router) {
		stuck := last.Connect("stuck")
		stuck.Attach(Receiving("stuck", 0, "slow"))
		f := Flow(0, 0, 10)
		f.IncomingWindow = 2 // and never more
		stuck.Write(f)
		in := last.Receiver("in", "q", 1000)
		m.Soon()
		slow := first.Sender("slow", "slow")
		out := first.Sender("out", "q")
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

// What was on a connection that breaks is told to its senders, and others go
// another way.
func TestMesh_CutTriangle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := bubble.NewMesh(t, bubble.Options{}, "A", "B", "C")
		m.Join("A", "B", 1)
		m.Join("B", "C", 1)
		short := m.Join("A", "C", 1)
		m.Settle()
		in := m.Router("C").Receiver("in", "q", 10)
		m.Soon()
		out := m.Router("A").Sender("out", "q")
		out.Write(With(Transfer(0, 0), Text("0")))
		in.Until("", "transfer delivery-id=0")
		short.Cut()
		out.Until("it was on its way", "disposition first=0 settled state=modified[true]")
		time.Sleep(time.Second)
		synctest.Wait()
		out.Write(With(Transfer(0, 1), Text("1")))
		in.Until("the long way", "transfer delivery-id=1")
		in.Write(Accept(0), Accept(1))
		out.Until("", "disposition first=1 settled state=accepted")
		m.Idle()
	})
}

// Multicast reaches each receiver once, whatever the shape of the network.
func TestMesh_BC87_MulticastOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := []string{"A", "B", "C", "D"}
		m := bubble.NewMesh(t, bubble.Options{Treatment: func(_ string, f *forward.Treatment) { f.Distribution = forward.Multicast }}, ids...)
		for i, a := range ids {
			for _, b := range ids[i+1:] {
				m.Join(a, b, 1)
			}
		}
		m.Settle()
		var ins []*Peer
		for _, id := range ids {
			ins = append(ins, m.Router(id).Receiver("in"+id, "q", 100))
		}
		m.Soon()
		for n, id := range ids {
			out := m.Router(id).Sender("out"+id, "q")
			out.Write(With(Transfer(0, 0), Text(id)))
			for _, in := range ins {
				f := in.Until("", "transfer")
				if !bytes.Equal(f.Payload, Text(id)) {
					t.Errorf("% x", f.Payload)
				}
				in.WantIdle("once")
				in.Write(Accept(uint32(n)))
			}
			out.Until("", "disposition first=0 settled state=accepted")
		}
		m.Idle()
	})
}

// What a client writes under the names of routers is not believed, and its own
// annotations arrive as it wrote them.
func TestMesh_Annotations(t *testing.T) {
	hops(t, bubble.Options{}, func(m *bubble.Mesh, first, last *bubble.Router) {
		in := last.Receiver("in", "q", 100)
		m.Soon()
		out := first.Sender("out", "q")
		for i, ma := range []encoding.Map{
			{{Key: amqp.Symbol("x-opt-mine"), Value: "1"}, {Key: amqp.Symbol("x-two"), Value: int32(2)}},
			{{Key: amqp.Symbol("x-opt-qd.to"), Value: "elsewhere"}, {Key: amqp.Symbol("x-opt-mine"), Value: "1"}},
			{{Key: amqp.Symbol("x-a"), Value: "1"}, {Key: amqp.Symbol("x-opt-qd.trace"), Value: []any{"0/A", "0/B", "0/C"}}, {Key: amqp.Symbol("x-b"), Value: "2"}},
			{{Key: amqp.Symbol("x-opt-qd.ingress"), Value: "0/Z"}},
			nil,
		} {
			msg := &messaging.Message{MessageAnnotations: ma, Body: "x"}
			out.Write(With(Settled(0, uint32(i)), encoded(t, msg)))
			f := in.Until("", "transfer")
			var own encoding.Map
			for _, e := range ma {
				if !strings.HasPrefix(string(e.Key.(amqp.Symbol)), "x-opt-qd.") {
					own = append(own, e)
				}
			}
			want := encoded(t, &messaging.Message{MessageAnnotations: own, Body: "x"})
			if !bytes.Equal(f.Payload, want) {
				m.T.Errorf("%d: got  % x\nwant % x", i, f.Payload, want)
			}
		}
	})
}
