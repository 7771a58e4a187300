package config

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// parseJSON parses the .json syntax: a list of [section, {attributes}]. Besides
// JSON it takes what Qpid Dispatch takes: comments that begin with "#", and
// commas before a closing bracket.
func parseJSON(src *source, r *reporter) []section {
	j := jsonParser{src: src, report: r, end: len(src.text)}
	v, ok := j.value(0)
	if !ok {
		return nil
	}
	j.space()
	if j.next < j.end {
		r.mistake(src.at(j.next), "the end of the file", "", "text after the list of entities")
		return nil
	}
	return sectionsOf(v, r)
}

// sectionsOf makes sections of the forms that JSON and YAML have in common:
//
//	[[section, {attributes}], …]
//	[{section: {attributes}}, …]
//	{section: {attributes}, section: [{attributes}, …]}
func sectionsOf(v value, r *reporter) []section {
	const expected = "[NAME, {ATTRIBUTES}]"
	var sections []section
	switch v.kind {
	case mapValue:
		for _, a := range v.attrs {
			sections = namedSections(sections, a.name, a.pos, a.value, r)
		}
	case listValue:
		for _, item := range v.items {
			switch {
			case item.kind == listValue && len(item.items) == 2 && item.items[0].kind == textValue:
				sections = namedSections(sections, item.items[0].text, item.items[0].pos, item.items[1], r)
			case item.kind == mapValue && len(item.attrs) == 1:
				a := item.attrs[0]
				sections = namedSections(sections, a.name, a.pos, a.value, r)
			default:
				r.mistake(item.pos, expected, "", "%s is no entity", item.kind)
			}
		}
	case nullValue: // a file of comments
	default:
		r.mistake(v.pos, "a list of "+expected+", or a map from NAME to attributes", "", "%s is no configuration", v.kind)
	}
	return sections
}

func namedSections(to []section, name string, pos Position, v value, r *reporter) []section {
	switch v.kind {
	case mapValue:
		return append(to, section{name: name, pos: pos, attrs: v.attrs})
	case nullValue:
		return append(to, section{name: name, pos: pos})
	case listValue:
		if len(v.items) == 0 {
			return append(to, section{name: name, pos: pos, none: true})
		}
		for _, item := range v.items {
			switch item.kind {
			case mapValue:
				to = append(to, section{name: name, pos: item.pos, attrs: item.attrs})
			default:
				r.mistake(item.pos, "a map of attributes", "", "%s in the list of %s", item.kind, name)
			}
		}
		return to
	}
	r.mistake(v.pos, "a map of attributes", "", "%s has %s", name, v.kind)
	return to
}

// maxDepth is how deep values may be nested. The deepest valid one has four
// levels; the rest keeps a hostile file from exhausting the stack.
const maxDepth = 64

// jsonParser parses JSON in src.text[next:end] and keeps positions. It is not
// encoding/json, because that has no positions of values and none of the
// leniencies.
type jsonParser struct {
	src    *source
	report *reporter
	next   int
	end    int
}

// fail reports a syntax error at the next byte.
func (j *jsonParser) fail(expected string) bool {
	found := "the end of the text"
	if j.next < j.end {
		_, size := utf8.DecodeRuneInString(j.src.text[j.next:j.end])
		found = quoted(j.src.text[j.next : j.next+size])
	}
	switch found {
	case `"/"`:
		expected = "comments to begin with #, and " + expected
	case `"'"`:
		expected += ": single quotes are none in JSON"
	}
	j.report.mistake(j.src.at(j.next), expected, "", "%s is not valid here", found)
	return false
}

// space skips blanks and comments.
func (j *jsonParser) space() {
	for j.next < j.end {
		switch b := j.src.text[j.next]; {
		case b == '\n' || isBlank(b):
			j.next++
		case b == '#':
			for j.next < j.end && j.src.text[j.next] != '\n' {
				j.next++
			}
		default:
			return
		}
	}
}

// take skips blanks and then b, if that is next.
func (j *jsonParser) take(b byte) bool {
	j.space()
	if j.next < j.end && j.src.text[j.next] == b {
		j.next++
		return true
	}
	return false
}

func (j *jsonParser) value(depth int) (value, bool) {
	j.space()
	v := value{pos: j.src.at(j.next)}
	if depth > maxDepth {
		j.report.mistake(v.pos, "lists of maps of values", "", "values are nested too deeply")
		return v, false
	}
	rest := j.src.text[j.next:j.end]
	switch {
	case rest == "":
		return v, j.fail("a value")
	case rest[0] == '{':
		return j.mapValue(v, depth)
	case rest[0] == '[':
		return j.listValue(v, depth)
	case rest[0] == '"':
		text, ok := j.str()
		v.kind, v.text = textValue, text
		return v, ok
	case rest[0] == '-' || rest[0] >= '0' && rest[0] <= '9':
		n := 1
		for n < len(rest) && strings.IndexByte("+-.eE0123456789", rest[n]) >= 0 {
			n++
		}
		v.kind, v.text = numberValue, rest[:n]
		if _, err := strconv.ParseFloat(v.text, 64); err != nil && !isRange(err) {
			return v, j.fail("a number")
		}
		j.next += n
		return v, true
	}
	for word, kind := range map[string]valueKind{"true": booleanValue, "false": booleanValue, "null": nullValue} {
		if found, _ := cutWord(rest); found == word {
			j.next += len(word)
			v.kind, v.text = kind, word
			return v, true
		}
	}
	return v, j.fail("a value: text in double quotes, a number, true, false, a list or a map")
}

func isRange(err error) bool {
	e, ok := err.(*strconv.NumError)
	return ok && e.Err == strconv.ErrRange
}

func (j *jsonParser) mapValue(v value, depth int) (value, bool) {
	v.kind = mapValue
	j.next++ // {
	for !j.take('}') {
		if len(v.attrs) > 0 {
			if !j.take(',') {
				return v, j.fail(`"," or "}"`)
			}
			if j.take('}') {
				break
			}
		}
		j.space()
		if j.next >= j.end || j.src.text[j.next] != '"' {
			return v, j.fail("a name in double quotes")
		}
		a := attr{pos: j.src.at(j.next)}
		var ok bool
		if a.name, ok = j.str(); !ok {
			return v, false
		}
		if !j.take(':') {
			return v, j.fail(`":"`)
		}
		if a.value, ok = j.value(depth + 1); !ok {
			return v, false
		}
		v.attrs = append(v.attrs, a)
	}
	return v, true
}

func (j *jsonParser) listValue(v value, depth int) (value, bool) {
	v.kind = listValue
	j.next++ // [
	for !j.take(']') {
		if len(v.items) > 0 {
			if !j.take(',') {
				return v, j.fail(`"," or "]"`)
			}
			if j.take(']') {
				break
			}
		}
		item, ok := j.value(depth + 1)
		if !ok {
			return v, false
		}
		v.items = append(v.items, item)
	}
	return v, true
}

// str parses a text in double quotes.
func (j *jsonParser) str() (string, bool) {
	open := j.next
	j.next++
	var b strings.Builder
	for j.next < j.end {
		switch c := j.src.text[j.next]; {
		case c == '"':
			j.next++
			return b.String(), true
		case c == '\n':
			j.report.mistake(j.src.at(open), `a closing " on the same line`, "", "text is not closed")
			return "", false
		case c == '\\':
			s, size := jsonEscape(j.src.text[j.next:j.end])
			if size == 0 {
				bad := escapeAt(j.src.text[:j.end], j.next)
				j.report.mistake(j.src.at(j.next), `\\ for a backslash`, "", "%s is no escape sequence", quoted(bad))
				return "", false
			}
			b.WriteString(s)
			j.next += size
		default:
			b.WriteByte(c)
			j.next++
		}
	}
	j.report.mistake(j.src.at(open), `a closing " on the same line`, "", "text is not closed")
	return "", false
}

// jsonEscape returns what the escape sequence at the start of text means, and
// its length, which is 0 if there is no such sequence.
func jsonEscape(text string) (meaning string, size int) {
	if len(text) < 2 {
		return "", 0
	}
	switch text[1] {
	case '"', '\\', '/':
		return text[1:2], 2
	case 'b':
		return "\b", 2
	case 'f':
		return "\f", 2
	case 'n':
		return "\n", 2
	case 'r':
		return "\r", 2
	case 't':
		return "\t", 2
	case 'u':
		r, ok := hex4(text[2:])
		if !ok {
			return "", 0
		}
		if utf16.IsSurrogate(r) {
			if rest := text[6:]; strings.HasPrefix(rest, `\u`) {
				if second, ok := hex4(rest[2:]); ok {
					if pair := utf16.DecodeRune(r, second); pair != utf8.RuneError {
						return string(pair), 12
					}
				}
			}
		}
		return string(r), 6
	}
	return "", 0
}

func hex4(text string) (rune, bool) {
	if len(text) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(text[:4], 16, 16)
	return rune(n), err == nil
}

// parseInteger parses a base-10 integer. A number with a fraction of zero, as
// some tools write, is an integer too.
func parseInteger(text string) (int64, bool) {
	text = strings.TrimSpace(text)
	if whole, fraction, ok := strings.Cut(text, "."); ok && strings.Trim(fraction, "0") == "" && fraction != "" {
		text = whole
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
