package stat

import (
	"path"
	"strings"
)

// A filter tells whether a name is one that is looked for.
type filter func(name string) bool

// newFilter returns the filter for a pattern: a part of the name in letters of
// any case, or, with * or ?, the whole name.
func newFilter(pattern string) filter {
	pattern = strings.ToLower(pattern)
	if !strings.ContainsAny(pattern, "*?") {
		return func(name string) bool { return strings.Contains(strings.ToLower(name), pattern) }
	}
	pattern = literal.Replace(pattern)
	return func(name string) bool {
		// What separates the levels of an address is as any other letter.
		ok, _ := path.Match(pattern, strings.ReplaceAll(strings.ToLower(name), "/", "\x00"))
		return ok
	}
}

// literal quotes what path.Match would see more in.
var literal = strings.NewReplacer("/", "\x00", "[", `\[`, `\`, `\\`)

// keeps tells whether one of the names of a record is looked for. Keys of the
// address table count without their first letters, too.
func (f filter) keeps(r *Record, names []string) bool {
	if f == nil {
		return true
	}
	for _, name := range names {
		s := r.text(name)
		if s != "" && (f(s) || (name == "key" || name == "owningAddr") && f(split(s).address)) {
			return true
		}
	}
	return false
}
