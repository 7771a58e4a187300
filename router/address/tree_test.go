package address

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func mustPattern(t interface{ Fatalf(string, ...any) }, text string) Pattern {
	p, err := ParsePattern(text)
	if err != nil {
		t.Fatalf("ParsePattern(%q): %v", text, err)
	}
	return p
}

func TestPatternNormalForm(t *testing.T) {
	for text, want := range map[string]string{
		"a.b/c":       "a/b/c",
		"/a/":         "a",
		"..a..":       "a",
		"#/#":         "#",
		"#.*.#":       "*/#",
		"a/#/*/b/*/#": "a/*/#/b/*/#",
		"*":           "*",
		"a*":          "a*", // an ordinary token
	} {
		if got := mustPattern(t, text).String(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", "/", "...", "a//b", "a./b"} {
		if p, err := ParsePattern(text); err == nil {
			t.Errorf("%q: %q, want an error", text, p)
		}
	}
	if p, _ := ParsePrefix("/a.b/"); p.String() != "a/b/#" {
		t.Errorf("prefix: %q", p)
	}
	if _, err := ParsePrefix("/"); err == nil {
		t.Error("empty prefix: no error")
	}
}

func TestBestMatch(t *testing.T) {
	var tree Tree[string]
	for _, p := range []string{"a/b/c", "a/*/c", "a/#", "#", "a/*/d", "*/b/#", "x/#/y", "x/#", "#/end"} {
		tree.Insert(mustPattern(t, p), p)
	}
	for text, want := range map[string]string{
		"a.b.c":   "a/b/c",
		"a/b/c":   "a/b/c",
		"a/z/c":   "a/*/c",
		"a/b/d":   "a/*/d",
		"a":       "a/#", // "#" stands for no token, too
		"a/b":     "a/#",
		"a/1/2/3": "a/#",
		"q/b":     "*/b/#",
		"q/b/r":   "*/b/#",
		"q":       "#",
		"":        "#",
		"x/1/2/y": "x/#/y",
		"x/y":     "x/#/y",
		"x/1/2":   "x/#",
		"q/end":   "#/end",
		"a/end":   "a/#", // decided at the first token
		"/a/b/c/": "a/b/c",
	} {
		if got, ok := tree.Match(text); !ok || got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if _, ok := new(Tree[int]).Match("a"); ok {
		t.Error("an empty tree matches")
	}
}

// matches is the obvious definition: does the pattern match the tokens?
func matches(pattern, tokens []string) bool {
	if len(pattern) == 0 {
		return len(tokens) == 0
	}
	switch pattern[0] {
	case AnyTokens:
		return matches(pattern[1:], tokens) || len(tokens) > 0 && matches(pattern, tokens[1:])
	case AnyToken:
		return len(tokens) > 0 && matches(pattern[1:], tokens[1:])
	}
	return len(tokens) > 0 && tokens[0] == pattern[0] && matches(pattern[1:], tokens[1:])
}

// bestTwin finds the best pattern by trying all: those that match, and of them
// the one whose tokens are better at the first difference.
func bestTwin(patterns []string, text string) (string, bool) {
	var tokens []string
	if text = strings.Trim(text, "./"); text != "" {
		tokens = strings.FieldsFunc(text, func(r rune) bool { return r == '.' || r == '/' })
	}
	rank := map[string]int{AnyToken: 1, AnyTokens: 2}
	best, found := "", false
	for _, p := range patterns {
		if !matches(strings.Split(p, "/"), tokens) {
			continue
		}
		if !found {
			best, found = p, true
			continue
		}
		a, b := strings.Split(p, "/"), strings.Split(best, "/")
		for i := 0; ; i++ {
			// Both match: where one ends, the other can only go on with "#",
			// which ending is better than.
			if i == len(a) {
				best = p
				break
			}
			if i == len(b) {
				break
			}
			if rank[a[i]] != rank[b[i]] {
				if rank[a[i]] < rank[b[i]] {
					best = p
				}
				break
			}
			if a[i] != b[i] {
				// Two literals at the same place: only after a "#", which then
				// stood for more tokens in one than in the other. The one that
				// stood for fewer is better.
				return "", false
			}
		}
	}
	return best, found
}

func TestMatchIsLikeItsTwin(t *testing.T) {
	token := rapid.SampledFrom([]string{"a", "b", "c", "*", "#"})
	rapid.Check(t, func(t *rapid.T) {
		var tree Tree[string]
		kept := map[string]bool{}
		for range rapid.IntRange(1, 8).Draw(t, "patterns") {
			p := mustPattern(t, strings.Join(rapid.SliceOfN(token, 1, 4).Draw(t, "pattern"), "/"))
			if got, want := tree.Insert(p, p.String()), !kept[p.String()]; got != want {
				t.Fatalf("Insert(%s) = %v", p, got)
			}
			kept[p.String()] = true
		}
		for _, p := range slices.Sorted(maps.Keys(kept)) {
			if rapid.Float64Range(0, 1).Draw(t, "remove") < .2 {
				if !tree.Remove(mustPattern(t, p)) {
					t.Fatalf("Remove(%s) = false", p)
				}
				delete(kept, p)
			}
		}
		if tree.Len() != len(kept) {
			t.Fatalf("Len() = %d, want %d", tree.Len(), len(kept))
		}
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 6).Draw(t, "address"), "/")
		patterns := slices.Sorted(maps.Keys(kept))
		got, ok := tree.Clone().Match(text)
		anyMatch := false
		for _, p := range patterns {
			var tokens []string
			if text != "" {
				tokens = strings.Split(text, "/")
			}
			anyMatch = anyMatch || matches(strings.Split(p, "/"), tokens)
		}
		if ok != anyMatch {
			t.Fatalf("%q of %v: match %v, want %v", text, patterns, ok, anyMatch)
		}
		if want, comparable := bestTwin(patterns, text); comparable && got != want {
			t.Fatalf("%q of %v: %q, want %q", text, patterns, got, want)
		}
	})
}

func TestRemoveLeavesNothingBehind(t *testing.T) {
	var tree Tree[int]
	patterns := []string{"a/b/#", "a/*/c", "a", "#"}
	for i, p := range patterns {
		tree.Insert(mustPattern(t, p), i)
	}
	all := map[string]int{}
	tree.All(func(p Pattern, v int) bool { all[p.String()] = v; return true })
	if len(all) != len(patterns) {
		t.Errorf("All: %v", all)
	}
	for i, p := range patterns {
		if v, ok := tree.Get(mustPattern(t, p)); !ok || v != i {
			t.Errorf("Get(%s) = %v, %v", p, v, ok)
		}
		if !tree.Remove(mustPattern(t, p)) || tree.Remove(mustPattern(t, p)) {
			t.Errorf("Remove(%s)", p)
		}
	}
	if tree.root.literal["a"] != nil || tree.root.star != nil || tree.root.hash != nil || tree.Len() != 0 {
		t.Errorf("left: %+v", tree.root)
	}
}

// A clone is independent: what a writer does with it does not reach readers.
func TestCloneIsIndependent(t *testing.T) {
	var tree Tree[int]
	tree.Insert(mustPattern(t, "a/b"), 1)
	clone := tree.Clone()
	clone.Insert(mustPattern(t, "a/c"), 2)
	clone.Insert(mustPattern(t, "a/b"), 3)
	if v, _ := tree.Match("a/b"); v != 1 {
		t.Errorf("a/b: %d", v)
	}
	if _, ok := tree.Match("a/c"); ok {
		t.Error("a/c reached the original")
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	var tree Tree[int]
	for i, p := range []string{"a/b/c", "a/*/c", "a/#", "#", "x/#/y/#/z"} {
		tree.Insert(mustPattern(t, p), i)
	}
	n := testing.AllocsPerRun(100, func() {
		tree.Match("a.b.c")
		tree.Match("a/b/d/e/f")
		tree.Match("x/1/2/y/3/z")
		tree.Match("nothing/of/these")
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// An address comes from a client. Without memory of failures this one would
// take some 10^20 steps.
func TestHostileAddressesAreCheap(t *testing.T) {
	var tree Tree[int]
	tree.Insert(mustPattern(t, strings.Repeat("#/a/", 12)+"b"), 1)
	start := time.Now()
	if _, ok := tree.Match(strings.Repeat("a/", 400)); ok {
		t.Error("matches")
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("took %v", d)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a/*/#", "a.b.c")
	f.Add("#/a/#/b", "x/a/y/b")
	f.Add("a//", "//a")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(text) > 40 || len(pattern) > 40 {
			return // the twin is slow
		}
		p, err := ParsePattern(pattern)
		if err != nil {
			return
		}
		if again, err := ParsePattern(p.String()); err != nil || again != p {
			t.Fatalf("%q: normal form %q is not one: %q, %v", pattern, p, again, err)
		}
		var tree Tree[bool]
		tree.Insert(p, true)
		var tokens []string
		if trimmed := trimSeparators(text); trimmed != "" {
			for more := true; more; {
				var token string
				token, trimmed, more = cutToken(trimmed)
				tokens = append(tokens, token)
			}
		}
		got, _ := tree.Match(text)
		if want := matches(strings.Split(p.String(), "/"), tokens); got != want {
			t.Fatalf("%q matches %q: %v, want %v", p, text, got, want)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	for _, size := range []int{1, 100, 10000} {
		var tree Tree[int]
		for i := range size {
			tree.Insert(mustPattern(b, fmt.Sprintf("site/%d/#", i)), i)
		}
		tree.Insert(mustPattern(b, "#"), -1)
		b.Run(fmt.Sprintf("patterns=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tree.Match("site.0.orders.eu")
			}
		})
	}
}
