package stat

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/cmd/internal/management/agenttest"
)

var update = flag.Bool("update", false, "write what is shown to testdata")

// golden compares what is shown with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: what was, and what is:\n%s", file, diff)
	}
}

// rows makes a table from pairs of attributes and values.
func rows(entities ...map[string]any) *agenttest.Table {
	t := &agenttest.Table{}
	at := map[string]int{}
	for _, e := range entities {
		for _, name := range names(e) {
			if _, ok := at[name]; !ok {
				at[name] = len(t.Attributes)
				t.Attributes = append(t.Attributes, name)
			}
		}
	}
	for _, e := range entities {
		row := make([]any, len(t.Attributes))
		for name, v := range e {
			row[at[name]] = v
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// names returns the names of attributes, those of all entities first.
func names(e map[string]any) []string {
	list := slices.Sorted(maps.Keys(e))
	list = slices.DeleteFunc(list, func(s string) bool { return s == "name" || s == "identity" })
	return append([]string{"name", "identity"}, list...)
}

// like returns an entity with some values of another changed.
func like(e map[string]any, changes ...any) map[string]any {
	out := maps.Clone(e)
	for i := 0; i < len(changes); i += 2 {
		out[changes[i].(string)] = changes[i+1]
	}
	return out
}

// shownBy looks at one router, or several, and returns what is seen.
func shownBy(t *testing.T, o Options, agents ...*agenttest.Agent) string {
	t.Helper()
	var out bytes.Buffer
	l := &Look{Options: o, Out: &out}
	if err := l.Run(t.Context(), routers(agents)); err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	for _, n := range l.Notes {
		fmt.Fprintf(&out, "note: %s\n", n)
	}
	for _, err := range l.Failed {
		fmt.Fprintf(&out, "failed: %v\n", err)
	}
	return out.String()
}

func routers(agents []*agenttest.Agent) []Router {
	var list []Router
	for i, a := range agents {
		list = append(list, Router{ID: string(rune('A' + i)), Node: a})
	}
	return list
}
