package e2e

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/amqp"
	. "sluice/amqp/amqptest"
	"sluice/amqp/driver"
	"sluice/amqp/frames"
	"sluice/amqp/sasl"
	"sluice/amqp/transport"
	"sluice/tests/harness/bubble"
)

// §2.2: "If the … protocol version is not supported … send a protocol header
// with a supported version and then close the socket".
func TestBC75_Openings(t *testing.T) {
	server := func() *sasl.Server { return sasl.NewServer(&sasl.Anonymous{}) }
	for _, test := range []struct {
		name    string
		write   string
		close   bool          // the peer closes after that
		seconds time.Duration // until something happens
		answer  bool
	}{
		{name: "connect and close", close: true},
		{name: "connect and say nothing", seconds: 15},
		{name: "HTTP", write: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", answer: true},
		{name: "a short word", write: "Q\n", answer: true},
		{name: "TLS hello", write: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", answer: true},
		{name: "AMQP 0-9-1", write: "AMQP\x00\x00\x09\x01", answer: true},
		{name: "AMQP 0-10", write: "AMQP\x01\x01\x00\x0a", answer: true},
		{name: "AMQP 1.1", write: "AMQP\x00\x01\x01\x00", answer: true},
		{name: "AMQP with TLS inside", write: "AMQP\x02\x01\x00\x00", answer: true},
		{name: "unknown protocol id", write: "AMQP\x07\x01\x00\x00", answer: true},
		{name: "PROXY v1", write: "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n", answer: true},
		{name: "PROXY v2 LOCAL", write: "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00", answer: true},
		{name: "half a header", write: "AMQP\x00", seconds: 15},
		{name: "half a header and close", write: "AMQP\x00", close: true},
		{name: "zeros", write: strings.Repeat("\x00", 100), answer: true},
	} {
		for _, required := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/sasl=%v", test.name, required), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := bubble.New(t, bubble.Options{Transport: transport.Config{SASLServer: server, RequireSASL: required}})
					p := r.Dial()
					if test.write != "" {
						p.Write([]byte(test.write))
					}
					if test.close {
						p.End.CloseWrite()
					}
					if test.seconds > 0 {
						time.Sleep(test.seconds*time.Second - 1)
						p.WantIdle("not yet")
						time.Sleep(1)
					}
					if test.answer {
						p.WantHeader("what is spoken here", map[bool]frames.ProtoID{false: frames.ProtoAMQP, true: frames.ProtoSASL}[required])
					}
					p.WantEnd("")
					p.End.Close()
					if n := r.Collect(); n != 0 {
						t.Error("the connection is still there")
					}
					if len(r.Causes) != 1 {
						t.Errorf("%d ends were reported", len(r.Causes))
					}
				})
			})
		}
	}
}

// Who has opened nothing in time is told so where the protocol allows it.
func TestBC75_HandshakeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Driver: driver.Options{HandshakeTimeout: 7 * time.Second}})
		p := r.Dial()
		p.Write(Header(frames.ProtoAMQP))
		p.WantHeader("", frames.ProtoAMQP)
		wait(6)
		p.WantIdle("there is time left")
		wait(1)
		p.Want("§2.4.1: a close is preceded by an open", "open")
		p.Want("", "close ~Timeout")
		wait(2)
		p.WantEnd("")
	})
}

// §2.7.1: the open before a close that refuses is valid, so that the peer sees
// the reason.
func TestBC77_RefusedOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{Opened: func(*frames.Open) *amqp.Error {
			return amqp.Errorf(amqp.CondResourceLimitExceeded, "too many connections")
		}})
		p := r.Dial()
		p.Write(Header(frames.ProtoAMQP), Open("c"), Begin(), Sending("x", 0, "q")) // pipelined
		p.WantHeader("", frames.ProtoAMQP)
		var open frames.Open
		p.Want("", "open").Decode(&open)
		if open.MaxFrameSize < 512 || open.ContainerID == "" {
			t.Errorf("%+v", open)
		}
		p.Want("", `close error={condition=amqp:resource-limit-exceeded description="too many connections"}`)
		p.WantIdle("what was pipelined is discarded")
		p.Write(&frames.Close{})
		p.WantEnd("")
	})
}

func TestBC77_OpenIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		write any
		want  string
	}{
		"max-frame-size below 512": {&frames.Open{ContainerID: "c", MaxFrameSize: 511}, "~condition=amqp:invalid-field"},
		"no container-id":          {hx("00 00 00 0c 02 00 00 00 00 53 10 45"), "~condition="},
		"begin before open":        {Begin(), "~condition=amqp:not-allowed"},
		"not a frame":              {hx("00 00 00 01 02 00 00 00"), "~condition=amqp:connection:framing-error"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				p := r.Dial()
				p.Write(Header(frames.ProtoAMQP), test.write)
				p.WantHeader("", frames.ProtoAMQP)
				p.Want("", "open")
				p.Want("", "close "+test.want)
				p.Write(&frames.Close{})
				p.End.CloseWrite()
				p.WantEnd("")
			})
		})
	}
}

// BC-79, the server's side: each mechanism, with and without an initial
// response, offered or not.
func TestBC79_SASLServer(t *testing.T) {
	verify := func(user, password string) (string, bool, error) { return user + "@x", password == "secret", nil }
	mechanisms := map[string]func() sasl.ServerMechanism{
		"PLAIN":     func() sasl.ServerMechanism { return &sasl.Plain{Verify: verify} },
		"EXTERNAL":  func() sasl.ServerMechanism { return &sasl.External{Identity: "cert"} },
		"ANONYMOUS": func() sasl.ServerMechanism { return &sasl.Anonymous{} },
	}
	right := map[string]string{"PLAIN": "\x00user\x00secret", "EXTERNAL": "", "ANONYMOUS": "trace"}
	wrong := map[string]string{"PLAIN": "\x00user\x00guess", "EXTERNAL": "somebody else"}
	users := map[string]string{"PLAIN": "user@x", "EXTERNAL": "cert"}
	for name := range right {
		for _, offered := range []bool{true, false} {
			for _, initial := range []bool{true, false} {
				for _, good := range []bool{true, false} {
					response := right[name]
					if !good {
						if response = wrong[name]; response == "" {
							continue
						}
					}
					t.Run(fmt.Sprintf("%s/offered=%v/initial=%v/good=%v", name, offered, initial, good), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							r := bubble.New(t, bubble.Options{Transport: transport.Config{RequireSASL: true, SASLServer: func() *sasl.Server {
								var list []sasl.ServerMechanism
								for _, n := range []string{"EXTERNAL", "PLAIN", "ANONYMOUS"} {
									if (n == name) == offered {
										list = append(list, mechanisms[n]())
									}
								}
								return sasl.NewServer(list...)
							}}})
							p := r.Dial()
							p.Write(Header(frames.ProtoSASL))
							p.WantHeader("", frames.ProtoSASL)
							p.Want("", "sasl-mechanisms")
							init := &frames.SASLInit{Mechanism: amqp.Symbol(name)}
							if initial {
								init.InitialResponse = []byte(response)
							}
							p.Write(SASL(init))
							if !offered {
								p.Want("§5.3.3.2", "sasl-outcome code=1")
								p.WantEnd("§5.3.2: no AMQP follows")
								return
							}
							if !initial && name != "ANONYMOUS" {
								p.Want("the client is asked", "sasl-challenge challenge=(0 bytes)")
								p.Write(SASL(&frames.SASLResponse{Response: []byte(response)}))
							}
							if !good {
								p.Want("", "sasl-outcome code=1")
								p.WantEnd("")
								return
							}
							p.Want("", "sasl-outcome code=0")
							p.Connect("c")
							if want := users[name]; want != "" && r.User != want || r.Mechanism != name {
								t.Errorf("user %q, mechanism %q", r.User, r.Mechanism)
							}
						})
					})
				}
			}
		}
	}
}

// A client that skips SASL is welcome where it is not required (§2.2), and shown
// the header of SASL where it is.
func TestBC79_ClientSkipsSASL(t *testing.T) {
	for _, required := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := bubble.New(t, bubble.Options{Transport: transport.Config{
				RequireSASL: required,
				SASLServer:  func() *sasl.Server { return sasl.NewServer(&sasl.Anonymous{}) },
			}})
			p := r.Dial()
			p.Write(Header(frames.ProtoAMQP), Open("c"))
			if required {
				p.WantHeader("", frames.ProtoSASL)
				p.WantEnd("")
				return
			}
			p.WantHeader("", frames.ProtoAMQP)
			p.Want("", "open")
		})
	}
}

// What does not belong into a SASL exchange ends it.
func TestBC79_SASLErrors(t *testing.T) {
	for name, write := range map[string][]any{
		"response before init":   {SASL(&frames.SASLResponse{Response: []byte("x")})},
		"an AMQP frame":          {Open("c")},
		"a frame of the server":  {SASL(&frames.SASLOutcome{})},
		"a frame that is larger": {append(hx("00 00 40 00 02 01 00 00"), make([]byte, 1000)...)},
		"init twice":             {SASL(&frames.SASLInit{Mechanism: "PLAIN"}), SASL(&frames.SASLInit{Mechanism: "PLAIN"})},
		"SASL again afterwards":  {SASL(&frames.SASLInit{Mechanism: "ANONYMOUS"}), Header(frames.ProtoSASL)},
		"rubbish":                {hx("00 00 00 0a 02 01 00 00 ff ff")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{Transport: transport.Config{
					RequireSASL: true,
					SASLServer: func() *sasl.Server {
						return sasl.NewServer(&sasl.Anonymous{}, &sasl.Plain{Verify: func(string, string) (string, bool, error) { return "", false, nil }})
					},
				}})
				p := r.Dial()
				p.Write(Header(frames.ProtoSASL))
				p.WantHeader("", frames.ProtoSASL)
				p.Want("", "sasl-mechanisms sasl-server-mechanisms=[ANONYMOUS PLAIN]")
				p.Write(write...)
				for _, f := range p.All("") {
					if f.Type != frames.TypeSASL && name != "a frame that is larger" {
						t.Errorf("answered by %s", f.Text)
					}
				}
				p.End.Close()
				if n := r.Collect(); n != 0 {
					t.Error("the connection is still there")
				}
			})
		})
	}
}

// BC-79, the client's side.
func TestBC79_SASLClient(t *testing.T) {
	for _, test := range []struct {
		name    string
		creds   sasl.Credentials
		offered []amqp.Symbol
		init    string // the mechanism chosen; empty for none
		reply   string // the initial response
	}{
		{"anonymous without credentials", sasl.Credentials{}, []amqp.Symbol{"PLAIN", "ANONYMOUS"}, "ANONYMOUS", "anonymous"},
		{"plain over TLS", sasl.Credentials{User: "u", Password: "p", TLS: true}, []amqp.Symbol{"ANONYMOUS", "PLAIN"}, "PLAIN", "\x00u\x00p"},
		{"plain in clear if allowed", sasl.Credentials{User: "u", Password: "p", AllowPlainInClear: true}, []amqp.Symbol{"PLAIN"}, "PLAIN", "\x00u\x00p"},
		{"no plain in clear", sasl.Credentials{User: "u", Password: "p"}, []amqp.Symbol{"PLAIN"}, "", ""},
		{"external first", sasl.Credentials{User: "u", Password: "p", TLS: true, External: true}, []amqp.Symbol{"PLAIN", "EXTERNAL"}, "EXTERNAL", ""},
		{"nothing that is known", sasl.Credentials{}, []amqp.Symbol{"X-MAGIC"}, "", ""},
		{"nothing offered", sasl.Credentials{}, []amqp.Symbol{}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				cfg := transport.Config{ContainerID: "router", Hostname: "there", MaxFrameSize: 4096, ChannelMax: 9, Client: true, SASLClient: sasl.NewClient(test.creds)}
				p, _ := r.DialDriver(cfg)
				p.WantHeader("a client speaks first", frames.ProtoSASL)
				p.Write(Header(frames.ProtoSASL), SASL(&frames.SASLMechanisms{Mechanisms: test.offered}))
				if test.init == "" {
					p.WantEnd("it has nothing to say")
					p.End.Close()
					r.Collect()
					if len(r.Causes) != 1 || r.Causes[0].Err == nil {
						t.Errorf("%+v", r.Causes)
					}
					return
				}
				var init frames.SASLInit
				p.Want("only what was offered", "sasl-init mechanism="+test.init).Decode(&init)
				if string(init.InitialResponse) != test.reply {
					t.Errorf("initial response %q", init.InitialResponse)
				}
				if test.init == "EXTERNAL" {
					p.Write(SASL(&frames.SASLChallenge{Challenge: []byte{}}))
					p.Want("a server that overlooks an empty response", "sasl-response")
				}
				p.Write(SASL(&frames.SASLOutcome{Code: frames.SASLCodeOK}))
				p.WantHeader("", frames.ProtoAMQP)
				p.Want("", `open container-id="router" hostname="there" max-frame-size=4096 channel-max=9`)
				p.Write(Header(frames.ProtoAMQP), Open("server"))
				p.WantIdle("it is open")
				p.Write(&frames.Close{})
				p.Want("", "close !error")
				p.WantEnd("")
				p.Drop()
				if r.Collect(); len(r.Errs) != 1 || r.Errs[0] != nil {
					t.Error(r.Errs)
				}
			})
		})
	}
}

// A server that says no, or speaks something else.
func TestBC79_ServerRefuses(t *testing.T) {
	for name, write := range map[string][]any{
		"outcome auth":   {Header(frames.ProtoSASL), SASL(&frames.SASLMechanisms{Mechanisms: []amqp.Symbol{"ANONYMOUS"}}), SASL(&frames.SASLOutcome{Code: frames.SASLCodeAuth})},
		"another header": {Header(frames.ProtoAMQP)},
		"0-9-1":          {[]byte("AMQP\x00\x00\x09\x01")},
		"HTTP":           {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n")},
		"a challenge":    {Header(frames.ProtoSASL), SASL(&frames.SASLMechanisms{Mechanisms: []amqp.Symbol{"ANONYMOUS"}}), SASL(&frames.SASLChallenge{Challenge: []byte("why")})},
		"an early ok":    {Header(frames.ProtoSASL), SASL(&frames.SASLOutcome{Code: frames.SASLCodeOK})},
		"nothing":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bubble.New(t, bubble.Options{})
				p, _ := r.DialDriver(transport.Config{ContainerID: "router", Client: true, SASLClient: sasl.NewClient(sasl.Credentials{})})
				p.WantHeader("", frames.ProtoSASL)
				p.Write(write...)
				wait(30)
				p.All("")
				if n := r.Collect(); n != 0 {
					t.Fatal("the connection is still there")
				}
				if len(r.Causes) != 1 || r.Causes[0].Err == nil {
					t.Errorf("%+v", r.Causes)
				}
			})
		})
	}
}

// Without credentials for SASL the layer may be left out: the client sends its
// header and open at once.
func TestClientWithoutSASL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubble.New(t, bubble.Options{})
		p, d := r.DialDriver(transport.Config{ContainerID: "router", Client: true, ChannelMax: 5})
		p.WantHeader("", frames.ProtoAMQP)
		p.Want("§2.4.1: opens may be pipelined", "open")
		p.Write(Header(frames.ProtoAMQP), Open("server"))
		p.WantIdle("")
		d.Do(func(c *transport.Conn) {
			if _, err := c.Begin(); err != nil {
				t.Error(err)
			}
		})
		p.Want("a session of ours", "begin !remote-channel next-outgoing-id=0")
		b := Begin()
		b.RemoteChannel, b.HasRemoteChannel = 0, true
		p.Write(On(3, b))
		p.WantIdle("§2.5.1: the answer completes it")
		p.Write(On(3, Echo(SessionFlow())))
		p.Want("", "[0] flow !handle")
		d.Close(amqp.Errorf(amqp.CondConnectionForced, "bye"))
		p.Want("", "close ~condition=amqp:connection:forced")
		p.Write(&frames.Close{})
		p.WantEnd("")
	})
}
