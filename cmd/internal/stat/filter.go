package stat

import (
	"path"
	"strings"
)

// A filter chooses by name. The zero filter chooses all.
type filter struct {
	pattern string
	match   func(name string) bool
}

// newFilter returns the filter for a pattern: a part of the name in letters of
// any case, or, with * or ?, the whole name.
func newFilter(pattern string) filter {
	f := filter{pattern: pattern}
	lower := strings.ToLower(pattern)
	if !strings.ContainsAny(pattern, "*?") {
		f.match = func(name string) bool { return strings.Contains(strings.ToLower(name), lower) }
		return f
	}
	lower = literal.Replace(lower)
	f.match = func(name string) bool {
		// What separates the levels of an address is as any other letter.
		ok, _ := path.Match(lower, strings.ReplaceAll(strings.ToLower(name), "/", "\x00"))
		return ok
	}
	return f
}

// literal quotes what path.Match would see more in.
var literal = strings.NewReplacer("/", "\x00", "[", `\[`, `\`, `\\`)

// keeps tells whether one of the names of a record is looked for. Keys of the
// address table count without their first letters, too. Names of links are
// chance: they count only as a whole.
func (f filter) keeps(r *Record, names []string) bool {
	if f.match == nil {
		return true
	}
	for _, name := range names {
		switch s := r.text(name); name {
		case "linkName":
			if s == f.pattern {
				return true
			}
		case "key", "owningAddr":
			if s != "" && (f.match(s) || f.match(split(s).address)) {
				return true
			}
		default:
			if s != "" && f.match(s) {
				return true
			}
		}
	}
	return false
}
