package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
)

func TestSplitURL(t *testing.T) {
	for in, want := range map[string][2]string{
		"amqp://h/queue":      {"amqp://h", "queue"},
		"amqps://u:p@h:1/a/b": {"amqps://u:p@h:1", "a/b"},
		"amqp://h":            {"amqp://h", ""},
		"amqp://h/a%2Fb":      {"amqp://h", "a/b"},
		"queue":               {"queue", ""},
		"amqp://h/a.b?x=1":    {"amqp://h?x=1", "a.b"},
	} {
		if peer, address := SplitURL(in); peer != want[0] || address != want[1] {
			t.Errorf("%s: %s, %s", in, peer, address)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Setenv("SLUICE_TEST_PASSWORD", "from env")
	for _, test := range []struct {
		o                         Options
		url, sasl, user, password string
	}{
		{Options{}, "amqp://127.0.0.1:5672", "anonymous", "", ""},
		{Options{URL: "h"}, "amqp://h:5672", "anonymous", "", ""},
		{Options{URL: "amqps://h"}, "amqps://h:5671", "anonymous", "", ""},
		{Options{URL: "amqp://[::1]:7"}, "amqp://[::1]:7", "anonymous", "", ""},
		{Options{URL: "amqp://u:p@h/"}, "amqp://h:5672", "plain", "u", "p"},
		{Options{URL: "amqp://u:p@h", User: "v", Password: "env:SLUICE_TEST_PASSWORD"}, "amqp://h:5672", "plain", "v", "from env"},
		{Options{SASL: "none"}, "amqp://127.0.0.1:5672", "none", "", ""},
	} {
		got, err := test.o.resolve()
		if err != nil {
			t.Errorf("%+v: %v", test.o, err)
			continue
		}
		if got.url.String() != test.url || got.sasl != test.sasl || got.user != test.user || got.password.Reveal() != test.password {
			t.Errorf("%+v: %s %s %s %s", test.o, got.url, got.sasl, got.user, got.password.Reveal())
		}
		if (got.tls != nil) != strings.HasPrefix(test.url, "amqps") {
			t.Errorf("%+v: TLS %v", test.o, got.tls != nil)
		}
	}
}

// A peer that accepts the connection and says nothing, or hangs up, gets a line
// that says so.
func TestDialErrorsAreOneLine(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	answers := make(chan func(net.Conn), 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			(<-answers)(c)
		}
	}()
	hangUp := func(c net.Conn) { c.Close() }
	silent := make(chan net.Conn, 1)
	for _, test := range []struct {
		answer func(net.Conn)
		want   string
	}{
		{hangUp, "closed the connection at once"},
		{func(c net.Conn) { silent <- c }, "no answer in time"},
	} {
		answers <- test.answer
		_, err := Dial(context.Background(), Options{URL: l.Addr().String(), Timeout: 300 * time.Millisecond})
		var failed *Error
		if !errors.As(err, &failed) || failed.Usage || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	(<-silent).Close()
}

func TestExplain(t *testing.T) {
	remote := &goamqp.Error{Condition: "amqp:not-found", Description: "no such\nnode"}
	for want, err := range map[string]error{
		`2 the router closed the link to "q": amqp:not-found: no such; node`: &goamqp.LinkError{RemoteErr: remote},
		"0 the router ended the session: amqp:not-found: no such; node":      &goamqp.SessionError{RemoteErr: remote},
		"1 the router closed the connection: amqp:not-found: no such; node":  &goamqp.ConnError{RemoteErr: remote},
		"1 the connection was lost":                                          &goamqp.ConnError{},
		`0 the link to "q" was closed: amqp: link closed`:                    &goamqp.LinkError{},
		`2 a message over the link to "q" was refused: amqp:link:stolen`:     &goamqp.Error{Condition: "amqp:link:stolen"},
		"0 a; b": errors.New("a\nb"),
	} {
		if f := Explain(err, "q"); fmt.Sprint(f.Kind, " ", f) != want {
			t.Errorf("%d %q, want %q", f.Kind, f, want)
		}
	}
	if f := ExplainAttach(remote, "q"); f.Kind != Refused || f.Error() != `the router refused the link to "q": amqp:not-found: no such; node (its distribution is "unavailable"?)` {
		t.Errorf("%d %q", f.Kind, f)
	}
	if f := ExplainAttach(&goamqp.Error{Condition: "amqp:not-implemented"}, ""); f.Error() != "the router refused the anonymous link: amqp:not-implemented" {
		t.Errorf("%q", f)
	}
}

// Who waits for a connection can be interrupted, whatever the peer does.
func TestDialIsInterrupted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	begun := time.Now()
	_, err = Dial(ctx, Options{URL: l.Addr().String()})
	if want := "interrupted while connecting to amqp://" + l.Addr().String(); err == nil || err.Error() != want || time.Since(begun) > 5*time.Second {
		t.Errorf("%v after %v, want %s", err, time.Since(begun), want)
	}
}
