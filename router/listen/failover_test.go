package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/amqp/encoding"
)

// entry returns an entry of a failover-server-list.
func entry(pairs ...any) encoding.Map {
	var m encoding.Map
	for i := 0; i < len(pairs); i += 2 {
		m = append(m, encoding.MapEntry{Key: amqp.Symbol(pairs[i].(string)), Value: pairs[i+1]})
	}
	return m
}

// properties returns those of an open.
func properties(t *testing.T, pairs ...any) []byte {
	t.Helper()
	b, err := encoding.AppendAny(nil, entry(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func texts(places []Place) string {
	var all []string
	for _, p := range places {
		all = append(all, p.String())
	}
	return strings.Join(all, ", ")
}

func TestFailoverServerList(t *testing.T) {
	host := func(h any) encoding.Map { return entry("network-host", h) }
	for _, test := range []struct {
		list any
		want string // "-" for no list
	}{
		{nil, "-"},
		{"amqp://a", "-"},
		{[]any{}, ""},
		{[]any{host("a")}, "amqp://a:5672"},
		{[]any{entry("network-host", "a", "port", "5671", "scheme", "amqps", "hostname", "x")}, "amqps://a:5671"},
		{[]any{entry("network-host", amqp.Symbol("a"), "port", uint16(7)), host("::1")}, "amqp://a:7, amqp://[::1]:5672"},
		{[]any{entry("network-host", "a", "port", "amqps")}, "amqp://a:amqps"},
		{[]any{entry("network-host", "a", "scheme", "http")}, "amqp://a:5672"},
		{[]any{host("b"), "text", entry(), host(""), host("a b"), host("a\n"), host("u@h"), host(true), host(strings.Repeat("a", 256))}, "amqp://b:5672"},
		{[]any{entry("network-host", "a", "port", "0"), entry("network-host", "a", "port", "70000"), entry("network-host", "a", "port", int32(-1)), entry("network-host", "a", "port", "-")}, ""},
	} {
		pairs := []any{"product", "x"}
		if test.list != nil {
			pairs = append(pairs, "failover-server-list", test.list)
		}
		named, ok := Failover(properties(t, pairs...))
		got := texts(named)
		if !ok {
			got = "-"
		}
		if got != test.want {
			t.Errorf("%v: %s, want %s", test.list, got, test.want)
		}
	}
	for _, raw := range [][]byte{nil, {}, {0x40}, {0xc1, 0x05, 0x02}, []byte("no map")} {
		if named, ok := Failover(raw); ok {
			t.Errorf("% x: %v", raw, named)
		}
	}
}

// A peer may name as many places as it likes: few are kept, and the configured
// one is always among them.
func TestPlacesAreBounded(t *testing.T) {
	p := places{list: []Place{{Address: "own"}}}
	for round := range 3 {
		var many []Place
		for i := range 1000 {
			many = append(many, Place{Address: fmt.Sprintf("%d-%d", round, i%500)})
		}
		p.offer(many)
		if len(p.list) != maxPlaces || p.list[0].Address != "own" {
			t.Fatalf("%d places, the first is %q", len(p.list), p.list[0].Address)
		}
		for i := 1; i < 5; i++ {
			p.next()
		}
	}
	if n := slices.IndexFunc(p.order(), func(o Place) bool { return o.Address == "own" }); n <= 0 {
		t.Errorf("the configured place is number %d", n)
	}
	for range maxPlaces {
		if p.next() {
			return
		}
	}
	t.Error("a round does not end")
}

// When the connection ends, the connector goes to where the peer has said, in
// turn, and comes back to where it is configured to.
func TestConnectorFollowsFailoverList(t *testing.T) { synctest.Test(t, followsFailoverList) }

func followsFailoverList(t *testing.T) {
	place := func(port string) Place {
		return Place{Scheme: "amqp", Host: "127.0.0.1", Address: "127.0.0.1:" + port}
	}
	own, dead, other := place("1"), place("2"), place("3")
	named := func(places ...Place) []byte {
		list := []any{}
		for _, p := range places {
			host, port, _ := net.SplitHostPort(p.Address)
			list = append(list, entry("network-host", host, "port", port))
		}
		return properties(t, "failover-server-list", list)
	}
	at, answer := make(chan Place), make(chan []byte)
	c := &Connector{Network: "tcp", Place: own, Log: zerolog.Nop()}
	c.dial = func(_ context.Context, _, address string) (net.Conn, error) {
		if address == dead.Address {
			return nil, errors.New("refused")
		}
		conn, _ := net.Pipe()
		return conn, nil
	}
	c.Serve = func(ctx context.Context, place Place, p Peer) (bool, error) {
		p.Conn.Close()
		at <- place
		c.Opened(<-answer)
		at <- place // opened
		<-answer    // the end
		return true, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	for i, step := range []struct {
		at     Place
		answer []byte
		places []Place
	}{
		{own, named(dead, other), []Place{own, dead, other}},
		{other, properties(t, "product", "x"), []Place{other, own, dead}},
		{own, named(dead, other, own), []Place{own, dead, other}},
		{other, named(), []Place{other, own}},
		{own, named(), []Place{own}},
		{own, nil, []Place{own}},
	} {
		if got := <-at; got != step.at {
			t.Fatalf("connection %d goes to %v, not to %v", i, got, step.at)
		}
		answer <- step.answer
		<-at
		if s := c.Status(); s.State != "SUCCESS" || texts(s.Places) != texts(step.places) {
			t.Errorf("connection %d: %s, %s; want %s", i, s.State, texts(s.Places), texts(step.places))
		}
		if i == 5 {
			cancel()
		}
		answer <- nil
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
