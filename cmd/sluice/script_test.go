package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The commands are tested by scripts under testdata: what people type, what
// they see, and the exit status.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sluice": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			// The race detector makes every process wait a second at its end.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":       status,
			"ports":        ports,
			"ready":        ready,
			"certificates": certificates,
			"signal":       signalRouter,
			"https":        https,
		},
	})
}

// status N COMMAND... runs a command that must end with exit status N.
func status(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = fmt.Sprint(err)
		if exit, ok := err.(interface{ ExitCode() int }); ok {
			got = fmt.Sprint(exit.ExitCode())
		}
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}

// ports NAME... sets each variable to the number of a port that is free.
func ports(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		// They are closed only at the end, so that they all differ.
		defer l.Close()
		ts.Setenv(name, fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
	}
}

// ready PORT waits until the router with HTTP on PORT is ready.
func ready(ts *testscript.TestScript, _ bool, args []string) {
	for start := time.Now(); time.Since(start) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		r, err := http.Get("http://127.0.0.1:" + args[0] + "/readyz")
		if err != nil {
			continue
		}
		r.Body.Close()
		if r.StatusCode == http.StatusOK {
			return
		}
	}
	ts.Fatalf("no router became ready on port %s", args[0])
}

// signalRouter sends HUP or TERM to the routers in the background; the
// built-in kill knows neither.
func signalRouter(ts *testscript.TestScript, _ bool, args []string) {
	s := map[string]os.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM}[args[0]]
	for _, c := range ts.BackgroundCmds() {
		if len(c.Args) > 1 && c.Args[1] == "run" {
			ts.Check(c.Process.Signal(s))
		}
	}
}

// The scripts need a real binary only for signals; everything else of main is
// reached from here, too.
func TestUnknownCommandIsUsage(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if got := sluice([]string{"sluice", "nonsense"}, null, null); got != exitUsage {
		t.Errorf("exit status %d", got)
	}
}
