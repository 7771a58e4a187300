package sasl

import (
	"fmt"
	"slices"
	"strings"

	"sluice/amqp"
	"sluice/amqp/frames"
)

// Credentials is what a Client may use.
type Credentials struct {
	User              string
	Password          string
	AuthzID           string   // normally empty: some servers refuse PLAIN with it (BC-79)
	External          bool     // a client certificate is in use
	AllowPlainInClear bool     // PLAIN without TLS
	TLS               bool     // the connection is encrypted
	Allowed           []string // mechanisms that may be used; nil means all
}

// Client is the client side of one exchange.
type Client struct {
	creds     Credentials
	mechanism string // chosen by HandleMechanisms
	response  []byte // all that the mechanism has to say
	answered  bool   // response was sent a second time
}

// NewClient returns a Client with the given credentials.
func NewClient(creds Credentials) *Client { return &Client{creds: creds} }

// Mechanism returns the mechanism chosen, or "" before HandleMechanisms.
func (c *Client) Mechanism() string { return c.mechanism }

// HandleMechanisms picks a mechanism from those offered: EXTERNAL, PLAIN, ANONYMOUS, the first that the credentials and the
// connection allow.
func (c *Client) HandleMechanisms(f *frames.SASLMechanisms) (*frames.SASLInit, error) {
	var refused []string // why not, for the error
	usable := func(name string, why string) bool {
		switch {
		case !slices.Contains(f.Mechanisms, amqp.Symbol(name)):
			return false
		case c.creds.Allowed != nil && !slices.Contains(c.creds.Allowed, name):
			why = "not allowed by configuration"
		case why == "":
			c.mechanism = name
			return true
		}
		refused = append(refused, name+" "+why)
		return false
	}
	var noExternal, noPlain string
	switch {
	case !c.creds.External:
		noExternal = "needs a client certificate"
	case !c.creds.TLS:
		noExternal = "needs TLS"
	}
	switch {
	case c.creds.User == "":
		noPlain = "needs a user"
	case !c.creds.TLS && !c.creds.AllowPlainInClear:
		noPlain = "needs TLS or to be allowed in clear"
	}
	init := &frames.SASLInit{}
	switch {
	case usable(MechanismExternal, noExternal):
		init.InitialResponse = []byte(c.creds.AuthzID) // empty, but present
	case usable(MechanismPlain, noPlain):
		init.InitialResponse = []byte(c.creds.AuthzID + "\x00" + c.creds.User + "\x00" + c.creds.Password)
	case usable(MechanismAnonymous, ""):
		init.InitialResponse = []byte("anonymous")
	default:
		why := ""
		if len(refused) > 0 {
			why = " (" + strings.Join(refused, ", ") + ")"
		}
		return nil, fmt.Errorf("sasl: no usable mechanism among %v%s", f.Mechanisms, why)
	}
	init.Mechanism = amqp.Symbol(c.mechanism)
	c.response = init.InitialResponse
	return init, nil
}

// HandleChallenge answers sasl-challenge. The mechanisms at hand say all in the initial response, so a challenge that is
// not empty is an error. An empty one comes from servers that take an empty initial response for none, or overlook it
// (BC-79), and is answered by the same again, once.
func (c *Client) HandleChallenge(f *frames.SASLChallenge) (*frames.SASLResponse, error) {
	if c.mechanism == "" || c.answered || len(f.Challenge) != 0 {
		return nil, fmt.Errorf("sasl: unexpected challenge of %d bytes for mechanism %q", len(f.Challenge), c.mechanism)
	}
	c.answered = true
	return &frames.SASLResponse{Response: c.response}, nil
}

// OutcomeError is the outcome of an exchange that failed.
type OutcomeError struct {
	Mechanism string
	Code      uint8
}

func (e *OutcomeError) Error() string {
	what := "unknown outcome"
	switch e.Code {
	case frames.SASLCodeAuth:
		what = "authentication failed"
	case frames.SASLCodeSys:
		what = "system error"
	case frames.SASLCodeSysPerm:
		what = "permanent system error"
	case frames.SASLCodeSysTemp:
		what = "temporary system error"
	}
	return fmt.Sprintf("sasl: %s: %s (code %d)", e.Mechanism, what, e.Code)
}

// HandleOutcome returns nil if the server let us in, else an *OutcomeError.
func (c *Client) HandleOutcome(f *frames.SASLOutcome) error {
	if f.Code == frames.SASLCodeOK && c.mechanism != "" {
		return nil
	}
	return &OutcomeError{Mechanism: c.mechanism, Code: f.Code}
}
