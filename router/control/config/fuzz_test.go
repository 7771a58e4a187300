package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fuzz checks what holds for every text: it does not panic, each problem has a
// place inside of the text, and a Config is there if and only if there is no
// mistake.
func fuzz(f *testing.F, ext string) {
	files, err := filepath.Glob("testdata/*" + ext)
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 || strings.Contains(text, "/dev") || strings.Contains(text, "/proc") {
			return // it may name files that never end
		}
		c, problems := LoadText("fuzz"+ext, text, Options{Hostname: "h"})
		if (c == nil) != (len(problems) > 0) {
			t.Fatalf("Config %v with %d problems", c != nil, len(problems))
		}
		if c != nil {
			problems = c.Warnings
			if c.Router.ID == "" {
				t.Fatal("no id")
			}
		}
		lines := strings.Count(text, "\n") + 1
		for _, p := range problems {
			if p.Text == "" || p.Pos.Line < 0 || p.Pos.Column < 0 || ext != ".yaml" && p.Pos.Line > lines {
				t.Fatalf("problem %+v of %d lines", p, lines)
			}
			if strings.ContainsAny(p.String(), "\n") && ext != ".yaml" {
				t.Fatalf("problem of more than one line: %q", p)
			}
		}
	})
}

func FuzzConf(f *testing.F) { fuzz(f, ".conf") }
func FuzzJSON(f *testing.F) { fuzz(f, ".json") }
func FuzzYAML(f *testing.F) { fuzz(f, ".yaml") }
