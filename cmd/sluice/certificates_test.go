package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// certificates writes ca.pem, and for server and alice, and for mallory of
// another authority, NAME.pem and NAME.key.
func certificates(ts *testscript.TestScript, _ bool, _ []string) {
	write := func(name, kind string, der []byte) {
		ts.Check(os.WriteFile(ts.MkAbs(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	issue := func(name string, ca *x509.Certificate, caKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		ts.Check(err)
		serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
		ts.Check(err)
		template := &x509.Certificate{
			SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour * 365),
			BasicConstraintsValid: true, IsCA: ca == nil,
		}
		if ca == nil {
			ca, caKey = template, key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, ca, &key.PublicKey, caKey)
		ts.Check(err)
		keyDER, err := x509.MarshalPKCS8PrivateKey(key)
		ts.Check(err)
		write(name+".pem", "CERTIFICATE", der)
		write(name+".key", "PRIVATE KEY", keyDER)
		cert, err := x509.ParseCertificate(der)
		ts.Check(err)
		return cert, key
	}
	ca, caKey := issue("ca", nil, nil)
	issue("server", ca, caKey)
	issue("alice", ca, caKey)
	other, otherKey := issue("other", nil, nil)
	issue("mallory", other, otherKey)
}

// https STATUS PORT [NAME] asks for /healthz, with the certificate NAME. The
// status is "refused" if there must be no answer.
func https(ts *testscript.TestScript, _ bool, args []string) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ts.ReadFile("ca.pem")))
	c := &tls.Config{RootCAs: roots}
	if len(args) > 2 {
		pair, err := tls.LoadX509KeyPair(ts.MkAbs(args[2]+".pem"), ts.MkAbs(args[2]+".key"))
		ts.Check(err)
		c.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: c}
	defer transport.CloseIdleConnections()
	r, err := (&http.Client{Transport: transport}).Get("https://localhost:" + args[1] + "/healthz")
	got := "refused"
	if err == nil {
		r.Body.Close()
		got = fmt.Sprint(r.StatusCode)
	}
	if got != args[0] {
		ts.Fatalf("%s (%v), want %s", got, err, args[0])
	}
}
