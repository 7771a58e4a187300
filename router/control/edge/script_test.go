package edge

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/router/uplink"
)

var update = flag.Bool("update", false, "rewrite what scripts expect")

// Scripts are conversations with an Engine: a line of news, and behind ">" what
// it wants done.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// play runs a script and returns it with what really comes.
func play(t *testing.T, script string) string {
	t.Helper()
	var b strings.Builder
	now := time.Unix(1000, 0)
	e := NewEngine(now)
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "> ") {
			continue
		}
		b.WriteString(line + "\n")
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		if f[0] == "wait" {
			d, err := time.ParseDuration(f[1])
			if err != nil {
				t.Fatal(err)
			}
			// As the agent does: whenever something is due.
			for end := now.Add(d); ; {
				next := e.Next()
				if next.IsZero() || next.After(end) {
					now = end
					break
				}
				now = next
				e.Tick(now)
				act(&b, e)
			}
		} else {
			e.Step(now, event(t, f))
		}
		e.Tick(now)
		act(&b, e)
	}
	return b.String()
}

func act(b *strings.Builder, e *Engine) {
	for {
		actions := e.Ready()
		if len(actions) == 0 {
			return
		}
		for _, a := range actions {
			name := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", a), "edge."))
			switch a := a.(type) {
			case Activate:
				name = fmt.Sprint(name, " ", a.Uplink)
			case Add:
				name = fmt.Sprint(name, " ", a.Uplink, " ", a.Proxy.Direction, " ", a.Proxy.Key)
			case Remove:
				name = fmt.Sprint(name, " ", a.Uplink, " ", a.Proxy.Direction, " ", a.Proxy.Key)
			case Join:
				name = fmt.Sprint(name, " ", a.Uplink, " ", a.Key)
			case Leave:
				name = fmt.Sprint(name, " ", a.Uplink, " ", a.Key)
			case Release:
				name = fmt.Sprint(name, " ", a.Key)
			case Beat:
				name = fmt.Sprint(name, " ", a.Uplink, " ", a.N)
			}
			b.WriteString("> " + name + "\n")
		}
	}
}

func event(t *testing.T, f []string) Event {
	t.Helper()
	number := func() uint64 {
		n, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			t.Fatalf("%v: %v", f, err)
		}
		return n
	}
	proxy := func(dir, key string) uplink.Proxy {
		d := uplink.In
		if dir == "out" {
			d = uplink.Out
		}
		return uplink.Proxy{Key: key, Direction: d}
	}
	switch f[0] {
	case "up":
		return Up{number()}
	case "down":
		return Down{number()}
	case "usable":
		return Usable{number()}
	case "consumers":
		return Local{proxy("in", f[1]), f[2] == "yes"}
	case "producers":
		return Local{proxy("out", f[1]), f[2] == "yes"}
	case "tracked":
		return Tracked{number(), f[2], f[3] == "yes"}
	case "answered":
		return Answered{number(), proxy(f[2], f[3])}
	case "lost":
		return Lost{number(), proxy(f[2], f[3])}
	case "removed":
		return Removed{number(), proxy(f[2], f[3])}
	case "busy":
		return Busy{number(), proxy(f[2], f[3])}
	}
	t.Fatalf("no such news: %v", f)
	return nil
}

// Work for many addresses comes in pieces, and no more proxies than the bound
// wait for an answer.
func TestEngine_ManyAddresses(t *testing.T) {
	const n = 50_000
	now := time.Unix(1000, 0)
	e := NewEngine(now)
	for i := range n {
		e.Step(now, Local{uplink.Proxy{Key: fmt.Sprint("M0", i), Direction: uplink.In}, true})
	}
	if got := e.Ready(); len(got) != 0 {
		t.Fatalf("without an uplink: %v", got)
	}
	for id := uint64(1); id <= 2; id++ { // and again after a fail-over
		e.Step(now, Up{id})
		e.Step(now, Usable{id})
		var open []uplink.Proxy
		added := 0
		for added < n {
			out := e.Ready()
			if len(out) > batch+4 { // with what Up, Usable and Down have added
				t.Fatalf("%d actions at once", len(out))
			}
			for _, a := range out {
				if a, ok := a.(Add); ok {
					open = append(open, a.Proxy)
					added++
				}
			}
			if len(open) > unanswered+batch {
				t.Fatalf("%d proxies without an answer", len(open))
			}
			if len(out) == 0 {
				if len(open) == 0 {
					t.Fatalf("only %d were added", added)
				}
				for _, p := range open {
					e.Step(now, Answered{id, p})
				}
				open = nil
			}
		}
		if in, _, _ := e.Counts(); in != n {
			t.Errorf("%d proxies", in)
		}
		e.Step(now, Down{id})
	}
	for i := range n {
		e.Step(now, Local{uplink.Proxy{Key: fmt.Sprint("M0", i), Direction: uplink.In}, false})
	}
	for len(e.Ready()) > 0 {
	}
	if len(e.addresses) != 0 {
		t.Errorf("%d addresses are remembered", len(e.addresses))
	}
}
