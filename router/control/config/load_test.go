package config

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/router/address"
	"sluice/router/control/logging"
	"sluice/router/control/schema"
)

// load loads a text and fails on mistakes.
func load(t *testing.T, file, text string) *Config {
	t.Helper()
	c, problems := LoadText(file, text, Options{})
	if len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	return c
}

// mistakesOf returns the mistakes of a text as text.
func mistakesOf(file, text string) string {
	_, problems := LoadText(file, text, Options{})
	return slices.DeleteFunc(problems, func(p Problem) bool { return p.Warning }).Error()
}

// warningsOf returns the warnings of a text as text.
func warningsOf(file, text string) string {
	c, problems := LoadText(file, text, Options{})
	if c != nil {
		problems = c.Warnings
	}
	return slices.DeleteFunc(problems, func(p Problem) bool { return !p.Warning }).Error()
}

// The three syntaxes say the same.
func TestSyntaxesAgree(t *testing.T) {
	var first *Config
	for _, file := range []string{"good.conf", "good.yaml", "good.json"} {
		c, problems := Load([]string{filepath.Join("testdata", file)}, Options{})
		if len(problems) > 0 {
			t.Fatalf("%v", problems)
		}
		if first == nil {
			first = c
			checkGood(t, c)
			continue
		}
		ignore := cmp.Options{
			cmpopts.IgnoreTypes(Position{}), cmpopts.IgnoreFields(Config{}, "Warnings"), cmp.AllowUnexported(address.Pattern{}),
		}
		if diff := cmp.Diff(first, c, ignore); diff != "" {
			t.Errorf("%s (-conf +this):\n%s", file, diff)
		}
	}
}

func checkGood(t *testing.T, c *Config) {
	t.Helper()
	if r := c.Router; r.ID != "R1" || r.DefaultDistribution != Closest || r.MemoryLimit != 512<<20 || r.ShutdownTimeout != 3*time.Second ||
		r.Metadata != "a value with: colons, and blanks" || r.HelloInterval != time.Second {
		t.Errorf("router: %+v", r)
	}
	if len(c.Listeners) != 2 || len(c.Connectors) != 1 || len(c.Addresses) != 2 || len(c.Logs) != 1 {
		t.Fatalf("%+v", c)
	}
	l := c.Listeners[0]
	want := Listener{
		Limits: Limits{MaxFrameSize: 512, MaxSessions: 32768, MaxLinks: 65535, LinkCapacity: 50, SessionBytes: 1 << 20, LinkBytes: 1 << 20,
			OutgoingHigh: 512 << 10, OutgoingLow: 256 << 10, UnboundBytes: 128 << 10, StripAnnotations: StripBoth, Trace: true},
		Pos: Position{"testdata/good.conf", 11, 1}, Name: "clients", Host: "::1", Port: "amqp", Role: RoleNormal, Cost: 1,
		SASLMechanisms: []string{"ANONYMOUS", "PLAIN"}, Healthz: true, Metrics: true, WebSockets: true,
		OpenProperties: map[string]any{"site": "north", "n": int64(1), "nested": map[string]any{"a": []any{true, nil}}},
	}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Errorf("listener (-want +got):\n%s", diff)
	}
	if l.Address() != "[::1]:5672" || l.Network() != "tcp" || l.ClientAuth() != tls.NoClientCert {
		t.Errorf("%s %s", l.Address(), l.Network())
	}
	k := c.Connectors[0]
	if k.Address() != "broker.example.com:5671" || k.SASLPassword.Reveal() != "secret" || k.VerifyHostname || k.Role != RoleRouteContainer ||
		k.StripAnnotations.In() || k.StripAnnotations.Out() || k.IdleTimeout != 16*time.Second || k.MaxFrameSize != 16384 {
		t.Errorf("connector: %+v", k)
	}
	orders, news := c.Addresses[0], c.Addresses[1]
	if orders.Match.String() != "orders/#" || !orders.Redeliver || orders.UnsettledTimeout != 5*time.Second || orders.WaitingHighCount != 10000 {
		t.Errorf("orders: %+v", orders)
	}
	if news.Match.String() != "news/#" || news.MulticastPatience != 2*time.Second || news.WaitingHighBytes != 1e6 || news.Distribution != Multicast {
		t.Errorf("news: %+v", news)
	}
	log := c.LogSettings()[0]
	if log.Module != logging.Default || log.Enable.String() != "warning+" || log.Timestamp != nil || !*log.Source || log.Output != "stdout" {
		t.Errorf("log: %+v", log)
	}
	wantWarnings := []string{
		"good.conf:15:21: warning: PLAIN without saslUsersFile: it is not offered, because there are no users",
		"good.conf:16:19: warning: maxFrameSize 100 is raised to 512, the least that AMQP allows",
		"good.conf:40:19: warning: THE PASSWORD CROSSES THE NETWORK IN CLEAR TEXT on the way to broker.example.com:5671; set sslProfile, or allowInsecure: yes if this is intended",
		"good.conf:41:19: warning: it is unsafe to provide plain text passwords in the configuration; use env:NAME or file:PATH",
	}
	if diff := cmp.Diff("testdata/"+strings.Join(wantWarnings, "\ntestdata/"), c.Warnings.Error()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// The defaults of DefaultAddress, which is used where nothing matches, are
// those of the schema.
func TestDefaultAddressIsThatOfTheSchema(t *testing.T) {
	c := load(t, "x.conf", "address {\nprefix: a\n}\n")
	got := c.Addresses[0]
	got.Pos, got.Prefix, got.Match = Position{}, "", address.Pattern{}
	if diff := cmp.Diff(DefaultAddress(), got, cmp.AllowUnexported(address.Pattern{})); diff != "" {
		t.Errorf("(-DefaultAddress +schema):\n%s", diff)
	}
}

func TestModulesOfTheSchemaAreThoseOfTheLogs(t *testing.T) {
	for _, name := range schema.ByName("log").Attribute("module").Enum {
		if _, ok := logging.ModuleNamed(name); !ok {
			t.Errorf("logging has no module %s", name)
		}
	}
	if a, b := len(schema.ByName("log").Attribute("module").Enum), len(logging.ModuleNames()); a != b {
		t.Errorf("%d modules in the schema, %d in logging", a, b)
	}
}

func TestLaterFilesAdd(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.conf"), filepath.Join(dir, "b.yaml")
	os.WriteFile(a, []byte("router {\nid: A\n}\nlistener {\nhost: localhost\n}\n"), 0o600)
	os.WriteFile(b, []byte("listener: {host: localhost, port: 1234}\n"), 0o600)
	c, problems := Load([]string{a, b}, Options{})
	if problems != nil || len(c.Listeners) != 2 || c.Router.ID != "A" {
		t.Errorf("%+v %v", c, problems)
	}
	os.WriteFile(b, []byte("router: {id: B}\nlistener: {host: localhost}\nx: {}\n"), 0o600)
	_, problems = Load([]string{a, b, filepath.Join(dir, "missing")}, Options{})
	want := []string{
		filepath.Join(dir, "missing") + ": error: configuration file could not be opened: no such file or directory",
		b + ":1:1: error: router was already given on " + a + ":1:1; expected one router",
		b + ":2:1: error: listener on localhost:5672 was already given on " + a + ":4:1; expected another port",
		b + `:3:1: error: unknown section "x"; expected one of`,
	}
	for i, w := range want {
		if i >= len(problems) || !strings.HasPrefix(problems[i].String(), w) {
			t.Fatalf("problem %d: want %s, got\n%v", i, w, problems)
		}
	}
}

func TestFiles(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.conf")
	os.WriteFile(empty, nil, 0o600)
	for path, want := range map[string]string{
		empty: "configuration file was empty", "/no/such.conf": "could not be opened", t.TempDir(): "could not be read",
	} {
		if _, problems := Load([]string{path}, Options{}); !strings.Contains(problems.Error(), want) {
			t.Errorf("%s: %v, want %s", path, problems, want)
		}
	}
	// A file of comments is valid.
	c := load(t, "c.conf", "# nothing\n")
	if !strings.HasPrefix(c.Router.ID, "Standalone_") || len(c.Router.ID) != len("Standalone_")+15 {
		t.Errorf("generated id %q", c.Router.ID)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Text, "nobody can connect") {
		t.Errorf("warnings: %v", c.Warnings)
	}
}

// The grammar of lines, with its oddities.
func TestConfGrammar(t *testing.T) {
	for _, test := range []struct {
		name, line, want string // of metadata
	}{
		{"plain", `metadata: x`, "x"},
		{"no blank", `metadata:x`, "x"},
		{"blank before the colon", "metadata \t:\t x \r", "x"},
		{"rest of the line", `metadata: edge id: x`, "edge id: x"},
		{"comment", `metadata: x # y`, "x"},
		{"comment without blank", `metadata: x#y`, "x"},
		{"single quotes", `metadata: 'x'`, "'x'"},
		{"double quotes", `metadata: "x # y"`, "x # y"},
		{"double quotes and comment", `metadata: "x" # y`, "x"},
		{"double quotes and comma", `metadata: "x",`, "x"},
		{"empty in quotes", `metadata: ""`, ""},
		{"quotes inside", `metadata: say "x"`, `say "x"`},
		{"trailing comma", `metadata: x,`, "x,"},
		{"escapes", `metadata: abc\bdef\u00e9\\`, "abc\bdef\u00e9\\"},
		{"surrogates", `metadata: \ud83d\ude00`, "\U0001f600"},
		{"escapes in quotes", `metadata: "a\tb\"c"`, "a\tb\"c"},
		{"no expansion", `metadata: ${HOME}`, "${HOME}"},
		{"last wins", "metadata: x\nmetadata: y", "y"},
		{"kebab", `meta-data: x`, ""},
	} {
		c, problems := LoadText("x.conf", "router {\n"+test.line+"\n}\n", Options{})
		if test.name == "kebab" { // metaData is another name
			if len(problems) != 1 || problems[0].Suggestion != "metadata" {
				t.Errorf("%s: %v", test.name, problems)
			}
			continue
		}
		if len(problems) > 0 {
			t.Errorf("%s: %v", test.name, problems)
			continue
		}
		if c.Router.Metadata != test.want {
			t.Errorf("%s: %q, want %q", test.name, c.Router.Metadata, test.want)
		}
	}
	// "#" is an ordinary character of a pattern, which ends at a blank.
	for line, want := range map[string]string{"pattern: a.#": "a/#", "pattern: #": "#", "pattern: *.b rest": "*/b", `pattern: "a/#"`: "a/#"} {
		if c := load(t, "x.conf", "address {\n"+line+"\n}\n"); c.Addresses[0].Match.String() != want {
			t.Errorf("%s: %s", line, c.Addresses[0].Match)
		}
	}
}

// All forms of groups: JSON, JSON over several lines with "}," between, and the
// unquoted form of older releases.
func TestFormsOfGroups(t *testing.T) {
	for name, groups := range map[string]string{
		"one line":       "groups: {\n\"admin\": {\"users\": \"a\"},\n\"$default\": {\"users\": \"*\"},\n}",
		"several lines":  "groups: {\n# comment\n\"admin\": {\n\"users\": \"a\"\n},\n\"$default\": {\n\"users\": \"${user}\"\n}\n}",
		"comma first":    "groups: {\n\"admin\": {\"users\": \"a\"}\n, \"$default\": {\"users\": \"*\"}\n}",
		"unquoted":       "groups: {\nadmin: {\nusers: a, b\n}\n$default: {\nusers: *\n},\n}",
		"closed at once": "groups: {}",
	} {
		text := "vhost {\nhostname: h\n" + groups + "\nallowUnknownUser: yes\n}\nrouter {\nid: R\n}\n"
		if c := load(t, "x.conf", text); c.Router.ID != "R" {
			t.Errorf("%s: %+v", name, c.Router)
		}
		bad := strings.Replace(strings.Replace(text, `"users"`, `"user"`, 1), "users: a", "user: a", 1)
		if got := mistakesOf("x.conf", bad); bad != text && !strings.Contains(got, "did you mean users?") {
			t.Errorf("%s: the content is not checked: %s", name, got)
		}
	}
	// A mistake in JSON does not hide the rest of the file.
	got := mistakesOf("x.conf", "vhost {\nhostname: h\ngroups: {\n\"a\": {\"users\" \"x\"},\n}\n}\nrouter {\nmode: x\n}\n")
	if want := "x.conf:4:15: error: \"\\\"\" is not valid here; expected \":\"\nx.conf:8:7: "; !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}

func TestYAMLForms(t *testing.T) {
	for name, text := range map[string]string{
		"natural":      "router: {id: R}\nlistener: {host: localhost}\n",
		"list":         "- [router, {id: R}]\n- [listener, {host: localhost}]\n",
		"list of maps": "- router: {id: R}\n- listener: {host: localhost}\n",
		"documents":    "router:\n  id: R\n---\nlistener:\n- host: localhost\n",
		"anchors":      "router: {id: R}\nlistener:\n- &a {host: localhost, port: 5672}\n",
		"full names":   "org.apache.qpid.dispatch.router: {id: R}\nlistener: {host: localhost}\n",
		"block text":   "router:\n  id: |\n    R\nlistener: {host: localhost}\n",
		"JSON":         `{"router": {"id": "R"}, "listener": {"host": "localhost"}}`,
	} {
		if c := load(t, "x.yaml", text); c.Router.ID != "R" || len(c.Listeners) != 1 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	c := load(t, "x.yml", "listener:\n- &a {host: localhost, port: 1}\n- <<: *a\n  port: 2\n- {<<: *a, port: 3}\nrouter.config.address: {prefix: q}\n")
	if len(c.Listeners) != 3 || c.Listeners[1].Address() != "localhost:2" || c.Listeners[2].Address() != "localhost:3" || len(c.Addresses) != 1 {
		t.Errorf("merging: %+v", c.Listeners)
	}
	for text, want := range map[string]string{
		"router: [":              "x.yaml:1:",
		"router:\n\tid: R":       "x.yaml:",
		"router: *nothing":       "names no anchor",
		"17":                     "is no configuration",
		"router: {id: R, id: [}": "x.yaml:1:",
		"listener: {? [a]: b}":   "invalid key",
		"a: &a [*a]":             "x.yaml:",
	} {
		if got := mistakesOf("x.yaml", text); !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// An alias that expands without end is a mistake, not the end of the process.
func TestYAMLBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	if got := mistakesOf("x.yaml", b.String()); !strings.Contains(got, "too much") {
		t.Errorf("got %.200s", got)
	}
}

func TestWarnings(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"listener {\nhost: 0.0.0.0\n}", "OPEN TO EVERYONE"},
		{"listener {\nport: 5672\n}", "OPEN TO EVERYONE"},
		{"listener {\nhost: 0.0.0.0\nallowInsecure: yes\n}", ""},
		{"listener {\nhost: 127.0.0.2\n}", ""},
		{"listener {\nhost: 0.0.0.0\nhttp: yes\n}", "OPEN TO EVERYONE who can reach it: it is not on loopback and does not authenticate peers (it takes AMQP over WebSocket; websockets: no ends that)"},
		{"listener {\nhost: 0.0.0.0\nhttp: yes\nwebsockets: no\n}", ""},
		{"listener {\nhost: ::1\nhttpRootDir: /no/such/dir\n}", "httpRootDir: cannot stat /no/such/dir: no such file or directory; there are no files to serve"},
		{"listener {\nhost: ::1\nhttpRootDir: /dev/null\n}", "/dev/null is no directory"},
		{"listener {\nhost: ::1\nhttpRootDir: .\nwebsocketOrigins: app.example.com, *.example.com:8443\n}", ""},
		{"listener {\nhost: ::1\nmultiTenant: yes\n}", "multiTenant is not supported yet"},
		{"listener {\nhost: ::1\nmultiTenant: no\n}", ""},
		{"listener {\nhost: ::1\nsaslPlugin: x\n}", "saslPlugin is not supported yet"},
		{"listener {\nhost: ::1\nmessageLoggingComponents: none\n}", ""},
		{"listener {\nhost: ::1\nlogMessage: none\n}", "attribute logMessage of listener is deprecated; use messageLoggingComponents"},
		{"listener {\nhost: ::1\nsaslMechanisms: ANONYMOUS SCRAM-SHA-256\n}", "SCRAM-SHA-256 is not supported yet"},
		{"listener {\nhost: ::1\nhost: ::1\n}", "host was already given on line 2; this one counts"},
		{"listener {\nhost: ::1\nsaslMechanisms: EXTERNAL ANONYMOUS\n}", "EXTERNAL without sslProfile"},
		{"router {\nworkerThreads: 8\n}\nlistener {\nhost: ::1\n}", "workerThreads has no effect"},
		{"router {\nworkerThreads: 4\nversion: 1\n}\nlistener {\nhost: ::1\n}", "version of router is read-only"},
		{"linkRoute {\nprefix: x\ndirection: in\n}\nlistener {\nhost: ::1\n}", "linkRoute is not supported yet"},
		{"policy {\nmaxConnections: 10\n}\nlistener {\nhost: ::1\n}", "policy is not supported yet"},
		{"console {\nproxy: a\nhome: b\n}\nlistener {\nhost: ::1\n}", "console has no effect"},
		{"address {\nprefix: a\nwaypoint: yes\n}\nlistener {\nhost: ::1\n}", "waypoint is not supported yet"},
		{"log {\nmodule: SERVER\noutputFile: syslog\n}\nlistener {\nhost: ::1\n}", "syslog is not supported yet"},
	} {
		c, problems := LoadText("x.conf", test.text+"\n", Options{})
		if problems != nil {
			t.Errorf("%q: %v", test.text, problems)
			continue
		}
		got := c.Warnings.Error()
		if test.want == "" && got != "" || !strings.Contains(got, test.want) || len(c.Warnings) > 1 {
			t.Errorf("%q: warnings %q, want %q", test.text, got, test.want)
		}
		for _, w := range c.Warnings {
			if w.Pos.Line == 0 || w.Pos.File != "x.conf" {
				t.Errorf("%q: no position: %v", test.text, w)
			}
		}
	}
}

func TestDoorsThatNobodyCanPass(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	os.WriteFile(users, []byte("a:{plain}b\n"), 0o600)
	for text, want := range map[string]string{
		"authenticatePeer: yes":                                                 "no way to authenticate",
		"authenticatePeer: yes\nsaslMechanisms: ANONYMOUS":                      "no way to authenticate",
		"authenticatePeer: yes\nsaslUsersFile: " + users:                        "",
		"authenticatePeer: yes\nsaslMechanisms: PLAIN\nsaslUsersFile: " + users: "",
		"authenticatePeer: yes\nsaslMechanisms: PLAIN":                          "no way to authenticate",
		"saslMechanisms: SCRAM-SHA-1":                                           "none of the SASL mechanisms is supported yet",
		"saslMechanisms: EXTERNAL":                                              "EXTERNAL is the only mechanism, and there is no sslProfile: nobody could connect",
		"requireEncryption: yes":                                                "nobody could connect",
		"failoverUrls: amqp://,x:y":                                             "has no host",
	} {
		got := mistakesOf("x.conf", "listener {\nhost: ::1\n"+text+"\n}\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestHosts(t *testing.T) {
	for host, good := range map[string]bool{
		"localhost": true, "::1": true, "[::]": true, "fe80::1%eth0": true, "0.0.0.0": true, "a-b.example.com": true, `""`: true,
		"127.0.0.1:5672": false, "amqp://h": false, "a b": false, "a,b": false,
	} {
		got := mistakesOf("x.conf", "listener {\nallowInsecure: yes\nhost: "+host+"\n}\n")
		if good != (got == "") {
			t.Errorf("%s: %q", host, got)
		}
	}
	if got := mistakesOf("x.conf", "connector {\nhost: \"\"\n}\n"); !strings.Contains(got, "x.conf:2:7: error: connector has an empty host") {
		t.Errorf("empty: %q", got)
	}
}

func TestConnectorsToOnePlaceNeedNames(t *testing.T) {
	two := func(a, b string) string {
		return mistakesOf("x.conf", "connector {\nhost: h\n"+a+"\n}\nconnector {\nhost: H\n"+b+"\n}\n")
	}
	if got := two("port: amqp", "port: 5672"); !strings.Contains(got, "expected a name for each") {
		t.Errorf("unnamed: %q", got)
	}
	if got := two("name: a", "name: b"); got != "" {
		t.Errorf("named: %q", got)
	}
	if got := two("name: a", "name: a"); !strings.Contains(got, "was already given") {
		t.Errorf("same name: %q", got)
	}
}

func TestOverrides(t *testing.T) {
	over := func(o Overrides) (*Config, Problems) {
		return LoadText("x.conf", "router {\nid: F\n}\nlistener {\nhost: ::1\n}\nlistener {\nhost: ::1\nport: 1\nhttp: yes\n}\n", Options{Overrides: o})
	}
	c, problems := over(Overrides{Listen: []string{"localhost:7000", "[::1]:7001", "localhost:0"}, HTTP: "none", ID: "X", LogLevel: "debug+"})
	if problems != nil || c.Router.ID != "X" || len(c.Listeners) != 3 || c.LogLevels.String() != "debug+" {
		t.Fatalf("%+v %v", c, problems)
	}
	if l := c.Listeners[1]; l.Address() != "[::1]:7001" || l.MaxFrameSize != 65536 || l.LinkCapacity != 250 {
		t.Errorf("%+v", l)
	}
	c, problems = over(Overrides{HTTP: "127.0.0.1:9000"})
	if problems != nil || len(c.Listeners) != 2 || !c.Listeners[1].HTTP || c.Listeners[1].Port != "9000" {
		t.Errorf("%+v %v", c, problems)
	}
	c, _ = over(Overrides{Listen: []string{":7000"}})
	if len(c.Warnings) != 1 || !strings.HasPrefix(c.Warnings[0].String(), "--listen: warning: LISTENER :7000 IS OPEN") {
		t.Errorf("warnings %v", c.Warnings)
	}
	_, problems = over(Overrides{Listen: []string{"a:b:c", "x"}, ID: "a b", LogLevel: "inof"})
	if len(problems) != 4 {
		t.Errorf("%v", problems)
	}
}

func TestIncomingWindow(t *testing.T) {
	for _, test := range []struct {
		bytes     int64
		frames    uint32
		frameSize uint32
		want      uint32
	}{
		{4 << 20, 0, 65536, 64},
		{4 << 20, 0, 16384, 256},
		{4 << 20, 0, 512, 8192},
		{4 << 20, 0, 1 << 20, 8}, // at least
		{4 << 20, 0, 1 << 31, 8},
		{4 << 20, 100, 16384, 100},
		{4 << 20, 1, 1 << 20, 1}, // the operator's word counts
		{1 << 40, 0, 512, 1<<31 - 1},
	} {
		l := Limits{SessionBytes: test.bytes, MaxSessionFrames: test.frames}
		if got := l.IncomingWindow(test.frameSize); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

// A certificate is demanded only where nothing else lets a client in.
func TestClientAuth(t *testing.T) {
	for _, test := range []struct {
		l    Listener
		want tls.ClientAuthType
	}{
		{Listener{}, tls.NoClientCert},
		{Listener{SASLMechanisms: []string{"PLAIN"}, SASLUsersFile: "u"}, tls.NoClientCert},
		{Listener{SASLMechanisms: []string{"EXTERNAL"}}, tls.RequireAndVerifyClientCert},
		{Listener{SASLMechanisms: []string{"EXTERNAL"}, SASLUsersFile: "u"}, tls.RequireAndVerifyClientCert},
		{Listener{SASLMechanisms: []string{"EXTERNAL", "PLAIN"}, SASLUsersFile: "u"}, tls.VerifyClientCertIfGiven},
		{Listener{SASLMechanisms: []string{"EXTERNAL", "PLAIN"}}, tls.RequireAndVerifyClientCert},
		{Listener{SASLMechanisms: []string{"EXTERNAL", "ANONYMOUS"}}, tls.VerifyClientCertIfGiven},
		{Listener{SASLMechanisms: []string{"EXTERNAL", "ANONYMOUS"}, AuthenticatePeer: true}, tls.RequireAndVerifyClientCert},
		{Listener{HTTP: true}, tls.NoClientCert},
		{Listener{HTTP: true, AuthenticatePeer: true}, tls.RequireAndVerifyClientCert},
		{Listener{HTTP: true, SASLMechanisms: []string{"EXTERNAL"}}, tls.RequireAndVerifyClientCert},
		{Listener{HTTP: true, SASLMechanisms: []string{"EXTERNAL", "PLAIN"}, SASLUsersFile: "u"}, tls.VerifyClientCertIfGiven},
		{Listener{HTTP: true, AuthenticatePeer: true, SASLUsersFile: "u"}, tls.VerifyClientCertIfGiven},
		{Listener{HTTP: true, AuthenticatePeer: true, SASLUsersFile: "u", SASLMechanisms: []string{"EXTERNAL"}}, tls.RequireAndVerifyClientCert},
	} {
		if got := test.l.ClientAuth(); got != test.want {
			t.Errorf("%+v: %v, want %v", test.l, got, test.want)
		}
	}
}

// Patterns of origins are checked where they stand.
func TestOriginPatterns(t *testing.T) {
	c, problems := LoadText("x.conf", "listener {\nhost: ::1\nhttp: yes\nwebsocketOrigins: a.example b[.example\n}\n", Options{})
	if c != nil || !strings.Contains(problems.Error(), `x.conf:4:19: error: "b[.example" is no pattern of origins; expected hosts of web pages`) {
		t.Error(problems)
	}
	if c, _ := LoadText("x.conf", "listener {\nhost: ::1\nwebsocketOrigins: a.example, *\n}\n", Options{}); strings.Join(c.Listeners[0].WebSocketOrigins, " ") != "a.example *" {
		t.Error(c.Listeners[0].WebSocketOrigins)
	}
}

// Warnings come with mistakes, in the order of the lines.
func TestWarningsBesideMistakes(t *testing.T) {
	_, problems := LoadText("x.conf", "listener {\n}\nvhost {\nhostname: h\n}\nrouter {\nmode: x\n}\nlinkRoute {\nprefix: a\ndirection: in\n}\n", Options{})
	var lines []string
	for _, p := range problems {
		lines = append(lines, fmt.Sprint(p.Pos.Line, p.Warning))
	}
	if got := strings.Join(lines, " "); got != "1 true 3 true 7 false 9 true" || problems.Mistakes() != 1 {
		t.Errorf("%s\n%v", got, problems)
	}
}

// What has no effect although security depends on it says so, and is summed up.
func TestNoEffectSaysWhatItMeans(t *testing.T) {
	for text, want := range map[string]string{
		"policy {\nenableVhostPolicy: yes\n}":                            "x.conf:1:1: warning: policy is not supported yet: access is NOT restricted, and limits are NOT enforced",
		"policy {\nmaxConnections: 5\n}":                                 "policy is not supported yet: limits are NOT enforced",
		"vhost {\nhostname: h\nmaxConnections: 5\n}":                     "who may connect and what they may do is NOT restricted",
		"authServicePlugin {\nname: x\nhost: h\nport: 5671\n}":           "it authenticates NOBODY",
		"listener {\nhost: ::1\nsaslPlugin: x\n}":                        "x.conf:3:1: warning: saslPlugin is not supported yet: it authenticates NOBODY",
		"listener {\nhost: ::1\nsaslPlugin: x\nauthenticatePeer: yes\n}": "NOBODY CAN CONNECT",
		"listener {\nhost: ::1\npolicyVhost: x\n}":                       "access is NOT restricted",
		"linkRoute {\nprefix: x\ndirection: in\n}":                       "do not reach the container",
		"autoLink {\naddress: x\ndirection: in\n}":                       "attaches no link",
		"address {\nprefix: x\nwaypoint: yes\n}":                         "x.conf:3:1: warning: waypoint is not supported yet: messages go straight to receivers",
	} {
		if got := warningsOf("x.conf", text+"\n"); !strings.Contains(got, want) {
			t.Errorf("%s: got %s", text, got)
		}
	}
	c := load(t, "x.conf", "listener {\nhost: ::1\nsaslPlugin: x\n}\nlinkRoute {\nprefix: x\ndirection: in\n}\nlinkRoute {\nprefix: x\ndirection: out\n}\n")
	if got, want := c.NoEffect(), "3 settings have no effect: saslPlugin of listener, linkRoute (2 times)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := load(t, "x.conf", "policy {\n}\n").NoEffect(); got != "1 setting has no effect: policy" {
		t.Errorf("%q", got)
	}
	if got := Default("h").NoEffect(); got != "" {
		t.Errorf("%q", got)
	}
	// The table names only what there is, and what is not supported yet.
	for name := range consequences {
		section, attribute, is := strings.Cut(name, ".")
		e := schema.ByFileName(section)
		switch {
		case name == "policy.enforced":
		case e == nil, is && e.Attribute(attribute) == nil:
			t.Errorf("there is no %s", name)
		case is && e.Attribute(attribute).Support != schema.Later, !is && e.Support != schema.Later:
			t.Errorf("%s is supported", name)
		}
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for host, bad := range map[string]bool{
		"999.1.1.1": true, "1.2.3": true, "1234": true, "1.2.3.4.5": true, "127.0.0.1": false, "1.example": false, "localhost": false,
	} {
		for _, text := range []string{"listener {\nallowInsecure: yes\nhost: %s\n}\n", "connector {\nhost: %s\n}\n", "listener {\nhost: ::1\nfailoverUrls: amqp://%s:5672\n}\n"} {
			got := mistakesOf("x.conf", fmt.Sprintf(text, host))
			if strings.Contains(got, "is no IP address") != bad {
				t.Errorf(text+"%s", host, got)
			}
		}
	}
}

// A listener for all addresses leaves nothing of its port to others.
func TestListenersThatOverlap(t *testing.T) {
	for _, test := range []struct {
		a, b string
		bad  bool
	}{
		{"host: 0.0.0.0", "host: 127.0.0.1", true},
		{"host: 127.0.0.1", "host: 0.0.0.0", true},
		{"host: \"\"", "host: 127.0.0.1", true},
		{"host: \"\"", "host: ::1", true},
		{"host: \"\"", "host: 0.0.0.0", true},
		{"host: \"\"", "host: router.example.com", true},
		{"host: ::", "host: ::1", true},
		{"host: ::", "host: 0.0.0.0", false},
		{"host: ::", "host: 127.0.0.1", false},
		{"host: 0.0.0.0", "host: ::1", false},
		{"host: 0.0.0.0", "host: localhost", true},
		{"host: 0.0.0.0", "host: router.example.com", false},
		{"host: 127.0.0.1", "host: localhost", true},
		{"host: 127.0.0.1", "host: 127.0.0.2", false},
		{"host: \"\"\nsocketAddressFamily: IPv4", "host: ::1", false},
		{"host: \"\"\nsocketAddressFamily: IPv4", "host: \"\"\nsocketAddressFamily: IPv6", false},
		{"host: 0.0.0.0", "host: 127.0.0.1\nport: 5673", false},
		{"host: 0.0.0.0\nport: 0", "host: 127.0.0.1\nport: 0", false},
		{"host: 0.0.0.0\nport: amqp", "host: 127.0.0.1\nport: 5672", true},
	} {
		got := mistakesOf("x.conf", "listener {\n"+test.a+"\n}\nlistener {\n"+test.b+"\n}\n")
		if (got != "") != test.bad {
			t.Errorf("%s\n%s\ngot %s", test.a, test.b, got)
		}
	}
}

// A section of which there is none is still named rightly.
func TestEmptyLists(t *testing.T) {
	for file, text := range map[string]string{"x.json": `{"lisener": [], "address": []}`, "x.yaml": "lisener: []\naddress: []\n"} {
		if got := mistakesOf(file, text); !strings.Contains(got, "did you mean listener?") || strings.Contains(got, "address") {
			t.Errorf("%s: %s", file, got)
		}
	}
}

func TestAttributesThatTheDistributionMakesMeaningless(t *testing.T) {
	for text, warned := range map[string]bool{
		"distribution: multicast\nmulticastPatienceSeconds: 3":  false,
		"distribution: closest\nmulticastPatienceSeconds: 3":    true,
		"multicastPatienceSeconds: 3":                           true,
		"multicastPatienceSeconds: 0":                           false,
		"distribution: multicast\nredeliver: yes":               true,
		"distribution: multicast\nredeliver: no":                false,
		"distribution: unavailable\nunsettledTimeoutSeconds: 3": true,
		"distribution: balanced\nredeliver: yes":                false,
	} {
		got := warningsOf("x.conf", "listener {\nhost: ::1\n}\naddress {\nprefix: a\n"+text+"\n}\n")
		if strings.Contains(got, "has no effect: ") != warned {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestOtherEndings(t *testing.T) {
	for file, warned := range map[string]bool{"a.conf": false, "a.yml": false, "a.yaml": false, "a.json": false, "a.CONF": false, "a.cfg": true, "a": true} {
		if got := warningsOf(file, "# nothing\n"); strings.Contains(got, file+": warning: the name ends in none of") != warned {
			t.Errorf("%s: %s", file, got)
		}
	}
}

// More sessions than there are channels is what existing configurations have, and
// means all of them.
func TestMaxSessionsIsLowered(t *testing.T) {
	c, problems := LoadText("x.conf", "router {\nid: R\n}\nlistener {\nhost: ::1\nport: 1\nmaxSessions: 500000\n}\n", Options{})
	if problems != nil || c.Listeners[0].MaxSessions != 32768 {
		t.Fatalf("got %v, %v", c, problems)
	}
	if want := "x.conf:7:14: warning: maxSessions 500000 is lowered to 32768"; !strings.Contains(c.Warnings.Error(), want) {
		t.Errorf("got %s", c.Warnings.Error())
	}
}

// A listener of which a line is not understood is not called open to everyone: that
// line may say otherwise.
func TestNoFalseAlarm(t *testing.T) {
	for text, open := range map[string]int{
		"listener {\nhost 127.0.0.1\nport: 1\n}\n":                                     0,
		"listener {\nhots: 127.0.0.1\nport: 1\n}\n":                                    0,
		"listener {\nport: 1\n}\nlistener {\nhost: ::1\nport: x y\n}\n":                1,
		"listener {\nhost: ::1\nport: x y\n}\nlistener {\nhost: 0.0.0.0\nport: 1\n}\n": 1,
	} {
		_, problems := LoadText("x.conf", text, Options{})
		if n := strings.Count(fmt.Sprint(problems), "IS OPEN TO EVERYONE"); n != open || problems.Mistakes() == 0 {
			t.Errorf("%q: %d warnings, want %d: %v", text, n, open, problems)
		}
	}
}
