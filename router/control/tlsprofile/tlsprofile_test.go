package tlsprofile

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// authority makes certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  string
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * 365 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, _ := x509.ParseCertificate(der)
	a := &authority{cert: cert, key: key, dir: t.TempDir()}
	writePEM(t, a.file("ca.pem"), "CERTIFICATE", der)
	return a
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// issue writes NAME.pem and NAME.key.
func (a *authority) issue(t *testing.T, name string, subject pkix.Name) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<60))
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: subject, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * 100 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, a.file(name+".pem"), "CERTIFICATE", der)
	keyDER, _ := x509.MarshalPKCS8PrivateKey(key)
	writePEM(t, a.file(name+".key"), "PRIVATE KEY", keyDER)
	cert, _ := x509.ParseCertificate(der)
	return cert
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (a *authority) spec(name string) Spec {
	return Spec{Name: name, CACertFile: a.file("ca.pem"), CertFile: a.file(name + ".pem"), PrivateKeyFile: a.file(name + ".key")}
}

func mustNew(t *testing.T, spec Spec) *Profile {
	t.Helper()
	p, err := New(spec, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// handshake connects a client and a server and returns what the server saw.
func handshake(t *testing.T, server, client *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	type result struct {
		state tls.ConnectionState
		err   error
	}
	done := make(chan result, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			done <- result{err: err}
			return
		}
		s := tls.Server(c, server)
		err = s.Handshake()
		if err == nil {
			_, err = s.Write([]byte("x"))
		}
		done <- result{s.ConnectionState(), err}
		s.Close()
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tc := tls.Client(c, client)
	clientErr := tc.Handshake()
	if clientErr == nil {
		// With TLS 1.3 a refused client certificate is seen at the first read.
		_, clientErr = io.ReadFull(tc, make([]byte, 1))
	}
	c.Close()
	r := <-done
	if clientErr != nil {
		return r.state, clientErr
	}
	return r.state, r.err
}

func TestClientCertificates(t *testing.T) {
	a, other := newAuthority(t, "CA"), newAuthority(t, "other CA")
	a.issue(t, "server", pkix.Name{CommonName: "server"})
	a.issue(t, "client", pkix.Name{CommonName: "alice", Organization: []string{"Acme"}})
	other.issue(t, "client", pkix.Name{CommonName: "mallory"})
	server := mustNew(t, a.spec("server"))
	client := mustNew(t, a.spec("client"))

	state, err := handshake(t, server.Server(tls.RequireAndVerifyClientCert), client.Client("localhost", true))
	if err != nil {
		t.Fatal(err)
	}
	if got := server.Identity(state); got != "CN=alice,O=Acme" {
		t.Errorf("identity %q", got)
	}
	if state.Version != tls.VersionTLS13 {
		t.Errorf("version %x", state.Version)
	}
	// Without EXTERNAL no certificate is asked for.
	state, err = handshake(t, server.Server(tls.NoClientCert), client.Client("localhost", true))
	if err != nil || len(state.PeerCertificates) != 0 || server.Identity(state) != "" {
		t.Errorf("without EXTERNAL: %v, %d certificates", err, len(state.PeerCertificates))
	}
	none := mustNew(t, Spec{Name: "none", CACertFile: a.file("ca.pem")})
	if _, err := handshake(t, server.Server(tls.RequireAndVerifyClientCert), none.Client("localhost", true)); err == nil {
		t.Error("a client without certificate was accepted")
	}
	// Beside other mechanisms a certificate is asked for, and verified.
	state, err = handshake(t, server.Server(tls.VerifyClientCertIfGiven), client.Client("localhost", true))
	if err != nil || server.Identity(state) != "CN=alice,O=Acme" {
		t.Errorf("asked for: %v, identity %q", err, server.Identity(state))
	}
	state, err = handshake(t, server.Server(tls.VerifyClientCertIfGiven), none.Client("localhost", true))
	if err != nil || server.Identity(state) != "" {
		t.Errorf("asked for and not given: %v, identity %q", err, server.Identity(state))
	}
	foreign := other.spec("client")
	foreign.CACertFile = a.file("ca.pem")
	if _, err := handshake(t, server.Server(tls.RequireAndVerifyClientCert), mustNew(t, foreign).Client("localhost", true)); err == nil {
		t.Error("a client of another authority was accepted")
	}
	// A client need not heed which authorities are asked for.
	pushy := mustNew(t, foreign).Client("localhost", true)
	pushy.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pushy.Certificates[0], nil }
	if _, err := handshake(t, server.Server(tls.VerifyClientCertIfGiven), pushy); err == nil {
		t.Error("a certificate of another authority was accepted where it was not demanded")
	}
}

func TestVerifyHostname(t *testing.T) {
	a, other := newAuthority(t, "CA"), newAuthority(t, "other CA")
	a.issue(t, "server", pkix.Name{CommonName: "server"})
	server := mustNew(t, a.spec("server")).Server(tls.NoClientCert)
	client := mustNew(t, Spec{CACertFile: a.file("ca.pem")})
	if _, err := handshake(t, server, client.Client("elsewhere", true)); err == nil {
		t.Error("a certificate for another host was accepted")
	}
	if _, err := handshake(t, server, client.Client("elsewhere", false)); err != nil {
		t.Errorf("verifyHostname no: %v", err)
	}
	// The chain is verified all the same.
	stranger := mustNew(t, Spec{CACertFile: other.file("ca.pem")})
	for _, verify := range []bool{true, false} {
		if _, err := handshake(t, server, stranger.Client("localhost", verify)); err == nil {
			t.Errorf("verifyHostname %v: a certificate of another authority was accepted", verify)
		}
	}
}

func TestProtocolsAndCiphers(t *testing.T) {
	a := newAuthority(t, "CA")
	a.issue(t, "server", pkix.Name{})
	spec := a.spec("server")
	spec.Protocols, spec.Ciphers = "TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384"
	state, err := handshake(t, mustNew(t, spec).Server(tls.NoClientCert), mustNew(t, Spec{CACertFile: a.file("ca.pem")}).Client("localhost", true))
	if err != nil || state.Version != tls.VersionTLS12 || state.CipherSuite != tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 {
		t.Errorf("version %x, suite %s, %v", state.Version, tls.CipherSuiteName(state.CipherSuite), err)
	}
	for text, want := range map[string][2]uint16{
		"TLSv1.2":         {tls.VersionTLS12, tls.VersionTLS12},
		"TLSv1.3 TLSv1.2": {tls.VersionTLS12, tls.VersionTLS13},
		"tlsv1.3":         {tls.VersionTLS13, tls.VersionTLS13},
	} {
		if low, high, note, err := parseProtocols(text); err != nil || low != want[0] || high != want[1] || note != "" {
			t.Errorf("%q: %x %x %q %v", text, low, high, note, err)
		}
	}
	for _, text := range []string{"TLSv9", "TLSv1.2 SSLv4", " "} {
		if _, _, _, err := parseProtocols(text); err == nil || !strings.Contains(err.Error(), "TLSv1.2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Existing configurations name versions that nobody should speak: those are not
// offered, and the rest is.
func TestOldProtocolsAreLeftOut(t *testing.T) {
	a := newAuthority(t, "CA")
	a.issue(t, "server", pkix.Name{})
	for _, test := range []struct {
		protocols string
		low, high uint16
		note      string
	}{
		{"TLSv1 TLSv1.1 TLSv1.2", tls.VersionTLS12, tls.VersionTLS12, "TLSv1 TLSv1.1: versions before TLSv1.2 are not offered, only TLSv1.2 is;"},
		{"TLSv1.1 TLSv1.3", tls.VersionTLS13, tls.VersionTLS13, "only TLSv1.3 is;"},
		{"SSLv3,TLSv1.2;TLSv1.3", tls.VersionTLS12, tls.VersionTLS13, "SSLv3: versions before TLSv1.2 are not offered, only TLSv1.2 and TLSv1.3 are;"},
		{"TLSv1", tls.VersionTLS12, tls.VersionTLS12, "TLSv1: versions before TLSv1.2 are not offered, only TLSv1.2 is;"},
		{"SSLv3 TLSv1.1", tls.VersionTLS12, tls.VersionTLS12, "only TLSv1.2 is;"},
		{"SSLv23", tls.VersionTLS12, tls.VersionTLS13, "SSLv23: versions before TLSv1.2 are not offered, only TLSv1.2 and TLSv1.3 are;"},
	} {
		spec := a.spec("server")
		spec.Protocols = test.protocols
		problems := Check(spec)
		if len(problems) != 1 || !problems[0].Warning || problems[0].Attribute != "protocols" || !strings.Contains(problems[0].Err.Error(), test.note) {
			t.Errorf("%q: %v", test.protocols, problems)
		}
		server := mustNew(t, spec).Server(tls.NoClientCert)
		for version := uint16(tls.VersionTLS10); version <= tls.VersionTLS13; version++ {
			client := mustNew(t, Spec{CACertFile: a.file("ca.pem")}).Client("localhost", true)
			client.MinVersion, client.MaxVersion = version, version
			if _, err := handshake(t, server, client); (err == nil) != (test.low <= version && version <= test.high) {
				t.Errorf("%q: %s: %v", test.protocols, tls.VersionName(version), err)
			}
		}
	}
}

// A uidFormat that is none leaves the whole subject, as with Qpid Dispatch.
func TestUIDFormatThatIsNone(t *testing.T) {
	a := newAuthority(t, "CA")
	cert := a.issue(t, "server", pkix.Name{Country: []string{"US"}, CommonName: "n1"})
	for _, format := range []string{"1x", "abxd", "cslounns"} {
		spec := a.spec("server")
		spec.UIDFormat = format
		problems := Check(spec)
		if len(problems) != 1 || !problems[0].Warning || !strings.Contains(problems[0].Err.Error(), "whole subject") {
			t.Errorf("%q: %v", format, problems)
		}
		if got := mustNew(t, spec).Identity(tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}); !strings.Contains(got, "C=US") || !strings.Contains(got, "CN=n1") {
			t.Errorf("%q: identity %q", format, got)
		}
	}
}

func TestParseCiphers(t *testing.T) {
	name := func(suites []uint16) string {
		var names []string
		for _, s := range suites {
			for _, n := range openSSLNames {
				if n.suite == s {
					names = append(names, n.name)
				}
			}
		}
		return strings.Join(names, " ")
	}
	for text, want := range map[string]string{
		"AES128-SHA":                   "AES128-SHA",
		"TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
		"ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-SHA384": "ECDHE-RSA-AES128-GCM-SHA256",
		"DHE-RSA-AES256-GCM-SHA384, AES256-SHA":               "AES256-SHA",
		"ECDHE+AESGCM:!aNULL:!MD5:!ECDSA:@STRENGTH":           "ECDHE-RSA-AES128-GCM-SHA256 ECDHE-RSA-AES256-GCM-SHA384",
		"CHACHA20:-ECDSA":                   "ECDHE-RSA-CHACHA20-POLY1305",
		"!AES128-SHA:AES128-SHA:AES256-SHA": "AES256-SHA",
	} {
		suites, err := parseCiphers(text)
		if err != nil || name(suites) != want {
			t.Errorf("%q: %s, %v; want %s", text, name(suites), err, want)
		}
	}
	for _, text := range []string{"NOSUCH", "DHE-RSA-AES256-SHA", "", "ALL:!ALL", "ECDHE+NOSUCH", "TLS_AES_128_GCM_SHA256"} {
		if suites, err := parseCiphers(text); err == nil {
			t.Errorf("%q: %s", text, name(suites))
		}
	}
	if suites, err := parseCiphers("HIGH"); err != nil || slices.Contains(suites, tls.TLS_RSA_WITH_RC4_128_SHA) {
		t.Errorf("HIGH: %s, %v", name(suites), err)
	}
}

func TestEncryptedKeys(t *testing.T) {
	plain, err := os.ReadFile("testdata/plain.pem")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(plain)
	want, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "pkcs8-aes-128-cbc", "pkcs8-aes-256-cbc", "pkcs8-des3", "pkcs8-sha1", "legacy-aes128"} {
		data, err := os.ReadFile("testdata/" + name + ".pem")
		if err != nil {
			t.Fatal(err)
		}
		got, err := decryptKey(data, "secret")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		block, _ := pem.Decode(got)
		var key any
		if key, err = x509.ParsePKCS8PrivateKey(block.Bytes); err != nil {
			key, err = x509.ParseECPrivateKey(block.Bytes)
		}
		if err != nil || !want.Equal(key) {
			t.Errorf("%s: another key, %v", name, err)
		}
		if name == "plain" {
			continue
		}
		if _, err := decryptKey(data, "wrong"); !errors.Is(err, errWrongPassword) {
			t.Errorf("%s with a wrong password: %v", name, err)
		}
		if _, err := decryptKey(data, ""); !errors.Is(err, ErrNoPassword) {
			t.Errorf("%s without password: %v", name, err)
		}
	}
	data, _ := os.ReadFile("testdata/pkcs8-scrypt.pem")
	if _, err := decryptKey(data, "secret"); err == nil || !strings.Contains(err.Error(), "not supported") {
		t.Errorf("scrypt: %v", err)
	}
}

func FuzzDecryptKey(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.pem")
	for _, name := range files {
		data, _ := os.ReadFile(name)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if block, _ := pem.Decode(data); block != nil && len(block.Bytes) > 4096 {
			return
		}
		if key, err := decryptKey(data, "x"); err == nil {
			if block, _ := pem.Decode(key); block == nil || !strings.HasSuffix(block.Type, "PRIVATE KEY") {
				t.Fatalf("no key: %q", key)
			}
		}
	})
}

func TestIdentity(t *testing.T) {
	a := newAuthority(t, "CA")
	cert := a.issue(t, "client", pkix.Name{
		Country: []string{"US"}, Province: []string{"NC"}, Locality: []string{"Raleigh"},
		Organization: []string{"Client, Inc"}, CommonName: "127.0.0.1",
	})
	sum := sha256.Sum256(cert.Raw)
	for format, want := range map[string]string{
		"n":    "127.0.0.1",
		"cslo": "US;NC;Raleigh;Client, Inc",
		"oun":  "Client, Inc;127.0.0.1", // no unit: left out
		"2":    hex.EncodeToString(sum[:]),
		"n2":   "127.0.0.1;" + hex.EncodeToString(sum[:]),
	} {
		f, err := parseUIDFormat(format)
		if err != nil {
			t.Fatal(err)
		}
		got := f.of(cert)
		if got != want {
			t.Errorf("%q: %q, want %q", format, got, want)
		}
	}
	if f, _ := parseUIDFormat("125"); len(f.of(cert)) != 40+1+64+1+128 {
		t.Errorf("fingerprints: %q", f.of(cert))
	}
	for _, bad := range []string{"x", "N", "ccccccccc"} {
		if _, err := parseUIDFormat(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// The whole subject is written from the last RDN to the first, as RFC 4514
// says.
func TestSubject(t *testing.T) {
	attr := func(v string, oid ...int) pkix.AttributeTypeAndValue {
		return pkix.AttributeTypeAndValue{Type: oid, Value: v}
	}
	subject := pkix.RDNSequence{
		{attr("127.0.0.1", 2, 5, 4, 3)}, {attr("Client, Inc", 2, 5, 4, 10)}, {attr("Dev", 2, 5, 4, 11), attr("#1", 1, 2, 3)},
		{attr("Raleigh", 2, 5, 4, 7)}, {attr("NC", 2, 5, 4, 8)}, {attr("US", 2, 5, 4, 6)},
	}
	want := `C=US,ST=NC,L=Raleigh,OU=Dev+1.2.3=\#1,O=Client\, Inc,CN=127.0.0.1`
	if got := subjectText(subject); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestDisplayNames(t *testing.T) {
	a := newAuthority(t, "CA")
	cert := a.issue(t, "server", pkix.Name{CommonName: "n1"})
	names := a.file("names.json")
	os.WriteFile(names, []byte(`{"n1": "user one"}`), 0o600)
	spec := a.spec("server")
	spec.UIDFormat, spec.UIDNameMappingFile = "n", names
	p := mustNew(t, spec)
	if got := p.Identity(tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}); got != "user one" {
		t.Errorf("identity %q", got)
	}
}

// Everything that is wrong is found at once, and says with which attribute.
func TestCheckFindsEverything(t *testing.T) {
	a := newAuthority(t, "CA")
	a.issue(t, "one", pkix.Name{})
	a.issue(t, "two", pkix.Name{})
	empty := a.file("empty")
	os.WriteFile(empty, []byte("x"), 0o600)
	for _, test := range []struct {
		spec Spec
		want string // attributes
	}{
		{Spec{}, ""},
		{a.spec("one"), ""},
		{Spec{CACertFile: "/no/ca", CertFile: "/no/cert", PrivateKeyFile: "/no/key", Protocols: "x", Ciphers: "x", UIDFormat: "x", UIDNameMappingFile: "/no/map"},
			"caCertFile certFile privateKeyFile protocols ciphers uidFormat uidNameMappingFile"},
		{Spec{CACertFile: empty}, "caCertFile"},
		{Spec{CertFile: a.file("one.pem"), PrivateKeyFile: a.file("two.key")}, "certFile"},
		{Spec{CertFile: empty, PrivateKeyFile: a.file("two.key")}, "certFile"},
		{Spec{CertFile: a.file("one.pem"), PrivateKeyFile: empty}, "privateKeyFile"},
		{Spec{CertFile: a.file("one.pem")}, "privateKeyFile"},
		{Spec{PrivateKeyFile: a.file("one.key")}, "privateKeyFile"},
		{Spec{CertFile: a.file("one.pem"), PrivateKeyFile: "testdata/pkcs8-des3.pem"}, "privateKeyFile"},
		{Spec{CertFile: a.file("one.pem"), PrivateKeyFile: "testdata/pkcs8-des3.pem", Password: "pass:wrong"}, "password"},
		{Spec{CertFile: a.file("one.pem"), PrivateKeyFile: a.file("one.key"), Password: "env:SLUICE_TEST_UNSET"}, "password"},
		{Spec{UIDNameMappingFile: empty}, "uidNameMappingFile"},
	} {
		var got []string
		for _, p := range Check(test.spec) {
			got = append(got, p.Attribute)
			if p.Warning != (p.Attribute == "uidFormat") {
				t.Errorf("%+v: %+v", test.spec, p)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%+v:\n got %v\nwant %s", test.spec, got, test.want)
		}
	}
}

func TestReload(t *testing.T) {
	a := newAuthority(t, "CA")
	first := a.issue(t, "server", pkix.Name{CommonName: "first"})
	p := mustNew(t, a.spec("server"))
	server, client := p.Server(tls.NoClientCert), mustNew(t, Spec{CACertFile: a.file("ca.pem")})
	serial := func() *big.Int {
		c := client.Client("localhost", true)
		var seen *big.Int
		c.VerifyConnection = func(s tls.ConnectionState) error { seen = s.PeerCertificates[0].SerialNumber; return nil }
		if _, err := handshake(t, server, c); err != nil {
			t.Fatal(err)
		}
		return seen
	}
	if serial().Cmp(first.SerialNumber) != 0 {
		t.Error("not the first certificate")
	}
	second := a.issue(t, "server", pkix.Name{CommonName: "second"})
	if changed, err := p.Reload(); err != nil || !changed {
		t.Fatal(err)
	}
	if serial().Cmp(second.SerialNumber) != 0 {
		t.Error("a listener that was there before the reload has the old certificate")
	}
	os.WriteFile(a.file("server.pem"), []byte("broken"), 0o600)
	if _, err := p.Reload(); err == nil || !strings.Contains(err.Error(), "certFile") || !strings.Contains(err.Error(), "sslProfile server") {
		t.Errorf("a broken file: %v", err)
	}
	if serial().Cmp(second.SerialNumber) != 0 {
		t.Error("a broken file replaced the certificate")
	}
}

// lines is a log that a test can wait for.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

func (l lines) wait(t *testing.T, part string) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case line := <-l:
			if strings.Contains(line, part) {
				return
			}
		case <-timeout:
			t.Fatalf("no log line with %q", part)
		}
	}
}

func TestWatch(t *testing.T) {
	a := newAuthority(t, "CA")
	a.issue(t, "server", pkix.Name{})
	log := make(lines, 100)
	p, err := New(a.spec("server"), zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	// A change before the watch begins is seen by it, which also tells the
	// test that it has begun.
	a.issue(t, "server", pkix.Name{})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Watch(ctx) }()
	log.wait(t, "reloaded")

	before := p.current.Load()
	os.WriteFile(a.file("server.pem"), []byte("broken"), 0o600)
	log.wait(t, "cannot be used")
	if p.current.Load() != before {
		t.Error("a broken file was used")
	}
	// Tools replace files by renaming.
	dir := a.dir
	a.dir = t.TempDir()
	next := a.issue(t, "server", pkix.Name{})
	for _, f := range []string{"server.key", "server.pem"} {
		if err := os.Rename(a.file(f), filepath.Join(dir, f)); err != nil {
			data, _ := os.ReadFile(a.file(f))
			os.WriteFile(filepath.Join(dir, f), data, 0o600)
		}
	}
	log.wait(t, "reloaded")
	if got := p.current.Load().certificate[0].Leaf.SerialNumber; got.Cmp(next.SerialNumber) != 0 {
		t.Error("not the new certificate")
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Watch: %v", err)
	}
}

func TestCertificatesThatEndSoonAreNamed(t *testing.T) {
	a := newAuthority(t, "CA")
	a.issue(t, "server", pkix.Name{})
	m, _ := load(a.spec("server"))
	if _, soon := m.ends(time.Now()); soon {
		t.Error("100 days are not soon")
	}
	if _, soon := m.ends(time.Now().Add(90 * 24 * time.Hour)); !soon {
		t.Error("10 days are soon")
	}
}
