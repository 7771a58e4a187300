package tlsprofile

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"sluice/router/control/auth"
	"sluice/router/control/files"
)

// material is what the files of a profile say at one moment. It does not
// change: a reload makes another.
type material struct {
	roots       *x509.CertPool    // nil: the system's
	certificate []tls.Certificate // own: one, or none
	minVersion  uint16
	maxVersion  uint16
	ciphers     []uint16 // nil: Go's choice
	uid         uidFormat
	digest      [sha256.Size]byte // of all the files

	// Server configurations are shared by all handshakes.
	open, asking, mutual *tls.Config
}

// load reads and checks every file of spec, and finds all that is wrong. The
// material is nil unless those are warnings.
func load(spec Spec) (*material, []*SpecError) {
	l := loader{}
	m := &material{minVersion: tls.VersionTLS12, maxVersion: tls.VersionTLS13}
	if spec.CACertFile != "" {
		pem := l.read("caCertFile", spec.CACertFile)
		m.roots = x509.NewCertPool()
		if pem != nil && !m.roots.AppendCertsFromPEM(pem) {
			l.fail("caCertFile", fmt.Errorf("%s has no certificate in PEM form", spec.CACertFile))
		}
	}
	m.certificate = l.certificate(spec)
	if spec.Protocols != "" {
		var err error
		var note string
		if m.minVersion, m.maxVersion, note, err = parseProtocols(spec.Protocols); err != nil {
			l.fail("protocols", err)
		} else if note != "" {
			l.warn("protocols", errors.New(note))
		}
	}
	if spec.Ciphers != "" {
		var err error
		if m.ciphers, err = parseCiphers(spec.Ciphers); err != nil {
			l.fail("ciphers", err)
		}
	}
	var err error
	if m.uid, err = parseUIDFormat(spec.UIDFormat); err != nil {
		l.warn("uidFormat", err)
	}
	if spec.UIDNameMappingFile != "" {
		if data := l.read("uidNameMappingFile", spec.UIDNameMappingFile); data != nil {
			if m.uid.names, err = parseNames(data); err != nil {
				l.fail("uidNameMappingFile", fmt.Errorf("%s: %w", spec.UIDNameMappingFile, err))
			}
		}
	}
	if l.failed {
		return nil, l.problems
	}
	m.digest = sha256.Sum256(l.all)
	m.open = m.server(tls.NoClientCert)
	m.asking = m.server(tls.VerifyClientCertIfGiven)
	m.mutual = m.server(tls.RequireAndVerifyClientCert)
	return m, l.problems
}

// loader reads files and collects what is wrong with them.
type loader struct {
	problems []*SpecError
	failed   bool   // not all of them are warnings
	all      []byte // what was read, to tell whether it changed
}

func (l *loader) fail(attribute string, err error) {
	l.problems = append(l.problems, &SpecError{Attribute: attribute, Err: err})
	l.failed = true
}

func (l *loader) warn(attribute string, err error) {
	l.problems = append(l.problems, &SpecError{Attribute: attribute, Err: err, Warning: true})
}

// read returns the content of a file, or nil.
func (l *loader) read(attribute, path string) []byte {
	data, err := files.Read(path, files.MaxPEM)
	if err != nil {
		l.fail(attribute, err)
		return nil
	}
	l.all = append(append(l.all, attribute...), data...)
	return data
}

func (l *loader) certificate(spec Spec) []tls.Certificate {
	switch {
	case spec.CertFile == "" && spec.PrivateKeyFile == "":
		return nil
	case spec.PrivateKeyFile == "":
		// A file may hold both.
		spec.PrivateKeyFile = spec.CertFile
	case spec.CertFile == "":
		l.fail("privateKeyFile", errors.New("there is no certFile: a key is of no use without its certificate"))
		return nil
	}
	certPEM := l.read("certFile", spec.CertFile)
	keyPEM := certPEM
	if spec.PrivateKeyFile != spec.CertFile {
		keyPEM = l.read("privateKeyFile", spec.PrivateKeyFile)
	}
	var password auth.Secret
	if spec.Password != "" {
		var err error
		if password, _, err = auth.ResolvePassword(spec.Password, auth.PasswordForms{Literal: true}); err != nil {
			l.fail("password", err)
			return nil
		}
	}
	if certPEM == nil || keyPEM == nil {
		return nil
	}
	key, err := decryptKey(keyPEM, password.Reveal())
	switch {
	case errors.Is(err, ErrNoPassword):
		l.fail("privateKeyFile", fmt.Errorf("%s: %w", spec.PrivateKeyFile, err))
		return nil
	case errors.Is(err, errWrongPassword):
		l.fail("password", fmt.Errorf("%s: %w", spec.PrivateKeyFile, err))
		return nil
	case err != nil:
		l.fail("privateKeyFile", fmt.Errorf("%s: %w", spec.PrivateKeyFile, err))
		return nil
	}
	pair, err := tls.X509KeyPair(certPEM, key)
	if err != nil {
		l.fail("certFile", fmt.Errorf("%s with %s: %w", spec.CertFile, spec.PrivateKeyFile, err))
		return nil
	}
	return []tls.Certificate{pair}
}

func (m *material) base() *tls.Config {
	return &tls.Config{
		Certificates: m.certificate,
		MinVersion:   m.minVersion,
		MaxVersion:   m.maxVersion,
		CipherSuites: m.ciphers,
	}
}

// server makes the configuration for connections that come in.
func (m *material) server(auth tls.ClientAuthType) *tls.Config {
	c := m.base()
	c.ClientAuth = auth
	c.ClientCAs = m.roots
	return c
}

// client makes the configuration for one connection that goes out.
func (m *material) client(serverName string, verifyHostname bool) *tls.Config {
	c := m.base()
	c.ServerName = serverName
	c.RootCAs = m.roots
	if !verifyHostname {
		// crypto/tls can only skip all of the verification, so that the chain
		// is verified here.
		c.InsecureSkipVerify = true
		c.VerifyConnection = m.verifyChain
	}
	return c
}

var errNoCertificate = errors.New("the server sent no certificate")

func (m *material) verifyChain(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errNoCertificate
	}
	opts := x509.VerifyOptions{Roots: m.roots, Intermediates: x509.NewCertPool()}
	for _, c := range state.PeerCertificates[1:] {
		opts.Intermediates.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(opts)
	return err
}

// soon is how long before the end of a certificate its owner is warned.
const soon = 14 * 24 * time.Hour

// ends returns when the own certificate ends, if that is past or soon.
func (m *material) ends(now time.Time) (time.Time, bool) {
	if len(m.certificate) == 0 || m.certificate[0].Leaf == nil {
		return time.Time{}, false
	}
	end := m.certificate[0].Leaf.NotAfter
	return end, now.Add(soon).After(end)
}
