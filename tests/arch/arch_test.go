package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "sluice/"

// A file is one Go file of the module.
type file struct {
	path    string // from the root of the module
	dir     string
	test    bool
	ast     *ast.File
	imports []string
}

func load(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..")
	var files []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || name == "bin"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		f := file{path: rel, dir: filepath.ToSlash(filepath.Dir(rel)), test: strings.HasSuffix(rel, "_test.go"), ast: parsed}
		for _, i := range parsed.Imports {
			f.imports = append(f.imports, strings.Trim(i.Path.Value, `"`))
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Fatalf("only %d files were found", len(files))
	}
	return files
}

func under(dir, top string) bool { return dir == top || strings.HasPrefix(dir, top+"/") }

// layers, from below: each may import those before it and itself.
var layers = []string{"buffers", "amqp", "links", "router", "cmd"}

func layer(dir string) int {
	return slices.IndexFunc(layers, func(l string) bool { return under(dir, l) })
}

// Imports run one way through the top-level folders; tests may import anything,
// and nothing imports tests.
func TestImportDirection(t *testing.T) {
	for _, f := range load(t) {
		if under(f.dir, "tests") || under(f.dir, "deploy") {
			continue
		}
		mine := layer(f.dir)
		if mine < 0 {
			t.Errorf("%s: the folder has no place among %v", f.path, layers)
		}
		for _, i := range f.imports {
			dir, ours := strings.CutPrefix(i, module)
			if !ours {
				continue
			}
			if under(dir, "tests") {
				t.Errorf("%s imports %s: nothing imports tests", f.path, i)
			} else if layer(dir) > mine {
				t.Errorf("%s imports %s: %s is above %s", f.path, i, layers[layer(dir)], layers[mine])
			}
			if under(dir, "amqp/amqptest") && !f.test && !under(f.dir, "amqp/amqptest") {
				t.Errorf("%s imports %s: it is for tests", f.path, i)
			}
		}
	}
}

// The data plane never imports the control plane. The package router assembles
// both and is neither.
func TestDataPlaneDoesNotImportControl(t *testing.T) {
	for _, f := range load(t) {
		data := under(f.dir, "router") && f.dir != "router" && !under(f.dir, "router/control") || layer(f.dir) >= 0 && layer(f.dir) < layer("router")
		for _, i := range f.imports {
			if data && under(strings.TrimPrefix(i, module), "router/control") {
				t.Errorf("%s imports %s", f.path, i)
			}
		}
	}
}

// Within amqp, the state machines own no socket: transport does not know its
// driver, and the codec knows neither.
func TestTransportKnowsNoSocket(t *testing.T) {
	for _, f := range load(t) {
		if f.test {
			continue
		}
		for _, i := range f.imports {
			switch {
			case under(f.dir, "amqp/transport") && (i == "net" || i == module+"amqp/driver"),
				(under(f.dir, "amqp/frames") || under(f.dir, "amqp/encoding") || under(f.dir, "amqp/messaging")) && (i == module+"buffers" || i == module+"amqp/transport"):
				t.Errorf("%s imports %s", f.path, i)
			}
		}
	}
}

// Where a library may be used.
func TestLibrariesInTheirPlaces(t *testing.T) {
	places := map[string][]string{
		"github.com/Azure/go-amqp":      {"cmd", "tests"},
		"github.com/urfave/cli":         {"cmd/sluice", "tests"},
		"github.com/goccy/go-yaml":      {"router/control", "cmd", "tests", "deploy"},
		"github.com/prometheus/":        {"router", "cmd", "tests"},
		"github.com/coder/websocket":    {"router/listen/websocket", "tests"},
		"github.com/google/go-cmp":      nil,
		"github.com/VictoriaMetrics/":   nil,
		"pgregory.net/rapid":            nil,
		"go.uber.org/goleak":            nil,
		"github.com/rs/zerolog":         {"router", "cmd", "tests"},
		"github.com/rogpeppe/go-intern": {"cmd", "tests"},
	}
	for _, f := range load(t) {
		for _, i := range f.imports {
			for lib, dirs := range places {
				if !strings.HasPrefix(i, lib) {
					continue
				}
				if dirs == nil && f.test || under(f.dir, "tests") {
					continue
				}
				if !slices.ContainsFunc(dirs, func(d string) bool { return under(f.dir, d) }) {
					t.Errorf("%s imports %s", f.path, i)
				}
			}
		}
	}
}

// Every package has a comment, in doc.go unless it is a command.
func TestPackageComments(t *testing.T) {
	where := make(map[string][]string)
	packages := make(map[string]bool)
	for _, f := range load(t) {
		if f.test {
			continue
		}
		packages[f.dir] = true
		if f.ast.Doc != nil {
			where[f.dir] = append(where[f.dir], filepath.Base(f.path))
			name := f.ast.Name.Name
			if text := f.ast.Doc.Text(); name != "main" && !strings.HasPrefix(text, "Package "+name+" ") {
				t.Errorf("%s: the comment begins with %.30q", f.path, text)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		switch list := where[dir]; {
		case len(list) != 1:
			t.Errorf("%s has %d package comments: %v", dir, len(list), list)
		case under(dir, "cmd"):
		case list[0] != "doc.go":
			t.Errorf("%s: its comment is in %s", dir, list[0])
		}
	}
}

// goroutines lists where goroutines and timers are started, and why, outside of
// cmd and tests. Whoever starts one waits for it.
var goroutines = map[string]string{
	"amqp/driver/driver.go Run AfterFunc":                 "the timer of a connection: heartbeats, time-outs, deadlines; stopped by Run",
	"amqp/driver/driver.go drain go":                      "serves connections in the place of a reader that has done enough of that; ends when nothing is left to be done",
	"amqp/driver/driver.go unlock go":                     "the writer of a connection, while its socket does not take what is to be written; waited for by Run",
	"links/credit.go kick go":                             "news for a connection from a place that may not take its lock; ends at once",
	"router/connection.go serve AfterFunc":                "closes a connection when the router shuts down",
	"router/control/logging/sink.go startLocked go":       "the writer of a log output, while it has lines to write; waited for by Logs.Close, for a second at most",
	"router/control/logging/throttle.go Sample AfterFunc": "says after a second how many lines were not logged; stopped by Logs.Close",
	"router/control/service/client.go Dial Go":            "the two ends of a connection within the process; waited for by Close",
	"router/control/web/server.go Serve AfterFunc":        "closes the HTTP server when the router shuts down",
	"router/edges/edge.go end go":                         "closes a connection from a place that may not take its lock; ends at once",
	"router/http.go run Go":                               "takes connections for the HTTP server; waited for by run",
	"router/listen/connector.go Opened AfterFunc":         "says that a connection holds, after many that have not; stopped when it ends",
	"router/listen/listener.go Run AfterFunc":             "closes the socket when the listener stops",
	"router/listen/listener.go Run Go":                    "one for each accepted connection: the reader of its driver",
	"router/listen/listener.go negotiate AfterFunc":       "closes a connection that has not opened when the listener stops",
	"router/manage_running.go start Go":                   "listeners, connectors and TLS profiles, also those that management makes; waited for by Router.Run",
	"router/router.go Run Go":                             "listeners, connectors, HTTP, certificates and the sweep: the control goroutines",
}

func TestGoroutines(t *testing.T) {
	found := make(map[string]bool)
	for _, f := range load(t) {
		if f.test || under(f.dir, "cmd") || under(f.dir, "tests") || under(f.dir, "amqp/amqptest") || under(f.dir, "deploy") {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				how := ""
				switch n := n.(type) {
				case *ast.GoStmt:
					how = "go"
				case *ast.CallExpr:
					if s, ok := n.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "AfterFunc" || s.Sel.Name == "Go") {
						how = s.Sel.Name
					}
				}
				if how != "" {
					found[fmt.Sprintf("%s %s %s", f.path, fn.Name.Name, how)] = true
				}
				return true
			})
		}
	}
	for at := range found {
		if goroutines[at] == "" {
			t.Errorf("%s: not in the list; who waits for it?", at)
		}
	}
	for at := range goroutines {
		if !found[at] {
			t.Errorf("%s: in the list, and not there", at)
		}
	}
}

// No goroutine blocks under a lock on a channel: the data plane has none.
func TestDataPlaneHasNoChannels(t *testing.T) {
	for _, f := range load(t) {
		if f.test || !(under(f.dir, "buffers") || under(f.dir, "links") || under(f.dir, "router/forward") || under(f.dir, "amqp/transport") || under(f.dir, "amqp/driver")) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%s uses channels", f.path)
			}
			return true
		})
	}
}
