package mesh

import (
	"fmt"
	"testing"
	"time"

	"sluice/amqp/messaging"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// Many addresses that come at once are known on the other side, although a
// link's threshold is smaller than the messages that tell of them; data goes on
// meanwhile.
func TestBC29_ManyAddressesAtOnce(t *testing.T) {
	n := sized(50_000, 10_000)
	p := harness.Line(3)
	p.Listener = " maxLinks: 100000"
	m := start(t, p)
	in := receiver(t, session(t, m.Addr("C")), "live", raw.ReceiverOptions{Credit: 100})
	live := sender(t, session(t, m.Addr("A")), "live", raw.SenderOptions{})
	must(t, live.WaitCredit(1))
	stop, stopped := make(chan struct{}), make(chan int)
	var worst time.Duration
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				stopped <- i
				return
			default:
			}
			begin := time.Now()
			if live.Send(raw.Numbered(nil, small, uint64(i)), false) != nil || live.WaitSettled(i+1) != nil {
				stopped <- -1
				return
			}
			worst = max(worst, time.Since(begin))
			time.Sleep(time.Millisecond)
		}
	}()
	s := session(t, m.Addr("C"))
	begin := time.Now()
	for i := range n {
		if _, err := s.Receiver(fmt.Sprintf("many/%d", i), raw.ReceiverOptions{Name: fmt.Sprint("m", i), Async: true}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"A", "B"} {
		m.Router(name).WaitMetric("sluice_mesh_remote_addresses", "all addresses", func(v float64) bool { return int(v) >= n })
	}
	took := time.Since(begin)
	out := sender(t, session(t, m.Addr("A")), fmt.Sprintf("many/%d", n-1), raw.SenderOptions{})
	must(t, out.WaitCredit(1))
	close(stop)
	sent := <-stopped
	must(t, in.WaitMessages(sent))
	memory := m.Router("A").RSS()
	report(t, "%d addresses at C are known at A after %v; RSS %s there; slowest message meanwhile %v", n, ms(took), mib(memory), ms(worst))
	if worst > 2*time.Second {
		t.Errorf("a message took %v", worst)
	}
	// And they go again.
	begin = time.Now()
	s.End()
	for _, name := range []string{"A", "B"} {
		m.Router(name).WaitMetric("sluice_mesh_remote_addresses", "few addresses", func(v float64) bool { return v <= 10 })
	}
	report(t, "%d addresses are forgotten after %v", n, ms(time.Since(begin)))
}

// Over a long path, 20 ms each way, nothing is lost, and throughput is that of
// the credit.
func TestBC13_SlowPath(t *testing.T) {
	p := harness.Pair()
	p.Proxied = true
	m := start(t, p)
	m.Proxy("B-A").Delay(20*time.Millisecond, 20*time.Millisecond)
	for _, settled := range []bool{false, true} {
		address := fmt.Sprint("far.", settled)
		in, l := accepting(t, session(t, m.Addr("B")), address, 1000)
		out := sender(t, session(t, m.Addr("A")), address, raw.SenderOptions{})
		must(t, out.WaitCredit(1))
		n := sized(50_000, 5000)
		begin := time.Now()
		for i := range n {
			must(t, out.Send(raw.Numbered(nil, small, uint64(i)), settled))
		}
		must(t, in.WaitMessages(n))
		report(t, "20 ms each way, settled=%v: %d/s", settled, perSecond(n, time.Since(begin)))
		if different, again := l.Len(); different != n || again != 0 {
			t.Errorf("%d of %d came, %d again", different, n, again)
		}
		if !settled {
			must(t, out.WaitSettled(n))
		}
		// Credit that goes and comes while messages are under way.
		for range 5 {
			in.SetCredit(1)
			for i := range 50 {
				must(t, out.Send(raw.Numbered(nil, small, uint64(n+i)), settled))
			}
			in.SetCredit(1000)
		}
		must(t, in.WaitMessages(n+250))
		if in.Detached() != nil || out.Detached() != nil {
			t.Error("a link was detached")
		}
	}
}

// A trunk that falls silent, dies and comes back for a while, over and over, is
// in use again soon after the end of each blackout.
func TestBC71_Blackouts(t *testing.T) {
	p := harness.Pair()
	p.Proxied = true
	m := start(t, p)
	in := newInbox(t, session(t, m.Addr("B")), "q", raw.ReceiverOptions{Credit: 1000})
	proxy := m.Proxy("B-A")
	proxy.Delay(100*time.Millisecond, 100*time.Millisecond)
	out := sender(t, session(t, m.Addr("A")), "q", raw.SenderOptions{})
	sent := 0
	for i, blackout := range []func(){
		proxy.Freeze,
		func() { proxy.Refuse(); proxy.Reset() },
		func() { proxy.Freeze(); proxy.Cut() },
	} {
		must(t, out.WaitCredit(1))
		must(t, out.Send(raw.Numbered(nil, small, uint64(sent)), false))
		sent++
		in.Settle(in.next(t).id, messaging.Accepted)
		must(t, out.WaitSettled(sent))
		blackout()
		m.WaitNeighbour("A", "B", 0)
		time.Sleep(time.Duration(sized(30_000, 1000)) * time.Millisecond)
		proxy.Heal()
		d := m.WaitNeighbour("A", "B", 1)
		report(t, "blackout %d: neighbours again after %v", i, ms(d))
		if d > 20*time.Second {
			t.Errorf("neighbours again only after %v", d)
		}
		proxy.Delay(100*time.Millisecond, 100*time.Millisecond)
	}
}
