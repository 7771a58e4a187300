package interop

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"sluice/tests/harness"
)

func TestMain(m *testing.M) {
	code := m.Run()
	harness.Cleanup()
	os.Exit(code)
}

// ctx returns a context that ends when the test should long have been over.
func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), harness.Patience)
	t.Cleanup(cancel)
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// absent skips a test whose client is not there, except where it must be.
func absent(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing; tests/interop/install gets it", what)
	}
	t.Skipf("%s is missing; tests/interop/install gets it", what)
}

// python is Debian's, whose packages include Proton; others may come first in
// PATH.
const python = "/usr/bin/python3"

// proton returns the command that plays a scenario with Qpid Proton.
func proton(t testing.TB) []string {
	t.Helper()
	if exec.Command(python, "-c", "import proton").Run() != nil {
		absent(t, "python3-qpid-proton")
	}
	return []string{python, "proton/scenarios.py"}
}

// rhea returns the command that plays a scenario with rhea.
func rhea(t testing.TB) []string {
	t.Helper()
	if _, err := os.Stat("rhea/node_modules/rhea"); err != nil {
		absent(t, "rhea")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		absent(t, "node")
	}
	return []string{node, "rhea/scenarios.js"}
}

// play runs a scenario of a foreign client, which must succeed.
func play(t testing.TB, command []string, scenario, url string, options ...string) {
	t.Helper()
	args := append(append(command[1:len(command):len(command)], scenario, url), options...)
	cmd := exec.CommandContext(ctx(t), command[0], args...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "ok") {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(command[1]), scenario, err, out)
	}
}

// secrets are certificates and users in a folder.
type secrets struct {
	t   testing.TB
	dir string
	ca  *x509.Certificate
	key *ecdsa.PrivateKey
	n   int64
}

const (
	user     = "alice"
	password = "correct horse"
)

// newSecrets makes an authority, a certificate of the server and one of a
// client, and a users file.
func newSecrets(t testing.TB) *secrets {
	s := &secrets{t: t, dir: t.TempDir()}
	s.key = newKey(t)
	s.ca = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, s.ca, s.ca, &s.key.PublicKey, s.key)
	must(t, err)
	s.write("ca.pem", "CERTIFICATE", der)
	s.issue("server", "localhost")
	s.issue("client", "client-7")
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	must(t, err)
	must(t, os.WriteFile(s.path("users"), []byte(user+":"+string(hash)+"\n"), 0o600))
	return s
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

func (s *secrets) path(name string) string { return filepath.Join(s.dir, name) }

// issue writes NAME.pem and NAME.key for a common name, replacing older ones.
func (s *secrets) issue(name, commonName string) {
	s.n++
	key := newKey(s.t)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(100 + s.n), Subject: pkix.Name{CommonName: commonName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, s.ca, &key.PublicKey, s.key)
	must(s.t, err)
	s.write(name+".pem", "CERTIFICATE", der)
	der, err = x509.MarshalPKCS8PrivateKey(key)
	must(s.t, err)
	s.write(name+".key", "PRIVATE KEY", der)
}

func (s *secrets) write(name, kind string, der []byte) {
	must(s.t, os.WriteFile(s.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// config is a router with four AMQP listeners: open, TLS with certificates of
// clients, PLAIN, and one with large frames; and two for HTTP: open, and TLS with
// PLAIN.
func (s *secrets) config() string {
	return harness.Listeners("", `
sslProfile {
    name: server
    caCertFile: `+s.path("ca.pem")+`
    certFile: `+s.path("server.pem")+`
    privateKeyFile: `+s.path("server.key")+`
    uidFormat: n
}
listener {
    host: 127.0.0.1
    port: 0
    sslProfile: server
    requireSsl: yes
    saslMechanisms: EXTERNAL
    authenticatePeer: yes
}
listener {
    host: 127.0.0.1
    port: 0
    saslMechanisms: PLAIN
    authenticatePeer: yes
    saslUsersFile: `+s.path("users")+`
}
listener {
    host: 127.0.0.1
    port: 0
    maxFrameSize: 262144
}
listener {
    host: 127.0.0.1
    port: 0
    http: yes
    sslProfile: server
    saslMechanisms: PLAIN
    authenticatePeer: yes
    saslUsersFile: `+s.path("users")+`
}
`)
}

const (
	open     = 0 // listeners of config
	external = 1
	plain    = 2
	wide     = 3

	status = 0 // its HTTP listeners
	secure = 1
)

// at is the address of a listener by the name in its certificate.
func at(b *harness.Binary, listener int) string {
	_, port, _ := net.SplitHostPort(b.AMQP[listener])
	return "localhost:" + port
}
