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
		return fmt.Errorf("%s: no answer in time; --timeout allows more", what)
	case errors.Is(err, context.Canceled):
		return err
	case strings.Contains(err.Error(), "SASL") && strings.Contains(err.Error(), "code"):
		return fmt.Errorf("%s: authentication failed; check the user and password (%s)", what, t.sasl)
	case strings.Contains(err.Error(), "no supported auth mechanism"):
		return fmt.Errorf("%s: the peer does not offer SASL %s; --sasl chooses another", what, strings.ToUpper(t.sasl))
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

// Explain turns an error of an open connection, session or link into one line.
func Explain(err error) error {
	var link *goamqp.LinkError
	var session *goamqp.SessionError
	var conn *goamqp.ConnError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &link) && link.RemoteErr != nil:
		return fmt.Errorf("the peer closed the link: %s", Describe(link.RemoteErr))
	case errors.As(err, &session) && session.RemoteErr != nil:
		return fmt.Errorf("the peer ended the session: %s", Describe(session.RemoteErr))
	case errors.As(err, &conn) && conn.RemoteErr != nil:
		return fmt.Errorf("the peer closed the connection: %s", Describe(conn.RemoteErr))
	case errors.As(err, &conn):
		return errors.New("the connection was lost")
	}
	return errors.New(oneLine(err))
}

// oneLine joins the lines of an error.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(c rune) bool { return c == '\n' || c == '\r' }), "; ")
}
