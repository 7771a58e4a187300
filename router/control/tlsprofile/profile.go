package tlsprofile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Profile is a live sslProfile. It is safe for concurrent use.
type Profile struct {
	spec    Spec
	log     zerolog.Logger
	current atomic.Pointer[material]

	lastError string // that Watch logged; belongs to it
}

// New reads the files of spec. The error joins one *SpecError for each
// attribute that is wrong; for warnings see Check.
func New(spec Spec, log zerolog.Logger) (*Profile, error) {
	m, problems := load(spec)
	if m == nil {
		return nil, joined(problems)
	}
	p := &Profile{spec: spec, log: log.With().Str("sslProfile", spec.Name).Logger()}
	p.use(m)
	return p, nil
}

// Check reports what New would find wrong, and what it would do otherwise than
// spec says.
func Check(spec Spec) []*SpecError {
	_, problems := load(spec)
	return problems
}

// Name returns the name of the profile.
func (p *Profile) Name() string { return p.spec.Name }

// Reload reads the files again, and reports whether they have changed. If any
// cannot be used the profile keeps what it has.
func (p *Profile) Reload() (changed bool, err error) {
	m, problems := load(p.spec)
	if m == nil {
		return false, fmt.Errorf("sslProfile %s: %w", p.spec.Name, joined(problems))
	}
	if m.digest == p.current.Load().digest {
		return false, nil
	}
	p.use(m)
	return true, nil
}

// use puts m in force.
func (p *Profile) use(m *material) {
	p.current.Store(m)
	if end, soon := m.ends(time.Now()); soon {
		p.log.Warn().Time("notAfter", end).Msg("the certificate of sslProfile ends soon, or has ended")
	}
}

// Server returns the configuration for a listener. A client certificate that is
// given is verified against the profile's CAs, unless auth is tls.NoClientCert;
// tls.RequireAndVerifyClientCert demands one, tls.VerifyClientCertIfGiven asks
// for one.
func (p *Profile) Server(auth tls.ClientAuthType) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// Everything is decided per handshake, so that a reload takes effect.
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			m := p.current.Load()
			switch auth {
			case tls.NoClientCert:
				return m.open, nil
			case tls.VerifyClientCertIfGiven:
				return m.asking, nil
			}
			return m.mutual, nil
		},
	}
}

// Client returns the configuration for one connection of a connector to the
// host serverName. The chain is always verified, the name of the host only if
// verifyHostname is true. Ask again for each connection: that is what makes a
// reload take effect.
func (p *Profile) Client(serverName string, verifyHostname bool) *tls.Config {
	return p.current.Load().client(serverName, verifyHostname)
}

// Watch reloads the profile after its files change, until ctx is done. It logs
// what it does and returns only ctx's error or one that kept it from watching.
func (p *Profile) Watch(ctx context.Context) error { return watch(ctx, p) }

// Identity returns the user identity of a peer from its verified certificate,
// or "" if it has none.
func (p *Profile) Identity(state tls.ConnectionState) string {
	if len(state.PeerCertificates) == 0 {
		return ""
	}
	return p.current.Load().identity(state.PeerCertificates[0])
}

func joined(problems []*SpecError) error {
	var errs []error
	for _, p := range problems {
		if !p.Warning {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}
