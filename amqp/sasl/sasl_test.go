package sasl

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/amqp"
	"sluice/amqp/frames"
)

var errStore = errors.New("user store is down")

// verifyAda knows one user and fails for another.
func verifyAda(user, password string) (string, bool, error) {
	switch user {
	case "ada":
		return "ada@sluice", password == "secret", nil
	case "broken":
		return "", false, errStore
	}
	return "", false, nil
}

func newServer() *Server {
	return NewServer(&External{Identity: "CN=ada"}, &Plain{Verify: verifyAda}, &Anonymous{})
}

// The matrix of mechanism, response present or absent, offered or not.
func TestBC79_Server(t *testing.T) {
	const (
		ok        = frames.SASLCodeOK
		auth      = frames.SASLCodeAuth
		sys       = frames.SASLCodeSys
		challenge = 0xff // an empty challenge comes first
	)
	tests := []struct {
		name      string
		mechanism amqp.Symbol
		initial   []byte // nil is absent
		response  []byte // to the challenge
		first     uint8  // outcome of sasl-init, or challenge
		second    uint8  // outcome of sasl-response
		user      string
	}{
		{name: "anonymous", mechanism: "ANONYMOUS", initial: []byte("trace"), first: ok, user: "anonymous"},
		{name: "anonymous without response", mechanism: "ANONYMOUS", first: ok, user: "anonymous"},
		{name: "plain", mechanism: "PLAIN", initial: []byte("\x00ada\x00secret"), first: ok, user: "ada@sluice"},
		{name: "plain with own authzid", mechanism: "PLAIN", initial: []byte("ada\x00ada\x00secret"), first: ok, user: "ada@sluice"},
		{name: "plain with own identity", mechanism: "PLAIN", initial: []byte("ada@sluice\x00ada\x00secret"), first: ok, user: "ada@sluice"},
		{name: "plain for another", mechanism: "PLAIN", initial: []byte("bob\x00ada\x00secret"), first: auth},
		{name: "plain wrong password", mechanism: "PLAIN", initial: []byte("\x00ada\x00Secret"), first: auth},
		{name: "plain wrong user", mechanism: "PLAIN", initial: []byte("\x00bob\x00secret"), first: auth},
		{name: "plain, store down", mechanism: "PLAIN", initial: []byte("\x00broken\x00secret"), first: sys},
		{name: "plain empty", mechanism: "PLAIN", initial: []byte{}, first: auth},
		{name: "plain without NUL", mechanism: "PLAIN", initial: []byte("ada secret"), first: auth},
		{name: "plain with one NUL", mechanism: "PLAIN", initial: []byte("ada\x00secret"), first: auth},
		{name: "plain with three NUL", mechanism: "PLAIN", initial: []byte("\x00ada\x00secret\x00"), first: auth},
		{name: "plain without user", mechanism: "PLAIN", initial: []byte("\x00\x00secret"), first: auth},
		{name: "plain without password", mechanism: "PLAIN", initial: []byte("\x00ada\x00"), first: auth},
		{name: "plain not UTF-8", mechanism: "PLAIN", initial: []byte("\x00ada\x00secret\xff"), first: auth},
		{name: "plain on challenge", mechanism: "PLAIN", response: []byte("\x00ada\x00secret"), first: challenge, second: ok, user: "ada@sluice"},
		{name: "plain on challenge, wrong", mechanism: "PLAIN", response: []byte("\x00ada\x00"), first: challenge, second: auth},
		{name: "plain on challenge, store down", mechanism: "PLAIN", response: []byte("\x00broken\x00x"), first: challenge, second: sys},
		{name: "external", mechanism: "EXTERNAL", initial: []byte{}, first: ok, user: "CN=ada"},
		{name: "external with own authzid", mechanism: "EXTERNAL", initial: []byte("CN=ada"), first: ok, user: "CN=ada"},
		{name: "external for another", mechanism: "EXTERNAL", initial: []byte("CN=bob"), first: auth},
		{name: "external on challenge", mechanism: "EXTERNAL", response: []byte{}, first: challenge, second: ok, user: "CN=ada"},
		{name: "external on challenge, for another", mechanism: "EXTERNAL", response: []byte("x"), first: challenge, second: auth},
		{name: "not offered", mechanism: "SCRAM-SHA-256", initial: []byte("n,,"), first: auth},
		{name: "not offered, without response", mechanism: "XOAUTH2", first: auth},
		{name: "lower case", mechanism: "plain", initial: []byte("\x00ada\x00secret"), first: auth},
		{name: "no mechanism", mechanism: "", first: auth},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newServer()
			reply := s.HandleInit(&frames.SASLInit{Mechanism: test.mechanism, InitialResponse: test.initial})
			if test.first == challenge {
				if reply.Done() || reply.Challenge == nil || reply.Challenge.Challenge == nil || len(reply.Challenge.Challenge) != 0 {
					t.Fatalf("got %+v, want an empty challenge", reply)
				}
				reply = s.HandleResponse(&frames.SASLResponse{Response: test.response})
				test.first = test.second
			}
			checkOutcome(t, reply, test.first, test.user)
			if (test.first == sys) != errors.Is(reply.Err, errStore) {
				t.Errorf("Err = %v", reply.Err)
			}
			// The exchange is over: nothing changes the outcome to a better one.
			checkOutcome(t, s.HandleInit(&frames.SASLInit{Mechanism: "ANONYMOUS"}), auth, "")
			checkOutcome(t, s.HandleResponse(&frames.SASLResponse{Response: []byte("\x00ada\x00secret")}), auth, "")
		})
	}
}

func checkOutcome(t *testing.T, r Reply, code uint8, user string) {
	t.Helper()
	if !r.Done() || r.Challenge != nil || r.Result == nil {
		t.Fatalf("got %+v, want outcome %d", r, code)
	}
	if r.Outcome.Code != code || r.Result.Code != code || r.Result.OK != (code == frames.SASLCodeOK) || r.Result.User != user {
		t.Errorf("got outcome %+v with %+v, want %d for %q", r.Outcome, r.Result, code, user)
	}
}

func TestServerOutOfOrder(t *testing.T) {
	s := newServer()
	checkOutcome(t, s.HandleResponse(&frames.SASLResponse{}), frames.SASLCodeAuth, "")
	s = newServer()
	s.HandleInit(&frames.SASLInit{Mechanism: "PLAIN"})
	checkOutcome(t, s.HandleInit(&frames.SASLInit{Mechanism: "ANONYMOUS"}), frames.SASLCodeAuth, "")
}

func TestExternalWithoutCertificate(t *testing.T) {
	for _, initial := range [][]byte{{}, []byte("CN=ada")} {
		s := NewServer(&External{})
		checkOutcome(t, s.HandleInit(&frames.SASLInit{Mechanism: "EXTERNAL", InitialResponse: initial}), frames.SASLCodeAuth, "")
	}
}

func TestMechanisms(t *testing.T) {
	want := []amqp.Symbol{"EXTERNAL", "PLAIN", "ANONYMOUS"}
	if got := newServer().Mechanisms(); !cmp.Equal(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := NewServer().Mechanisms(); got == nil || len(got) != 0 {
		t.Errorf("got %v for none", got)
	}
}

// echo is a mechanism of several steps: it challenges with what it got, until it gets what it wants.
type echo struct{ steps int }

func (m *echo) Name() string { return "ECHO" }

func (m *echo) Start(initial []byte, has bool) ([]byte, *Result, error) { return m.Next(initial) }

func (m *echo) Next(response []byte) ([]byte, *Result, error) {
	if string(response) == "open" {
		return nil, &Result{OK: true, User: "e", Data: []byte("final")}, nil
	}
	m.steps++
	return append([]byte("not "), response...), nil, nil
}

func TestMechanismOfSeveralSteps(t *testing.T) {
	s := NewServer(&echo{})
	if r := s.HandleInit(&frames.SASLInit{Mechanism: "ECHO", InitialResponse: []byte("a")}); r.Done() || string(r.Challenge.Challenge) != "not a" {
		t.Fatalf("got %+v", r)
	}
	if r := s.HandleResponse(&frames.SASLResponse{Response: []byte("b")}); r.Done() || string(r.Challenge.Challenge) != "not b" {
		t.Fatalf("got %+v", r)
	}
	r := s.HandleResponse(&frames.SASLResponse{Response: []byte("open")})
	checkOutcome(t, r, frames.SASLCodeOK, "e")
	if string(r.Outcome.AdditionalData) != "final" {
		t.Errorf("additional data %q", r.Outcome.AdditionalData)
	}
}

// A client that never finishes is told that it failed.
func TestRoundsAreBounded(t *testing.T) {
	m := &echo{}
	s := NewServer(m)
	r := s.HandleInit(&frames.SASLInit{Mechanism: "ECHO"})
	n := 0
	for ; !r.Done(); n++ {
		r = s.HandleResponse(&frames.SASLResponse{Response: []byte("again")})
	}
	checkOutcome(t, r, frames.SASLCodeAuth, "")
	if n != maxRounds+1 || m.steps != maxRounds+1 {
		t.Errorf("over after %d responses, %d of them seen by the mechanism", n, m.steps)
	}
}

func TestBC79_Client(t *testing.T) {
	offered := func(names ...amqp.Symbol) *frames.SASLMechanisms { return &frames.SASLMechanisms{Mechanisms: names} }
	tests := []struct {
		name  string
		creds Credentials
		offer *frames.SASLMechanisms
		want  *frames.SASLInit
		err   string
	}{
		{"no credentials", Credentials{}, offered("PLAIN", "ANONYMOUS"),
			&frames.SASLInit{Mechanism: "ANONYMOUS", InitialResponse: []byte("anonymous")}, ""},
		{"no credentials, no anonymous", Credentials{}, offered("PLAIN", "EXTERNAL"), nil,
			"(EXTERNAL needs a client certificate, PLAIN needs a user)"},
		{"user over TLS", Credentials{User: "u", Password: "p", TLS: true}, offered("ANONYMOUS", "PLAIN"),
			&frames.SASLInit{Mechanism: "PLAIN", InitialResponse: []byte("\x00u\x00p")}, ""},
		{"user in clear", Credentials{User: "u", Password: "p"}, offered("PLAIN"), nil, "PLAIN needs TLS or to be allowed in clear"},
		{"user in clear, anonymous offered", Credentials{User: "u", Password: "p"}, offered("PLAIN", "ANONYMOUS"),
			&frames.SASLInit{Mechanism: "ANONYMOUS", InitialResponse: []byte("anonymous")}, ""},
		{"user in clear, allowed", Credentials{User: "u", Password: "p", AllowPlainInClear: true}, offered("PLAIN"),
			&frames.SASLInit{Mechanism: "PLAIN", InitialResponse: []byte("\x00u\x00p")}, ""},
		{"authzid", Credentials{User: "u", Password: "p", AuthzID: "z", TLS: true}, offered("PLAIN"),
			&frames.SASLInit{Mechanism: "PLAIN", InitialResponse: []byte("z\x00u\x00p")}, ""},
		{"certificate first", Credentials{User: "u", Password: "p", TLS: true, External: true}, offered("ANONYMOUS", "PLAIN", "EXTERNAL"),
			&frames.SASLInit{Mechanism: "EXTERNAL", InitialResponse: []byte{}}, ""},
		{"certificate, not offered", Credentials{User: "u", Password: "p", TLS: true, External: true}, offered("PLAIN"),
			&frames.SASLInit{Mechanism: "PLAIN", InitialResponse: []byte("\x00u\x00p")}, ""},
		{"certificate without TLS", Credentials{External: true}, offered("EXTERNAL"), nil, "EXTERNAL needs TLS"},
		{"not allowed", Credentials{User: "u", Password: "p", TLS: true, Allowed: []string{"EXTERNAL"}}, offered("PLAIN", "ANONYMOUS"), nil,
			"(PLAIN not allowed by configuration, ANONYMOUS not allowed by configuration)"},
		{"none allowed", Credentials{Allowed: []string{}}, offered("ANONYMOUS"), nil, "not allowed"},
		{"unknown ones only", Credentials{User: "u", Password: "p", TLS: true}, offered("SCRAM-SHA-256"), nil,
			"no usable mechanism among [SCRAM-SHA-256]"},
		{"none offered", Credentials{}, offered(), nil, "no usable mechanism"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := NewClient(test.creds)
			got, err := c.HandleMechanisms(test.offer)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || c.Mechanism() != "" {
					t.Errorf("got %+v, %v, want error %q", got, err, test.err)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			if c.Mechanism() != string(test.want.Mechanism) {
				t.Errorf("Mechanism = %q", c.Mechanism())
			}
		})
	}
}

func TestClientChallenges(t *testing.T) {
	c := NewClient(Credentials{User: "u", Password: "p", TLS: true})
	if _, err := c.HandleChallenge(&frames.SASLChallenge{}); err == nil {
		t.Error("a challenge before the mechanisms was answered")
	}
	if _, err := c.HandleMechanisms(&frames.SASLMechanisms{Mechanisms: []amqp.Symbol{"PLAIN"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.HandleChallenge(&frames.SASLChallenge{Challenge: []byte("x")}); err == nil {
		t.Error("a challenge with content was answered")
	}
	r, err := c.HandleChallenge(&frames.SASLChallenge{Challenge: []byte{}})
	if err != nil || string(r.Response) != "\x00u\x00p" {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := c.HandleChallenge(&frames.SASLChallenge{Challenge: []byte{}}); err == nil {
		t.Error("a second challenge was answered")
	}
}

func TestClientOutcomes(t *testing.T) {
	c := NewClient(Credentials{})
	if err := c.HandleOutcome(&frames.SASLOutcome{}); err == nil {
		t.Error("an outcome before the mechanisms was accepted")
	}
	if _, err := c.HandleMechanisms(&frames.SASLMechanisms{Mechanisms: []amqp.Symbol{"ANONYMOUS"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.HandleOutcome(&frames.SASLOutcome{Code: frames.SASLCodeOK}); err != nil {
		t.Error(err)
	}
	for code, want := range map[uint8]string{1: "authentication failed", 2: "system error", 3: "permanent", 4: "temporary", 9: "code 9"} {
		err := c.HandleOutcome(&frames.SASLOutcome{Code: code})
		var outcome *OutcomeError
		if !errors.As(err, &outcome) || outcome.Code != code || !strings.Contains(err.Error(), want) {
			t.Errorf("code %d: %v", code, err)
		}
	}
}

// Each side understands the other, frames included.
func TestClientAgainstServer(t *testing.T) {
	for _, creds := range []Credentials{
		{},
		{User: "ada", Password: "secret", AllowPlainInClear: true},
		{External: true, TLS: true},
		{External: true, TLS: true, AuthzID: "CN=ada"},
	} {
		s, c := newServer(), NewClient(creds)
		var mechanisms frames.SASLMechanisms
		if _, err := mechanisms.Decode((&frames.SASLMechanisms{Mechanisms: s.Mechanisms()}).Append(nil)); err != nil {
			t.Fatal(err)
		}
		first, err := c.HandleMechanisms(&mechanisms)
		if err != nil {
			t.Fatal(err)
		}
		var init frames.SASLInit
		if _, err := init.Decode(first.Append(nil)); err != nil {
			t.Fatal(err)
		}
		reply := s.HandleInit(&init)
		if !reply.Done() || !reply.Result.OK {
			t.Fatalf("%+v: %+v", creds, reply)
		}
		if err := c.HandleOutcome(reply.Outcome); err != nil {
			t.Error(err)
		}
	}
}

// FuzzServer: whatever a client sends, only the right secret opens, and every exchange ends.
func FuzzServer(f *testing.F) {
	f.Add("PLAIN", []byte("\x00ada\x00secret"), []byte(nil), true)
	f.Add("PLAIN", []byte(nil), []byte("\x00ada\x00secret"), false)
	f.Add("EXTERNAL", []byte(nil), []byte("CN=ada"), false)
	f.Add("ANONYMOUS", []byte("x"), []byte(nil), true)
	f.Add("plain", []byte("\x00\x00"), []byte("\x00"), true)
	f.Fuzz(func(t *testing.T, mechanism string, initial, response []byte, has bool) {
		if !has {
			initial = nil
		} else if initial == nil {
			initial = []byte{}
		}
		s := newServer()
		r := s.HandleInit(&frames.SASLInit{Mechanism: amqp.Symbol(mechanism), InitialResponse: initial})
		said := initial
		if !r.Done() {
			said = response
			r = s.HandleResponse(&frames.SASLResponse{Response: response})
		}
		if !r.Done() {
			t.Fatal("the exchange goes on")
		}
		if r.Result.OK != (r.Outcome.Code == frames.SASLCodeOK) {
			t.Fatalf("%+v with %+v", r.Result, r.Outcome)
		}
		want := ""
		switch {
		case mechanism == "ANONYMOUS":
			want = "anonymous"
		case mechanism == "EXTERNAL" && (len(said) == 0 || string(said) == "CN=ada"):
			want = "CN=ada"
		case mechanism == "PLAIN":
			if z, ok := strings.CutSuffix(string(said), "\x00ada\x00secret"); ok && (z == "" || z == "ada" || z == "ada@sluice") {
				want = "ada@sluice"
			}
		}
		if r.Result.User != want {
			t.Fatalf("user %q, want %q", r.Result.User, want)
		}
	})
}
