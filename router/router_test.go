package router

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"sluice/router/control/config"
	"sluice/router/control/logging"
)

func load(t *testing.T, text string) *config.Config {
	t.Helper()
	c, problems := config.LoadText("x.conf", text, config.Options{ID: "R"})
	if c == nil {
		t.Fatal(problems)
	}
	return c
}

// start runs a router until the test ends.
func start(t *testing.T, text string) *Router {
	t.Helper()
	r, err := New(Options{Config: load(t, text), Logs: logging.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	for !r.Ready() {
		runtime.Gosched()
	}
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestReloadSaysWhatItDoes(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	write := func(text string) {
		if err := os.WriteFile(users, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a:{plain}b\n")
	listener := "listener {\nname: l\nhost: 127.0.0.1\nport: 0\nsaslUsersFile: " + users + "\n"
	base := listener + "}\naddress {\nprefix: a\n}\naddress {\nprefix: b\n}\n"
	r := start(t, base)
	for _, test := range []struct{ text, applied, restart string }{
		{base, "", ""},
		{listener + "}\naddress {\nprefix: a\nredeliver: yes\n}\naddress {\nprefix: c\n}\naddress {\nprefix: d\n}\n", "addresses: 2 added, 1 changed, 1 removed", ""},
		{base + "router {\ndefaultDistribution: closest\nmemoryLimit: 1Gi\nmetadata: x\n}\n", "addresses: 1 added, 1 changed, 2 removed; defaultDistribution is closest; memoryLimit", "router: metadata"},
		{strings.ReplaceAll(base, "port: 0", "port: 0\nlinkCapacity: 3\nmaxFrameSize: 512"), "listener l ends; listener l begins; defaultDistribution is balanced; memoryLimit", ""},
		{base + "listener {\nname: n\nhost: 127.0.0.1\nport: 0\n}\nlistener {\nname: h\nhost: 127.0.0.1\nport: 0\nhttp: yes\n}\n", "listener l ends; listener l begins; listener n begins; listener h begins", ""},
		{strings.ReplaceAll(base, "name: l\n", "name: m\n"), "listener l ends; listener n ends; listener h ends; listener m begins", ""},
		{base, "listener m ends; listener l begins", ""},
	} {
		applied, restart, err := r.Reload(load(t, test.text))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(applied, "; ") != test.applied || strings.Join(restart, "; ") != test.restart {
			t.Errorf("%s\napplied %q, restart %q", test.text, applied, restart)
		}
	}
	write("a:{plain}c\n")
	if applied, restart, err := r.Reload(load(t, base)); strings.Join(applied, "") != "users of "+users || restart != nil || err != nil {
		t.Errorf("applied %q, restart %q", applied, restart)
	}
}

// A step that fails undoes those before it, and the old configuration stays in
// force.
func TestReloadRollsBack(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	base := "listener {\nname: l\nhost: 127.0.0.1\nport: 0\n}\n"
	r := start(t, base)
	_, _, err = r.Reload(load(t, "listener {\nname: m\nhost: 127.0.0.1\nport: 0\n}\nlistener {\nname: n\nhost: 127.0.0.1\nport: "+port+"\n}\naddress {\nprefix: a\n}\n"))
	if err == nil || !strings.Contains(err.Error(), "listener n begins: cannot listen on 127.0.0.1:"+port+": bind: address already in use") {
		t.Errorf("%v", err)
	}
	var names []string
	for _, l := range (&manager{r: r}).Listeners() {
		names = append(names, l.Name)
	}
	if len(names) != 1 || names[0] != "l" {
		t.Errorf("listeners %v", names)
	}
	if applied, restart, err := r.Reload(load(t, base)); applied != nil || restart != nil || err != nil {
		t.Errorf("the old configuration is not in force: %v %v %v", applied, restart, err)
	}
}

// A port that cannot be had is told with what helps.
func TestListenErrors(t *testing.T) {
	byDefault := config.Default("h").Listeners
	file := load(t, "listener {\nhost: 127.0.0.1\n}\n").Listeners[0]
	for _, test := range []struct {
		l    config.Listener
		err  error
		want string
	}{
		{byDefault[0], syscall.EADDRINUSE, "the default configuration: cannot listen on 127.0.0.1:5672: address already in use; is another process using the port?; --listen HOST:PORT listens elsewhere"},
		{byDefault[1], syscall.EADDRINUSE, "the default configuration: cannot listen on 127.0.0.1:8672: address already in use; is another process using the port?; --http HOST:PORT listens elsewhere, --http none nowhere"},
		{file, syscall.EADDRINUSE, "x.conf:1:1: cannot listen on 127.0.0.1:5672: address already in use; is another process using the port?"},
		{file, syscall.EADDRNOTAVAIL, "x.conf:1:1: cannot listen on 127.0.0.1:5672: cannot assign requested address; this host does not have that address"},
		{file, syscall.EACCES, "x.conf:1:1: cannot listen on 127.0.0.1:5672: permission denied; ports below 1024 need a privilege (CAP_NET_BIND_SERVICE)"},
	} {
		if got := listenError(test.l, "", test.err).Error(); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
}
