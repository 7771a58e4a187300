package sasl

import (
	"sluice/amqp"
	"sluice/amqp/frames"
)

// Names of mechanisms.
const (
	MechanismAnonymous = "ANONYMOUS"
	MechanismPlain     = "PLAIN"
	MechanismExternal  = "EXTERNAL"
)

// ServerMechanism is the server side of one mechanism. A Server that serves several exchanges at a time needs one value
// for each: a mechanism may keep state between Start and Next. Exactly one of challenge, done and err is set; an empty
// challenge is not nil. An err means that we failed, not that the client did, and ends in the outcome sys.
type ServerMechanism interface {
	Name() string
	// Start begins an exchange. has says whether there was an initial response; it may be empty.
	Start(initial []byte, has bool) (challenge []byte, done *Result, err error)
	// Next continues it with the response to the last challenge.
	Next(response []byte) (challenge []byte, done *Result, err error)
}

// Result is how an exchange ended.
type Result struct {
	OK   bool
	User string // identity, when OK
	Code uint8  // of the outcome; frames.SASLCodeOK exactly when OK
	Data []byte // additional data of the outcome, nil when none
}

// Reply is what a Server answers: a challenge, or an outcome with the result.
type Reply struct {
	Challenge *frames.SASLChallenge
	Outcome   *frames.SASLOutcome
	Result    *Result // set together with Outcome
	Err       error   // for the log: what went wrong on our side
}

// Done reports whether the exchange is over. Unless Result.OK the connection is to be closed after the outcome (§5.3.2).
func (r Reply) Done() bool { return r.Outcome != nil }

// Server is the server side of one exchange.
type Server struct {
	mechs  []ServerMechanism
	active ServerMechanism // set by HandleInit
	rounds int
	done   bool
}

// NewServer returns a Server that offers the mechanisms in that order.
func NewServer(mechs ...ServerMechanism) *Server { return &Server{mechs: mechs} }

// Mechanisms returns what to advertise.
func (s *Server) Mechanisms() []amqp.Symbol {
	names := make([]amqp.Symbol, 0, len(s.mechs))
	for _, m := range s.mechs {
		names = append(names, amqp.Symbol(m.Name()))
	}
	return names
}

// maxRounds bounds the responses of one exchange. SCRAM needs two; a client that goes on is not authenticating.
const maxRounds = 8

// HandleInit answers sasl-init.
func (s *Server) HandleInit(f *frames.SASLInit) Reply {
	if s.done || s.active != nil {
		return s.fail()
	}
	for _, m := range s.mechs {
		if m.Name() == string(f.Mechanism) {
			s.active = m
			return s.reply(m.Start(f.InitialResponse, f.InitialResponse != nil))
		}
	}
	// §5.3.3.2: "If the selected mechanism is not supported by the receiving peer, it MUST close the connection with the
	// authentication-failed close-code", which is the outcome auth.
	return s.fail()
}

// HandleResponse answers sasl-response.
func (s *Server) HandleResponse(f *frames.SASLResponse) Reply {
	if s.done || s.active == nil {
		return s.fail()
	}
	if s.rounds++; s.rounds > maxRounds {
		return s.fail()
	}
	return s.reply(s.active.Next(f.Response))
}

func (s *Server) reply(challenge []byte, done *Result, err error) Reply {
	switch {
	case err != nil:
		s.done = true
		return Reply{
			Outcome: &frames.SASLOutcome{Code: frames.SASLCodeSys},
			Result:  &Result{Code: frames.SASLCodeSys},
			Err:     err,
		}
	case done != nil:
		s.done = true
		return Reply{Outcome: &frames.SASLOutcome{Code: done.Code, AdditionalData: done.Data}, Result: done}
	}
	return Reply{Challenge: &frames.SASLChallenge{Challenge: challenge}}
}

func (s *Server) fail() Reply { return s.reply(nil, authFailed(), nil) }

func authFailed() *Result { return &Result{Code: frames.SASLCodeAuth} }

func authOK(user string) *Result { return &Result{OK: true, User: user, Code: frames.SASLCodeOK} }
