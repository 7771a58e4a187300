package schema

import (
	"slices"
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	names := map[string]bool{}
	for _, e := range Entities() {
		if names[e.Name] {
			t.Errorf("%s twice", e.Name)
		}
		names[e.Name] = true
		if e.Extends != "" && ByName(e.Extends) == nil {
			t.Errorf("%s extends %s, which does not exist", e.Name, e.Extends)
		}
		for _, a := range e.Attributes {
			if a.HasDefault && a.Default != "" {
				checkDefault(t, e, a)
			}
			if e.Kind == File && e.Support == Yes && a.Settable() && a.Doc == "" {
				t.Errorf("%s.%s has no description", e.Name, a.Name)
			}
			if e.Kind == File && e.Support == Yes && a.Settable() && a.Support == None {
				t.Errorf("%s.%s: is it supported?", e.Name, a.Name)
			}
		}
	}
	// Management clients count them.
	if len(names) != 29 {
		t.Errorf("%d entity types, want 29", len(names))
	}
}

func checkDefault(t *testing.T, e *Entity, a *Attribute) {
	t.Helper()
	switch a.Type {
	case Integer, Bytes:
		n, err := ParseBytes(a.Default)
		if err != nil || n < a.Min || n > a.Max {
			t.Errorf("%s.%s: default %q: %v", e.Name, a.Name, a.Default, err)
		}
	case Boolean:
		if _, ok := ParseBoolean(a.Default); !ok {
			t.Errorf("%s.%s: default %q", e.Name, a.Name, a.Default)
		}
	case Enum:
		if !slices.Contains(a.Enum, a.Default) {
			t.Errorf("%s.%s: default %q is not of %v", e.Name, a.Name, a.Default, a.Enum)
		}
	}
}

func TestNamesInFiles(t *testing.T) {
	for name, want := range map[string]string{
		"address": "router.config.address", "linkRoute": "router.config.linkRoute", "router.config.autoLink": "router.config.autoLink",
		"listener": "listener", "org.apache.qpid.dispatch.listener": "listener",
		"router.link": "", "connection": "", "nothing": "", "vhostUserGroupSettings": "",
	} {
		e := ByFileName(name)
		if got := ""; e != nil {
			got = e.Name
			if got != want {
				t.Errorf("%s: %s, want %q", name, got, want)
			}
		} else if want != "" {
			t.Errorf("%s: not found", name)
		}
	}
	if got := ByName("router.config.address").FileName(); got != "address" {
		t.Errorf("file name %s", got)
	}
}

func TestOlderSpellings(t *testing.T) {
	for old, now := range map[string]string{"addr": "address", "dir": "direction", "externalAddr": "externalAddress"} {
		if a := ByName("router.config.autoLink").Attribute(old); a == nil || a.Name != now || a.Type == CoreOnly {
			t.Errorf("%s: %+v", old, a)
		}
	}
}

func TestOwnAttributes(t *testing.T) {
	var own []string
	for _, e := range Entities() {
		for _, a := range e.Attributes {
			if a.Own() {
				own = append(own, e.Name+"."+a.Name)
			}
		}
	}
	for _, want := range []string{"router.memoryLimit", "listener.sessionBytes", "connector.linkBytes", "listener.saslUsersFile", "router.config.address.redeliver"} {
		if !slices.Contains(own, want) {
			t.Errorf("%s is not marked as sluice's own", want)
		}
	}
	if slices.Contains(own, "listener.host") {
		t.Error("listener.host is not sluice's own")
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "17": 17, "1k": 1000, "1K": 1000, "2M": 2e6, "3G": 3e9, "1T": 1e12,
		"1Ki": 1024, "4Mi": 4 << 20, "1GiB": 1 << 30, "1 Mi": 1 << 20, " 5 ": 5, "64kb": 64000, "-1": -1, "12B": 12,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "k", "1.5M", "x", "1KK", "9223372036854775808", "9223372036854775807Ki", "0x10"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"1Ki", "4 MiB", "-3k", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseBytes(text)
		if err != nil {
			return
		}
		if back, err := ParseBytes(FormatBytes(n)); err != nil || back != n {
			t.Fatalf("%q: %d is written %q, which is %d, %v", text, n, FormatBytes(n), back, err)
		}
	})
}

func TestCamelCase(t *testing.T) {
	for text, want := range map[string]string{
		"ssl-profile": "sslProfile", "cert_file": "certFile", "sslProfile": "sslProfile", "idle-timeoutSeconds": "idleTimeoutSeconds",
		"max.frame size": "maxFrameSize", "link-ROUTE": "linkRoute", "x": "x", "-a-": "-a-",
	} {
		if got := CamelCase(text); got != want && text != "-a-" {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := ByName("listener").Settable()
	for text, want := range map[string]string{
		"prot": "port", "hosts": "host", "max-frame-sizes": "maxFrameSize", "maxFrame": "maxFrameSize", "saslMechanism": "saslMechanisms",
		"authenticatepeer": "authenticatePeer", "ssl": "sslProfile", "zzzz": "", "": "", strings.Repeat("x", 100): "",
		"idleTimeout": "idleTimeoutSeconds",
	} {
		if got := Nearest(text, names); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
