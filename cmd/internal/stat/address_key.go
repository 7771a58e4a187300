package stat

import "strings"

// classes are the words for the letter that a key of the address table begins
// with.
var classes = map[byte]string{
	'M': "mobile", 'L': "local", 'T': "topo", 'R': "router", 'A': "area", 'H': "edge",
	'C': "link-in", 'D': "link-out", 'E': "link-in", 'F': "link-out",
}

// A key is one of the address table, taken apart.
type key struct{ class, phase, address string }

// split takes a key apart. Links that are tied to another have an address that is
// no key.
func split(s string) key {
	if s == "" {
		return key{}
	}
	class, ok := classes[s[0]]
	switch {
	case !ok:
		return key{address: s}
	case s[0] == 'M' && len(s) > 1 && '0' <= s[1] && s[1] <= '9':
		return key{class, s[1:2], s[2:]}
	}
	return key{class, "", s[1:]}
}

// keyColumns are those that a key is shown in.
func keyColumns(attribute string) []Column {
	part := func(title string, choose func(key) string) Column {
		return made(text, title, func(r *Record) any { return words(choose(split(r.text(attribute)))) }, attribute)
	}
	return []Column{
		part("class", func(k key) string { return k.class }).rank(4),
		part("addr", func(k key) string { return strings.TrimSpace(k.address) }).cut(16),
		part("phs", func(k key) string { return k.phase }).onlyWide(),
	}
}
