package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares text with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// Every mistake is found in one run, in order, with position and suggestion.
func TestMistakes(t *testing.T) {
	for _, file := range []string{"mistakes.conf", "mistakes.yaml", "mistakes.json"} {
		t.Run(file, func(t *testing.T) {
			c, problems := Load([]string{"testdata/" + file}, Options{})
			if c != nil {
				t.Error("a Config in spite of mistakes")
			}
			golden(t, file+".golden", problems.Error()+"\n")
		})
	}
}

// Every mistake says what would be right, or what was meant.
func TestEveryMistakeSaysWhatHelps(t *testing.T) {
	for _, file := range []string{"mistakes.conf", "mistakes.yaml", "mistakes.json"} {
		_, problems := Load([]string{"testdata/" + file}, Options{})
		for _, p := range problems {
			if !p.Warning && p.Expected == "" && p.Suggestion == "" && !strings.Contains(p.Text, "expected ") {
				t.Errorf("nothing helps with %v", p)
			}
		}
	}
}

// The numbers in mistakes.conf are not decoration: each line that has one is
// reported.
func TestEveryMarkedLineIsReported(t *testing.T) {
	data, err := os.ReadFile("testdata/mistakes.conf")
	if err != nil {
		t.Fatal(err)
	}
	_, problems := Load([]string{"testdata/mistakes.conf"}, Options{})
	lines := map[int]bool{}
	for _, p := range problems {
		lines[p.Pos.Line] = lines[p.Pos.Line] || !p.Warning
	}
	marked := 0
	for i, line := range strings.Split(string(data), "\n") {
		_, comment, ok := strings.Cut(line, "# ")
		if !ok || comment == "" || comment[0] < '0' || comment[0] > '9' {
			continue
		}
		marked++
		if !lines[i+1] {
			t.Errorf("line %d is not reported: %s", i+1, line)
		}
	}
	if marked < 45 || problems.Mistakes() < 50 {
		t.Errorf("%d lines are marked, %d problems", marked, len(problems))
	}
}
