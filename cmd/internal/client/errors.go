package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	goamqp "github.com/Azure/go-amqp"
)

// Error is a failure to connect. Its text is one line.
type Error struct {
	Err   error
	Usage bool // the options are wrong, and no connection was tried
}

func (e *Error) Error() string { return oneLine(e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// explain says what failed, and what to do about it.
func (t *target) explain(err error) error {
	what := fmt.Sprintf("cannot connect to %s", t.url)
	var dns *net.DNSError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var conn *goamqp.ConnError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%s: connection refused; nothing listens there (\"sluice run\" starts a router)", what)
	case errors.Is(err, errHTTP):
		return fmt.Errorf("%s: that is a port for HTTP, not for AMQP; use the port of a listener without http", what)
	case errors.As(err, &dns):
		return fmt.Errorf("%s: there is no host %s", what, dns.Name)
	case errors.As(err, &authority):
		return fmt.Errorf("%s: the certificate is of an unknown authority; name it with --cacert FILE", what)
	case errors.As(err, &name):
		return fmt.Errorf("%s: the certificate is for another host; use its name, or --no-hostname (%w)", what, name)
	case errors.As(err, &invalid):
		return fmt.Errorf("%s: %w", what, invalid)
	case errors.As(err, &record):
		return fmt.Errorf("%s: the port does not speak TLS; use amqp://", what)
	case strings.Contains(err.Error(), "tls: certificate required"):
		return fmt.Errorf("%s: the peer demands a certificate; present one with --cert FILE --key FILE", what)
	case strings.Contains(err.Error(), "remote error: tls:") && t.certificate:
		return fmt.Errorf("%s: the peer refused the certificate (%s); is it of an authority that it trusts?", what, alertOf(err))
	case errors.As(err, &conn) && conn.RemoteErr != nil:
		return fmt.Errorf("%s: the peer refused: %s", what, Describe(conn.RemoteErr))
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%s: no answer in time; --connect-timeout allows more", what)
	case strings.Contains(err.Error(), "SASL") && strings.Contains(err.Error(), "code"):
		return fmt.Errorf("%s: authentication failed; check the user and password (%s)", what, t.sasl)
	case strings.Contains(err.Error(), "no supported auth mechanism"):
		return fmt.Errorf("%s: the peer does not offer SASL %s; %s", what, strings.ToUpper(t.sasl), t.otherwise())
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		hint := "it may demand authentication (--user)"
		switch {
		case t.url.Scheme == "amqp":
			hint += " or TLS (amqps://)"
		case !t.certificate:
			hint += " or a certificate (--cert FILE --key FILE)"
		}
		return fmt.Errorf("%s: the peer closed the connection at once; %s", what, hint)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// errHTTP is an answer in HTTP.
var errHTTP = errors.New("the answer is HTTP")

// otherwise says how to log in if the peer does not offer the mechanism that was
// tried.
func (t *target) otherwise() string {
	const user, certificate = "--user NAME --password env:VARIABLE logs in with a password", "--cert FILE --key FILE with a certificate"
	switch {
	case t.sasl == "plain" && t.certificate:
		return "--sasl external logs in with the certificate"
	case t.sasl == "plain" && t.tls == nil:
		return "it may offer it over TLS only (amqps://), or want a certificate (--cert FILE --key FILE)"
	case t.sasl == "plain":
		return "--cert FILE --key FILE logs in with a certificate, and --sasl anonymous as nobody"
	case t.sasl == "external":
		return user
	case t.tls == nil:
		return user + "; it may want TLS (amqps://) and a certificate, too"
	}
	return user + ", " + certificate
}

// alertOf returns what the peer said in a TLS alert.
func alertOf(err error) string {
	_, alert, _ := strings.Cut(err.Error(), "remote error: tls: ")
	return alert
}

// Describe returns an AMQP error as "condition: description".
func Describe(e *goamqp.Error) string {
	if e == nil {
		return "no reason given"
	}
	if e.Description == "" {
		return string(e.Condition)
	}
	return string(e.Condition) + ": " + oneLine(errors.New(e.Description))
}

// A Failure is the end of something on an open connection. Its text is one line.
type Failure struct {
	Kind Kind
	text string
}

func (f *Failure) Error() string { return f.text }

// Kind says what has failed.
type Kind uint8

const (
	Other   Kind = iota
	Lost         // the connection
	Refused      // a link or a message: the router does not want it
)

// ExplainAttach says why there is no link to an address; the anonymous terminus
// has none.
func ExplainAttach(err error, address string) *Failure {
	link := "the anonymous link"
	if address != "" {
		link = fmt.Sprintf("the link to %q", address)
	}
	return explain(err, link, "the router refused "+link)
}

// Explain says why an open link to an address failed.
func Explain(err error, address string) *Failure {
	link := "the anonymous link"
	if address != "" {
		link = fmt.Sprintf("the link to %q", address)
	}
	return explain(err, link, "a message over "+link+" was refused")
}

func explain(err error, link, refused string) *Failure {
	var le *goamqp.LinkError
	var se *goamqp.SessionError
	var ce *goamqp.ConnError
	var amqp *goamqp.Error
	switch {
	case errors.As(err, &ce) && ce.RemoteErr != nil:
		return &Failure{Lost, "the router closed the connection: " + Describe(ce.RemoteErr)}
	case errors.As(err, &ce):
		return &Failure{Lost, "the connection was lost"}
	case errors.As(err, &se) && se.RemoteErr != nil:
		return &Failure{Other, "the router ended the session: " + Describe(se.RemoteErr)}
	case errors.As(err, &le) && le.RemoteErr != nil:
		return &Failure{Refused, "the router closed " + link + ": " + Describe(le.RemoteErr)}
	case errors.As(err, &le):
		return &Failure{Other, link + " was closed: " + oneLine(le)}
	case errors.As(err, &amqp):
		hint := ""
		if amqp.Condition == goamqp.ErrCondNotFound {
			hint = ` (its distribution is "unavailable"?)`
		}
		return &Failure{Refused, refused + ": " + Describe(amqp) + hint}
	}
	return &Failure{Other, oneLine(err)}
}

// oneLine joins the lines of an error.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(c rune) bool { return c == '\n' || c == '\r' }), "; ")
}
