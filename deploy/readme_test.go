package deploy

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/router/address"
	"sluice/router/control/config"
)

func readme(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The configuration of the README loads, and is the same in both syntaxes.
func TestReadmeConfiguration(t *testing.T) {
	etc := t.TempDir()
	install(t, etc)
	text := strings.ReplaceAll(readme(t), "/etc/sluice", etc)
	var first *config.Config
	for file, begin := range map[string]string{"readme.conf": "```\nrouter {", "readme.yaml": "```yaml\nrouter:"} {
		_, rest, ok := strings.Cut(text, begin)
		if !ok {
			t.Fatalf("the README has no %q", begin)
		}
		block, _, _ := strings.Cut(rest, "```")
		_, head, _ := strings.Cut(begin, "\n")
		c, problems := config.LoadText(file, head+block, config.Options{})
		if len(problems)+len(c.Warnings) > 0 {
			t.Fatalf("%v %v", problems, c.Warnings)
		}
		if first == nil {
			first = c
			continue
		}
		if diff := cmp.Diff(first, c, cmpopts.IgnoreTypes(config.Position{}), cmp.AllowUnexported(address.Pattern{})); diff != "" {
			t.Errorf("the syntaxes differ:\n%s", diff)
		}
	}
}

// The routers of the README's network load, too, and fit together.
func TestReadmeNetwork(t *testing.T) {
	// Every second part is between fences.
	blocks := strings.Split("\n"+readme(t), "\n```")
	block := func(begin string) string {
		for i := 1; i < len(blocks); i += 2 {
			if _, b, _ := strings.Cut(blocks[i]+"\n", "\n"); strings.HasPrefix(b, begin) {
				return b
			}
		}
		t.Fatalf("the README has no block that begins with %q", begin)
		return ""
	}
	// A and B stand side by side.
	const width = 32
	var a, b strings.Builder
	for line := range strings.Lines(block("router {" + strings.Repeat(" ", width-len("router {")) + "router {")) {
		line = strings.TrimSuffix(line, "\n")
		a.WriteString(line[:min(width, len(line))] + "\n")
		b.WriteString(line[min(width, len(line)):] + "\n")
	}
	load := func(file, text string) *config.Config {
		c, problems := config.LoadText(file, text, config.Options{})
		if len(problems) > 0 || len(c.Warnings) > 0 {
			t.Fatalf("%s: %v %v", file, problems, c)
		}
		return c
	}
	configs := []*config.Config{
		load("A.conf", a.String()+block("listener {\n  host: 127.0.0.1\n  port: 45672")),
		load("B.conf", b.String()), load("E.conf", block("router {\n  mode: edge")),
	}
	listening := map[string]config.Role{}
	for _, c := range configs {
		for _, l := range c.Listeners {
			if _, twice := listening[l.Address()]; twice {
				t.Errorf("two listen on %s", l.Address())
			}
			listening[l.Address()] = l.Role
		}
	}
	joined := 0
	for _, c := range configs {
		for _, k := range c.Connectors {
			joined++
			if role, there := listening[k.Address()]; !there || role != k.Role {
				t.Errorf("%s connects to %s, role %s: %q", c.Router.ID, k.Address(), k.Role, role)
			}
		}
	}
	if joined != 3 || configs[2].Router.Mode != config.EdgeMode {
		t.Errorf("%d connectors", joined)
	}
}

// The README names all metrics, and no others.
func TestReadmeMetrics(t *testing.T) {
	var named []string
	there := slices.Sorted(maps.Keys(series(t)))
	there = slices.DeleteFunc(there, func(name string) bool { return !strings.HasPrefix(name, "sluice_") })
	// "…_cost" behind a name is the same as that up to its third part.
	base := ""
	for _, name := range regexp.MustCompile(`sluice_\w+|…_\w+`).FindAllString(readme(t), -1) {
		if rest, short := strings.CutPrefix(name, "…"); short {
			name = base + rest
		} else if parts := strings.SplitN(name, "_", 4); len(parts) == 4 {
			base = strings.Join(parts[:3], "_")
		}
		named = append(named, name)
	}
	slices.Sort(named)
	if diff := cmp.Diff(there, slices.Compact(named)); diff != "" || len(there) < 15 {
		t.Errorf("(-/metrics +README):\n%s", diff)
	}
}
