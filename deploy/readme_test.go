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
