package client

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"sluice/router/control/auth"
	"sluice/router/control/tlsprofile"
)

// DefaultURL is where a router with the default configuration listens.
const DefaultURL = "amqp://127.0.0.1:5672"

// Options say where to connect, and as whom. The zero Options connect to
// DefaultURL without authentication.
type Options struct {
	URL         string // amqp:// or amqps://, with optional user, password and port
	User        string
	Password    string // env:NAME, file:PATH, pass:TEXT or the password
	SASL        string // "", none, anonymous, plain or external; "": what the rest suggests
	CACert      string // PEM files
	Cert        string
	Key         string
	KeyPassword string        // like Password
	Insecure    bool          // do not verify the server's certificate
	NoHostname  bool          // verify it, but not that it is for the host
	Timeout     time.Duration // for connecting; 0: DefaultTimeout
	FrameSize   uint32        // max-frame-size; 0: go-amqp's 64 KiB
	ContainerID string        // "": random
	Meter       *Meter        // counts the bytes of connections; nil: none does
}

// DefaultTimeout is how long connecting may take.
const DefaultTimeout = 10 * time.Second

// target is what Options mean.
type target struct {
	url      *url.URL // without user and path
	sasl     string
	user     string
	password auth.Secret
	tls      *tls.Config // nil for amqp://

	certificate bool // one is presented
}

// SplitURL splits a URL with a path into the URL of the peer and an address:
// amqp://host/queue is the address queue at amqp://host.
func SplitURL(text string) (peer, address string) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text, ""
	}
	address = strings.TrimPrefix(u.Path, "/")
	u.Path, u.RawPath = "", ""
	return u.String(), address
}

// resolve checks the options and reads the files they name.
func (o Options) resolve() (*target, error) {
	text := o.URL
	if text == "" {
		text = DefaultURL
	}
	if !strings.Contains(text, "://") {
		text = "amqp://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		var bad *url.Error
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return nil, fmt.Errorf("%q is no URL (%w); expected amqp://HOST[:PORT] or amqps://HOST[:PORT]", text, err)
	}
	switch u.Scheme {
	case "amqp", "amqps":
	default:
		return nil, fmt.Errorf("%q: scheme %q is not known; expected amqp:// or amqps://", text, u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("%q names no host; expected %s://HOST[:PORT]", text, u.Scheme)
	}
	if p := strings.Trim(u.Path, "/"); p != "" {
		return nil, fmt.Errorf("%q: the address %q belongs after the options, not into --url", text, p)
	}
	t := &target{sasl: strings.ToLower(o.SASL), user: o.User, url: &url.URL{Scheme: u.Scheme, Host: hostPort(u)}, certificate: o.Cert != ""}
	if err := t.credentials(o, u); err != nil {
		return nil, err
	}
	if u.Scheme == "amqps" {
		if t.tls, err = o.tlsConfig(u.Hostname()); err != nil {
			return nil, err
		}
	} else if o.CACert != "" || o.Cert != "" || o.Key != "" || o.Insecure {
		return nil, fmt.Errorf("options for TLS are given, but %s is not encrypted; use amqps://", t.url)
	}
	return t, nil
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "5672"
		if u.Scheme == "amqps" {
			port = "5671"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// credentials decides who we are.
func (t *target) credentials(o Options, u *url.URL) error {
	if u.User != nil && t.user == "" {
		t.user = u.User.Username()
		if p, ok := u.User.Password(); ok && o.Password == "" {
			t.password = auth.Secret(p)
		}
	}
	if o.Password != "" {
		secret, _, err := auth.ResolvePassword(o.Password, auth.PasswordForms{})
		if err != nil {
			return fmt.Errorf("--password: %w", err)
		}
		t.password = secret
	}
	if t.sasl == "" {
		switch {
		case t.user != "":
			t.sasl = "plain"
		case o.Cert != "":
			t.sasl = "external"
		default:
			t.sasl = "anonymous"
		}
	}
	switch t.sasl {
	case "none", "anonymous":
	case "external":
		if o.Cert == "" {
			return errors.New("--sasl external needs a certificate: --cert FILE --key FILE")
		}
	case "plain":
		if t.user == "" {
			return errors.New("--sasl plain needs a user: --user NAME --password env:NAME")
		}
	default:
		return fmt.Errorf("--sasl %s is not known; expected none, anonymous, plain or external", o.SASL)
	}
	return nil
}

// tlsConfig uses the profiles of the router, which know encrypted keys and can
// verify a chain without the name.
func (o Options) tlsConfig(host string) (*tls.Config, error) {
	profile, err := tlsprofile.New(tlsprofile.Spec{
		Name: "command line", CACertFile: o.CACert, CertFile: o.Cert, PrivateKeyFile: o.Key, Password: o.KeyPassword,
	}, zerolog.Nop())
	if errors.Is(err, tlsprofile.ErrNoPassword) {
		return nil, fmt.Errorf("the key of %s is encrypted; --key-password env:NAME, or file:PATH, decrypts it", cmp.Or(o.Key, o.Cert))
	}
	if err != nil {
		return nil, err
	}
	c := profile.Client(host, !o.NoHostname)
	if o.Insecure {
		c.InsecureSkipVerify, c.VerifyConnection = true, nil
	}
	return c, nil
}
