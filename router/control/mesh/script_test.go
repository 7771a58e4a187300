package mesh

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the expected output of the scripts in testdata")

// A script is a conversation with one engine: blocks of commands, each with the output that is expected of them behind a
// line of dashes. Lines that begin with # are comments. The times in the output are since the start.
//
//	new id=A [instance=…] [limits…]     always first
//	up link=1 cost=2 [slow=1]; down link=1   links
//	hello|ra|lsr|lsu|mar|mau …          what comes in on link=…, made by id=…; to= and trace= as in the message
//	version|opcode|malformed …          what comes in and is not understood
//	local-add key=… ; local-remove …    own addresses
//	wait 20ms                           time passes
//	show|hide KIND                      outputs of a kind; HELLOs are hidden at first
//	routes                              the last Routes
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(text))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if !bytes.Equal([]byte(got), text) {
				t.Errorf("%s differs from what is expected; it gives:\n%s", path, got)
			}
		})
	}
}

// runScript returns the script with the output that its commands have now.
func runScript(t *testing.T, text string) string {
	p := &player{t: t, hidden: map[string]bool{"HELLO": true}}
	var out strings.Builder
	skip := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "----":
			skip = true
			out.WriteString("----\n")
			out.WriteString(p.out.String())
			p.out.Reset()
		case skip && trimmed == "":
			skip = false
			out.WriteString("\n")
		case skip:
		default:
			out.WriteString(line)
			if trimmed != "" && !strings.HasPrefix(trimmed, "#") {
				p.command(trimmed)
			}
		}
	}
	return out.String()
}

type player struct {
	t      *testing.T
	engine *Engine
	now    time.Time
	start  time.Time
	out    strings.Builder
	hidden map[string]bool
	routes *Routes
}

type arguments map[string]string

func (a arguments) number(key string, otherwise int) int {
	v, ok := a[key]
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		panic(err)
	}
	return n
}

// list splits at commas; it is never nil.
func (a arguments) list(key string) []string {
	if a[key] == "" {
		return []string{}
	}
	return strings.Split(a[key], ",")
}

// pairs splits entries name:number.
func (a arguments) pairs(key string) (names []string, numbers []int) {
	names, numbers = []string{}, []int{}
	for _, s := range a.list(key) {
		name, number, found := strings.Cut(s, ":")
		n := TreatmentBalanced
		if found {
			n, _ = strconv.Atoi(number)
		}
		names, numbers = append(names, name), append(numbers, n)
	}
	return names, numbers
}

func (p *player) command(line string) {
	words := strings.Fields(line)
	a := arguments{}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		a[key] = value
	}
	switch words[0] {
	case "new":
		p.start = time.Unix(1_800_000_000, 0)
		p.now = p.start
		e, err := New(Config{
			ID: a["id"], Instance: int64(a.number("instance", 1)), MaxRouters: a.number("routers", 0), MaxPeers: a.number("peers", 0),
			MaxAddresses: a.number("addresses", 0), MaxID: a.number("idlen", 0), MaxKey: a.number("keylen", 0),
			KeysPerDelta: a.number("keys", 0), BytesPerDelta: a.number("bytes", 0), MaxMessage: a.number("message", 0),
		}, p.now)
		if err != nil {
			fmt.Fprintln(&p.out, err)
			return
		}
		p.engine = e
		p.engine.Tick(p.now)
		p.print()
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			p.t.Fatal(err)
		}
		p.wait(d)
	case "show":
		delete(p.hidden, words[1])
	case "hide":
		p.hidden[words[1]] = true
	case "routes":
		fmt.Fprintln(&p.out, formatRoutes(p.routes))
	case "up":
		p.step(LinkUp{Link: uint64(a.number("link", 1)), Cost: a.number("cost", 1), Slow: a.number("slow", 0) != 0})
	case "down":
		p.step(LinkDown{Link: uint64(a.number("link", 1))})
	case "local-add":
		for _, key := range a.list("key") {
			p.step(LocalAdd{Key: key, Treatment: a.number("treatment", TreatmentBalanced)})
		}
	case "local-remove":
		for _, key := range a.list("key") {
			p.step(LocalRemove{Key: key})
		}
	default:
		m := p.message(words[0], a)
		p.step(Received{Link: uint64(a.number("link", 1)), Message: m})
	}
}

func (p *player) message(kind string, a arguments) *Message {
	id, self := a["id"], p.engine.cfg.ID
	instance := int64(a.number("instance", 1))
	var body Body
	var problem error
	to := routerAddress(self, routingEndpoint)
	switch kind {
	case "hello":
		to, body = helloAddress, &Hello{ID: id, Instance: instance, Seen: a.list("seen")}
	case "ra":
		to, body = allAddress, &RA{ID: id, Instance: instance, LSSeq: int64(a.number("ls", 1)), MobileSeq: int64(a.number("mobile", 0))}
	case "lsr":
		body = &LSR{ID: id}
	case "lsu":
		u := &LSU{ID: id, Instance: instance, LSSeq: int64(a.number("ls", 1))}
		names, costs := a.pairs("peers")
		for i := range names {
			u.Peers = append(u.Peers, Peer{names[i], costs[i]})
		}
		body = u
	case "mar":
		to, body = routerAddress(self, mobileEndpoint), &MAR{ID: id, HaveSeq: int64(a.number("have", 0))}
	case "mau":
		u := &MAU{ID: id, MobileSeq: int64(a.number("mobile", 1))}
		if _, u.Absolute = a["exist"]; u.Absolute {
			u.Exist, u.Hints = a.pairs("exist")
			to = routerAddress(self, mobileEndpoint)
		} else {
			u.Add, u.Hints = a.pairs("add")
			u.Del = a.list("del")
			to = mobileToAll
		}
		body = u
	case "version":
		problem = &VersionError{ID: id, Opcode: OpcodeMAU, Version: 2}
	case "opcode":
		problem = &OpcodeError{Opcode: "XYZ"}
	case "malformed":
		problem = errors.New("some reason")
	default:
		p.t.Fatalf("no command %q", kind)
	}
	if a["to"] != "" {
		to = a["to"]
	}
	m := &Message{To: to, Body: body, Problem: problem}
	trace := []string{id}
	if _, ok := a["trace"]; ok {
		trace = a.list("trace")
	}
	for _, id := range trace {
		m.Trace = append(m.Trace, NodeView(id))
	}
	if len(m.Trace) > 0 {
		m.Ingress = m.Trace[0]
	}
	return m
}

func (p *player) step(ev Event) {
	p.engine.Step(p.now, ev)
	p.print()
}

func (p *player) wait(d time.Duration) {
	end := p.now.Add(d)
	for next := p.engine.Next(); !next.After(end); next = p.engine.Next() {
		if next.After(p.now) {
			p.now = next
		}
		p.engine.Tick(p.now)
		p.print()
	}
	p.now = end
}

func (p *player) print() {
	for _, o := range p.engine.Ready() {
		kind, text := formatOutput(o)
		if r, ok := o.(*Routes); ok {
			p.routes = r
		}
		if !p.hidden[kind] {
			fmt.Fprintf(&p.out, "%7.3f %s\n", p.now.Sub(p.start).Seconds(), text)
		}
	}
}

// formatOutput returns the kind of an output, which for messages is the opcode, and a line about it.
func formatOutput(o Output) (kind, text string) {
	switch o := o.(type) {
	case Send:
		kind = "opaque"
		if o.Message.Body != nil {
			kind = string(o.Message.Body.Opcode())
		}
		return kind, fmt.Sprintf("send %d: %s", o.Link, formatMessage(o.Message))
	case *Routes:
		return "routes", formatRoutes(o)
	case RemoteAdd:
		return "add", fmt.Sprintf("add %s %s treatment %d", o.Router, o.Key, o.Treatment)
	case RemoteRemove:
		return "remove", fmt.Sprintf("remove %s %s", o.Router, o.Key)
	case RouterGone:
		return "gone", fmt.Sprintf("gone %s, number %d", o.Router, o.Number)
	case Refuse:
		return "refuse", fmt.Sprintf("refuse %d: %v", o.Link, o.Error)
	case Notice:
		return "notice", fmt.Sprintf("notice %s (%s on %d): %s", o.Kind, o.Router, o.Link, o.Text)
	}
	panic(fmt.Sprintf("%T", o))
}

func formatMessage(m *Message) string {
	var s string
	switch b := m.Body.(type) {
	case nil:
		s = "opaque"
	case *Hello:
		s = fmt.Sprintf("HELLO %s seen %v", b.ID, b.Seen)
	case *RA:
		s = fmt.Sprintf("RA %s ls %d mobile %d", b.ID, b.LSSeq, b.MobileSeq)
	case *LSR:
		s = fmt.Sprintf("LSR %s", b.ID)
	case *LSU:
		s = fmt.Sprintf("LSU %s ls %d peers %v", b.ID, b.LSSeq, b.Peers)
	case *MAR:
		s = fmt.Sprintf("MAR %s have %d", b.ID, b.HaveSeq)
	case *MAU:
		if b.Absolute {
			s = fmt.Sprintf("MAU %s mobile %d exist %v hints %v", b.ID, b.MobileSeq, b.Exist, b.Hints)
		} else {
			s = fmt.Sprintf("MAU %s mobile %d add %v hints %v del %v", b.ID, b.MobileSeq, b.Add, b.Hints, b.Del)
		}
	}
	trace := make([]string, len(m.Trace))
	for i, view := range m.Trace {
		trace[i] = strings.TrimPrefix(view, Area+"/")
	}
	return fmt.Sprintf("%s, to %s, trace %s", s, strings.TrimPrefix(m.To, "amqp:/"), strings.Join(trace, " "))
}

func formatRoutes(r *Routes) string {
	var b strings.Builder
	fmt.Fprintf(&b, "routes radius %d", r.Radius)
	for _, n := range r.Neighbors {
		fmt.Fprintf(&b, "; neighbor %s cost %d links %v", n.ID, n.Cost, n.Links)
	}
	for _, o := range r.Routers {
		var origins []string
		for n := range 64 * len(o.ValidOrigins) {
			if o.ValidOrigins.Has(n) {
				name := "self"
				if from := r.ByNumber(n); from != nil {
					name = from.ID
				}
				origins = append(origins, name)
			}
		}
		slices.Sort(origins)
		fmt.Fprintf(&b, "; %s #%d via %s cost %d hops %d origins %v", o.ID, o.Number, o.NextHop, o.Cost, o.Hops, origins)
	}
	return b.String()
}
