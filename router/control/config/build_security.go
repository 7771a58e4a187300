package config

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"strings"

	"sluice/router/control/auth"
	"sluice/router/control/schema"
	"sluice/router/control/tlsprofile"
)

// saslSupported are the mechanisms that sluice speaks; saslKnown are others
// that existing configurations name.
var (
	saslSupported = []string{"ANONYMOUS", "PLAIN", "EXTERNAL"}
	saslKnown     = []string{"SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512", "DIGEST-MD5", "CRAM-MD5", "LOGIN", "GSSAPI",
		"GSS-SPNEGO", "XOAUTH2", "OAUTHBEARER", "SCRAM-SHA-1-PLUS", "SCRAM-SHA-256-PLUS"}
)

// mechanisms reads saslMechanisms. Mechanisms that are only known are dropped
// with a warning, unless nothing would be left.
func (b *builder) mechanisms(e *entity) []string {
	g := e.get("saslMechanisms")
	if g == nil {
		return nil
	}
	var names []string
	dropped, unknown := 0, false
	for _, word := range strings.FieldsFunc(g.text, func(c rune) bool { return c == ' ' || c == '\t' || c == ',' }) {
		name := strings.ToUpper(word)
		switch {
		case contains(names, name):
		case contains(saslSupported, name):
			names = append(names, name)
		case contains(saslKnown, name):
			b.warn(g.value.pos, "SASL mechanism %s is not supported yet: it is not offered", name)
			dropped++
		default:
			b.mistake(g.value.pos, "some of "+strings.Join(saslSupported, ", "),
				schema.Nearest(word, append(append([]string{}, saslSupported...), saslKnown...)),
				"unknown SASL mechanism %s", quoted(word))
			unknown = true
		}
	}
	if len(names) == 0 && dropped > 0 && !unknown {
		b.mistake(g.value.pos, "some of "+strings.Join(saslSupported, ", "), "", "none of the SASL mechanisms is supported yet")
	}
	return names
}

// password reads and resolves a password attribute.
func (b *builder) password(e *entity, name string, forms auth.PasswordForms) auth.Secret {
	g := e.get(name)
	if g == nil || g.text == "" || b.elsewhere {
		return ""
	}
	secret, plain, err := auth.ResolvePassword(g.text, forms)
	if err != nil {
		b.mistake(g.value.pos, passwordExpected, "", "%s: %s", name, fileReason(err))
	}
	if plain {
		b.warn(g.value.pos, "it is unsafe to provide plain text passwords in the configuration; use env:NAME or file:PATH")
	}
	return secret
}

// fileReason is an error of the system with the file it is about.
func fileReason(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return "cannot " + path.Op + " " + path.Path + ": " + path.Err.Error()
	}
	return err.Error()
}

func (b *builder) addSSLProfile(e *entity) {
	p := SSLProfile{
		Pos: e.pos,
		Spec: tlsprofile.Spec{
			Name:               e.text("name"),
			CACertFile:         e.text("caCertFile"),
			CertFile:           e.text("certFile"),
			PrivateKeyFile:     e.text("privateKeyFile"),
			Password:           e.text("password"),
			Protocols:          e.text("protocols"),
			Ciphers:            e.text("ciphers"),
			UIDFormat:          e.text("uidFormat"),
			UIDNameMappingFile: e.text("uidNameMappingFile"),
		},
	}
	if p.Password == "" && e.text("passwordFile") != "" {
		p.Password = "file:" + e.text("passwordFile")
	}
	if p.Name == "" && e.given["name"] == nil {
		b.mistake(e.pos, "name: STRING", "", "sslProfile has no name: nothing can refer to it")
	}
	if b.elsewhere {
		b.config.SSLProfiles = append(b.config.SSLProfiles, p)
		return
	}
	passwordBad := false
	for _, problem := range tlsprofile.Check(p.Spec) {
		if problem.Warning {
			b.warn(e.posOf(problem.Attribute), "%s: %s", problem.Attribute, problem.Err)
			continue
		}
		passwordBad = passwordBad || problem.Attribute == "password"
		b.mistake(e.posOf(problem.Attribute), expectedOf(e, problem.Attribute, problem.Err), "", "%s: %s", problem.Attribute, fileReason(problem.Err))
	}
	if e.text("password") != "" && !passwordBad {
		b.password(e, "password", auth.PasswordForms{Literal: true}) // for its warning
	}
	b.config.SSLProfiles = append(b.config.SSLProfiles, p)
}

// reference is a use of an sslProfile, checked when all are known.
type reference struct {
	entity *entity
	server bool
}

func (b *builder) checkProfile(e *entity) {
	if e.get("sslProfile") != nil {
		b.profiles = append(b.profiles, reference{e, e.schema.Name == "listener"})
	}
}

// checkProfiles reports references to profiles that are not there, and
// listeners whose profile has no certificate.
func (b *builder) checkProfiles() {
	var names []string
	for _, p := range b.config.SSLProfiles {
		if !contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	for _, ref := range b.profiles {
		name, pos := ref.entity.text("sslProfile"), ref.entity.posOf("sslProfile")
		found := false
		for i := range b.config.SSLProfiles {
			p := &b.config.SSLProfiles[i]
			if p.Name != name || found {
				continue
			}
			found = true
			if ref.server && p.CertFile == "" {
				b.mistake(pos, "certFile and privateKeyFile in it", "", "sslProfile %s has no certificate for a listener", quoted(name))
			}
			mechanisms := strings.ToUpper(ref.entity.text("saslMechanisms"))
			if ref.server && strings.Contains(mechanisms, "EXTERNAL") && p.CACertFile == "" {
				b.warn(pos, "sslProfile %s has no caCertFile: clients are trusted that any authority of the system has certified", quoted(name))
			}
		}
		if !found {
			expected := "the name of an sslProfile; there is none"
			if len(names) > 0 {
				expected = "one of " + strings.Join(names, ", ")
			}
			b.mistake(pos, expected, schema.Nearest(name, names), "there is no sslProfile %s", quoted(name))
		}
	}
}

func (b *builder) checkUsersFile(e *entity) {
	g := e.get("saslUsersFile")
	if g == nil || g.text == "" || b.elsewhere {
		return
	}
	_, err := auth.LoadUsers(g.text)
	if lines := new(auth.UsersError); errors.As(err, &lines) {
		for _, err := range lines.Lines {
			b.mistake(g.value.pos, usersExpected(g.text, err), "", "saslUsersFile: %s", err)
		}
	} else if err != nil {
		b.mistake(g.value.pos, usersExpected(g.text, err), "", "saslUsersFile: %s", fileReason(err))
	}
}

// usersExpected says what helps with a users file.
func usersExpected(path string, err error) string {
	if inner := unwrapped(err); os.IsNotExist(inner) || os.IsPermission(inner) {
		return fileExpected(path)
	}
	return "a line for each user, as htpasswd -nB NAME prints it"
}

// checkListenerSecurity reports doors that nobody can pass, and warns of those
// that everybody can.
func (b *builder) checkListenerSecurity(e *entity, l *Listener, isHost bool) {
	noTLS := e.text("sslProfile") == ""
	if l.RequireSSL && noTLS {
		b.mistake(e.posOf("requireSsl"), "an sslProfile", "", "requireSsl without sslProfile: nobody could connect")
	}
	if l.RequireEncrypted && !l.RequireSSL && noTLS {
		b.mistake(e.posOf("requireEncryption"), "an sslProfile", "", "requireEncryption without sslProfile: nobody could connect")
	}
	external, plain := contains(l.SASLMechanisms, "EXTERNAL"), contains(l.SASLMechanisms, "PLAIN")
	if external && noTLS && len(l.SASLMechanisms) == 1 && l.takesAMQP() {
		b.mistake(e.posOf("saslMechanisms"), "an sslProfile, or other mechanisms, too", "",
			"EXTERNAL is the only mechanism, and there is no sslProfile: nobody could connect")
	} else if external && noTLS {
		b.warn(e.posOf("saslMechanisms"), "EXTERNAL without sslProfile: it is not offered, because there are no client certificates")
	}
	if plain && l.SASLUsersFile == "" && l.takesAMQP() {
		b.warn(e.posOf("saslMechanisms"), "PLAIN without saslUsersFile: it is not offered, because there are no users")
	}
	canProve := external && !noTLS || l.SASLUsersFile != "" && (plain || len(l.SASLMechanisms) == 0) || l.HTTP && !noTLS
	if l.AuthenticatePeer && !canProve && e.text("saslPlugin") != "" {
		b.warn(e.posOf("authenticatePeer"), "authenticatePeer with nothing but a saslPlugin, which is not supported yet: NOBODY CAN CONNECT")
	} else if l.AuthenticatePeer && !canProve {
		b.mistake(e.posOf("authenticatePeer"), "a saslUsersFile for PLAIN, or an sslProfile and saslMechanisms: EXTERNAL", "",
			"authenticatePeer, but no way to authenticate: nobody could connect")
	}
	demanded := l.RequireSSL && !noTLS && l.ClientAuth() == tls.RequireAndVerifyClientCert
	if isHost && !b.flawed(e) && !l.AuthenticatePeer && !l.AllowInsecure && l.takesAMQP() && !loopback(l.Host) && !demanded {
		also := ""
		if l.HTTP {
			also = " (it takes AMQP over WebSocket; websockets: no ends that)"
		}
		b.warn(l.Pos, "LISTENER %s IS OPEN TO EVERYONE who can reach it: it is not on loopback and does not authenticate peers%s; set authenticatePeer: yes, or allowInsecure: yes if this is intended",
			l.Address(), also)
	}
}

// checkConnectorSecurity reports what nobody would let in, and warns of what has no
// effect.
func (b *builder) checkConnectorSecurity(e *entity, c *Connector) {
	only := func(mechanism string) bool { return len(c.SASLMechanisms) == 1 && c.SASLMechanisms[0] == mechanism }
	switch {
	case only("EXTERNAL") && c.SSLProfile == "":
		b.mistake(e.posOf("saslMechanisms"), "an sslProfile with a certificate, or other mechanisms, too", "",
			"EXTERNAL is the only mechanism, and there is no sslProfile: it could not log in")
	case contains(c.SASLMechanisms, "EXTERNAL") && c.SSLProfile == "":
		b.warn(e.posOf("saslMechanisms"), "EXTERNAL without sslProfile: it is not tried, because there is no certificate")
	}
	switch {
	case only("PLAIN") && c.SASLUsername == "":
		b.mistake(e.posOf("saslMechanisms"), "saslUsername and saslPassword, or other mechanisms, too", "",
			"PLAIN is the only mechanism, and there is no saslUsername: it could not log in")
	case contains(c.SASLMechanisms, "PLAIN") && c.SASLUsername == "":
		b.warn(e.posOf("saslMechanisms"), "PLAIN without saslUsername: it is not tried")
	case c.SASLUsername == "" && e.text("saslPassword") != "":
		b.warn(e.posOf("saslPassword"), "saslPassword without saslUsername has no effect")
	case c.SASLUsername != "" && e.text("saslPassword") == "" && !b.elsewhere:
		b.warn(e.posOf("saslUsername"), "saslUsername without saslPassword: the password is empty")
	}
}

// takesAMQP tells whether messages can be sent and received here.
func (l *Listener) takesAMQP() bool { return !l.HTTP || l.WebSockets }

// loopback reports whether only this machine can connect to host.
func loopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
