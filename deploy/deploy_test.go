package deploy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/router/control/config"
)

// Every example loads without a mistake or a warning.
func TestExamples(t *testing.T) {
	etc := t.TempDir()
	install(t, etc)
	files, err := filepath.Glob("examples/*")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(data), "/etc/sluice", etc)
		c, problems := config.LoadText(file, text, config.Options{})
		if len(problems) > 0 {
			t.Errorf("%v", problems)
			continue
		}
		if len(c.Warnings) > 0 {
			t.Errorf("%v", c.Warnings)
		}
	}
}

// install makes the files that the examples name.
func install(t *testing.T, etc string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	for name, data := range map[string][]byte{
		"tls/ca.pem": certPEM, "tls/server.pem": certPEM,
		"tls/server.key":  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		"users":           []byte("alice:$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC\n"),
		"broker.password": []byte("secret\n"),
	} {
		path := filepath.Join(etc, name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The unit checks and runs with the same file, and gives a shutdown more time
// than the router takes by default.
func TestUnit(t *testing.T) {
	data, err := os.ReadFile("sluice.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"ExecStartPre=/usr/local/bin/sluice check /etc/sluice/sluice.conf",
		"ExecStart=/usr/local/bin/sluice run -c /etc/sluice/sluice.conf",
		"TimeoutStopSec=20",
	} {
		if !strings.Contains(string(data), "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
	if d := config.Default("h").Router.ShutdownTimeout; d >= 20*time.Second {
		t.Errorf("shutdownTimeoutSeconds is %v", d)
	}
}
