package manage

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sluice/tests/harness"
)

// diff is what check --diff says of a file at a router.
func diff(t testing.TB, b *harness.Binary, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "router.conf")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	cmd := exec.Command(harness.Path(t), "check", "--diff", b.URL(), file)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// Keys that are encrypted are compared by what is said of them: their passwords are
// not told, and need not be.
func TestDiff_EncryptedKey(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certificate(t, cert, key)
	plain, err := os.ReadFile(key)
	must(t, err)
	block, _ := pem.Decode(plain)
	//lint:ignore SA1019 Existing keys have this form.
	block, err = x509.EncryptPEMBlock(strings.NewReader(strings.Repeat("r", 64)), block.Type, block.Bytes, []byte("secret"), x509.PEMCipherAES256)
	must(t, err)
	must(t, os.WriteFile(key, pem.EncodeToMemory(block), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "word"), []byte("secret\n"), 0o600))
	for _, password := range []string{"pass:secret", "file:" + filepath.Join(dir, "word")} {
		text := fmt.Sprintf("%ssslProfile {\nname: p\ncertFile: %s\nprivateKeyFile: %s\npassword: %s\n}\n", harness.Loopback, cert, key, password)
		if got := diff(t, harness.Start(t, text), text); got != "nothing would change" {
			t.Errorf("with %s: %s", password, got)
		}
	}
}

// What management has changed stays over a reload of files that say the same as
// before, and so does check --diff say; what they say anew is done.
func TestDiff_AgreesWithReload(t *testing.T) {
	port := harness.FreePort(t)
	text := fmt.Sprintf("%slistener {\nname: two\nhost: 127.0.0.1\nport: %d\n}\naddress {\nname: ord\nprefix: ord\ndistribution: closest\n}\nlog {\nmodule: DEFAULT\nenable: info+\n}\nlog {\nmodule: AGENT\nenable: warning+\n}\n",
		harness.Loopback, port)
	b := harness.Start(t, text)
	a := dial(t, b.URL(), "$management")
	a.must("operation=DELETE, type=...listener, name=two", nil)
	a.must("operation=CREATE, type=...listener, name=two", map[string]any{"host": "127.0.0.1", "port": fmt.Sprint(port), "linkCapacity": int32(7)})
	a.must("operation=DELETE, type=...router.config.address, name=ord", nil)
	a.must("operation=CREATE, type=...router.config.address, name=ord", map[string]any{"prefix": "ord", "distribution": "multicast"})
	a.must("operation=UPDATE, type=...log, name=log/AGENT", map[string]any{"enable": "debug+"})
	state := func(managed, values string) {
		t.Helper()
		if got := fmt.Sprint(a.find("router", "id", "test")[0]["managed"]); got != managed {
			t.Errorf("managed: %s, want %s", got, managed)
		}
		got := fmt.Sprintf("%v %v %v", a.find("listener", "name", "two")[0]["linkCapacity"], a.find("router.config.address", "name", "ord")[0]["distribution"], a.find("log", "module", "AGENT")[0]["enable"])
		if got != values {
			t.Errorf("it has %s, want %s", got, values)
		}
	}
	reload := func(text, said string) {
		t.Helper()
		b.Config(text)
		b.Signal(syscall.SIGHUP)
		b.WaitLog("configuration reloaded: "+said, 1)
	}
	managed := "[~ listener two: linkCapacity ~ address ord/#: distribution ~ log AGENT: enable]"
	state(managed, "7 multicast debug+")
	got := diff(t, b, text)
	for _, want := range []string{"= listener two: linkCapacity: changed over", "= address ord/#: distribution: changed over", "= log AGENT: enable: changed over"} {
		if !strings.Contains(got, want) || strings.Count(got, "\n") != 2 {
			t.Errorf("diff says\n%s\nwithout %s", got, want)
		}
	}
	reload(text, "nothing has changed")
	state(managed, "7 multicast debug+")

	// To leave out what holds anyway is no change.
	without := strings.Replace(text, "log {\nmodule: DEFAULT\nenable: info+\n}\n", "", 1)
	if now := diff(t, b, without); now != got {
		t.Errorf("diff says\n%s\nand then\n%s", got, now)
	}
	b.Config(without)
	b.Signal(syscall.SIGHUP)
	b.WaitLog("configuration reloaded: nothing has changed", 2)

	other := strings.Replace(strings.Replace(without, "port: "+fmt.Sprint(port)+"\n", "port: "+fmt.Sprint(port)+"\nmaxFrameSize: 4096\n", 1), "warning+", "error+", 1)
	if now := diff(t, b, other); !strings.Contains(now, "~ listener two: maxFrameSize, linkCapacity: it is made again") {
		t.Errorf("diff says\n%s", now)
	}
	reload(other, "listener two ends; listener two begins; log AGENT: enable")
	state("[~ address ord/#: distribution]", "250 multicast error+")
}

// Frames of connections that there are begin to be logged by a reload.
func TestReload_Trace(t *testing.T) {
	b := harness.Start(t, harness.Loopback)
	a := dial(t, b.URL(), "$management")
	b.Config(harness.Loopback + "log {\nmodule: PROTOCOL\nenable: trace+\n}\n")
	b.Signal(syscall.SIGHUP)
	b.WaitLog("configuration reloaded: log PROTOCOL: enable", 1)
	a.must("operation=READ, name=self", nil)
	b.WaitLog("[C1]:FRAME:", 1)
}
