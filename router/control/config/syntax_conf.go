package config

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseConf parses the .conf syntax of Qpid Dispatch, which is a grammar of
// lines:
//
//	# comment
//	section {
//	    name: value       # the rest of the line, as text
//	    name: "value"     # sluice only: with the escapes of JSON
//	    name: {           # a map
//	        name: value
//	    }
//	}
//
// A value may not hold "#" unless it is quoted or its name is pattern,
// bindingKey or hostname. The maps groups and openProperties may be JSON. After
// a mistake parsing goes on with the next line.
func parseConf(src *source, r *reporter) []section {
	p := &confParser{src: src, report: r}
	p.parse()
	return p.sections
}

type confParser struct {
	src      *source
	report   *reporter
	sections []section

	open *section  // the section that lines belong to, or nil
	maps []openMap // the nested maps open in it, outermost first
	skip bool      // the section has no usable header: its lines are only parsed
}

type openMap struct {
	name  string
	pos   Position
	value value
}

func (p *confParser) parse() {
	for next := 0; next < len(p.src.text); {
		start := next
		end := strings.IndexByte(p.src.text[start:], '\n')
		if end < 0 {
			end, next = len(p.src.text), len(p.src.text)
		} else {
			end += start
			next = end + 1
		}
		// Blanks around a line do not count, a carriage return included.
		for start < end && isBlank(p.src.text[start]) {
			start++
		}
		for end > start && isBlank(p.src.text[end-1]) {
			end--
		}
		if start == end || p.src.text[start] == '#' {
			continue
		}
		if after := p.line(start, end); after > next {
			next = after
		}
	}
	p.finish()
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\f' || b == '\v' }

// line parses the line in text[start:end]. If the line begins something that
// is longer, it returns the offset after that.
func (p *confParser) line(start, end int) (after int) {
	text := p.src.text[start:end]
	name, rest := cutWord(text)
	if colon := strings.TrimLeft(rest, " \t"); strings.HasPrefix(colon, ":") && name != "" {
		valueText := strings.TrimLeft(colon[1:], " \t")
		return p.named(name, p.src.at(start), end-len(valueText), end)
	}
	text = cutComment(text)
	switch name, rest = cutWord(text); {
	case text == "":
	case text == "}" || text == "},":
		p.close(start)
	case name != "" && strings.TrimSpace(rest) == "{":
		p.section(name, p.src.at(start))
	case text[0] == '}': // and more behind it
		p.report.mistake(p.src.at(start), "} on a line of its own", "", "text after } is not understood")
		p.close(start)
		for start++; start < end && isBlank(p.src.text[start]); {
			start++
		}
		return p.line(start, end)
	default:
		p.badLine(start, name, rest)
	}
	return 0
}

// named parses "name: value", whose value begins at offset start.
func (p *confParser) named(name string, pos Position, start, end int) (after int) {
	text := p.src.text[start:end]
	switch {
	case strings.HasPrefix(text, `"`):
		return p.quotedValue(name, pos, start, end)
	case name == "pattern" || name == "bindingKey" || name == "hostname":
		// "#" is an ordinary character here; a value ends at a blank.
		if i := strings.IndexAny(text, " \t"); i >= 0 {
			text = text[:i]
		}
	default:
		text = cutComment(text)
	}
	switch {
	case text == "":
		p.report.mistake(pos, "a value, or \"\" for an empty one", "", "%s has no value", name)
		return 0
	case text == "{":
		if name == "groups" || name == "openProperties" {
			return p.jsonMap(name, pos, start)
		}
		p.openMap(name, pos, start)
		return 0
	case strings.HasPrefix(text, "{"):
		if name == "groups" || name == "openProperties" {
			return p.jsonMap(name, pos, start)
		}
		p.report.mistake(p.src.at(start), notReplaced("nothing after the brace; attributes follow one to a line", text), "",
			"text after { is not understood")
		if !strings.HasSuffix(text, "}") {
			p.openMap(name, pos, start)
		}
		return 0
	}
	p.report.warnOfPunctuation(p.src.at(start), name, text)
	plain, bad := unescape(text)
	if bad >= 0 {
		p.report.mistake(p.src.at(start+bad), `\\ for a backslash`, "", "%s is no escape sequence", quoted(escapeAt(text, bad)))
	}
	p.attribute(attr{name: name, pos: pos, value: value{kind: textValue, pos: p.src.at(start), text: plain}})
	return 0
}

// quotedValue parses a value in double quotes, which end on the same line.
func (p *confParser) quotedValue(name string, pos Position, start, end int) (after int) {
	j := jsonParser{src: p.src, report: p.report, next: start, end: end}
	v, ok := j.value(0)
	if !ok {
		return 0
	}
	if rest := strings.TrimSpace(cutComment(p.src.text[j.next:end])); rest != "" && rest != "," {
		p.report.mistake(p.src.at(j.next), "the end of the line after the closing quote", "",
			"%s after the value of %s", quoted(rest), name)
	}
	p.attribute(attr{name: name, pos: pos, value: v})
	return 0
}

// attribute adds a to the innermost open map, or to the section.
func (p *confParser) attribute(a attr) {
	switch {
	case len(p.maps) > 0:
		m := &p.maps[len(p.maps)-1]
		m.value.attrs = append(m.value.attrs, a)
	case p.open != nil:
		p.open.attrs = append(p.open.attrs, a)
	case !p.skip:
		p.report.mistake(a.pos, "a section around it, such as: router {", "", "attribute %s is outside of any section", a.name)
	}
}

func (p *confParser) section(name string, pos Position) {
	if p.open != nil || p.skip {
		p.notClosed(pos)
	}
	p.skip = false
	p.open = &section{name: name, pos: pos}
}

func (p *confParser) openMap(name string, pos Position, start int) {
	p.maps = append(p.maps, openMap{name, pos, value{kind: mapValue, pos: p.src.at(start)}})
}

// close handles a line that is a closing brace.
func (p *confParser) close(start int) {
	switch {
	case len(p.maps) > 0:
		m := p.maps[len(p.maps)-1]
		p.maps = p.maps[:len(p.maps)-1]
		p.attribute(attr{name: m.name, pos: m.pos, value: m.value})
	case p.open != nil:
		p.sections = append(p.sections, *p.open)
		p.open = nil
	case p.skip:
		p.skip = false
	default:
		p.report.mistake(p.src.at(start), "one } for each {", "", "} closes nothing")
	}
}

// notClosed reports that what is open should have been closed before pos, and
// closes it.
func (p *confParser) notClosed(pos Position) {
	what, begun := "", Position{}
	if p.open != nil {
		what, begun = p.open.name, p.open.pos
	}
	if len(p.maps) > 0 {
		m := p.maps[len(p.maps)-1]
		what, begun = m.name, m.pos
	}
	if what != "" {
		p.report.mistake(pos, "}", "", "%s, which began on line %d, is not closed", what, begun.Line)
	}
	for len(p.maps) > 0 {
		p.close(0)
	}
	if p.open != nil {
		p.close(0)
	}
	p.skip = false
}

func (p *confParser) finish() {
	if p.open != nil || len(p.maps) > 0 {
		p.notClosed(p.src.at(len(p.src.text)))
	}
}

// badLine reports a line of no known form, as helpfully as its looks allow.
func (p *confParser) badLine(start int, name, rest string) {
	pos := p.src.at(start)
	rest = strings.TrimSpace(rest)
	switch {
	case name == "" && strings.HasPrefix(p.src.text[start:], "{"):
		p.report.mistake(pos, "{ on the line of the section's name", "", "{ stands alone")
		p.reopen()
	case name != "" && strings.HasPrefix(rest, "{"):
		p.report.mistake(pos, "one attribute a line, and } on a line of its own", "", "text after { is not understood")
		p.section(name, pos)
		if strings.HasSuffix(rest, "}") {
			p.open = nil
		}
	case name == "include" && p.open == nil:
		p.report.mistake(pos, "several files on the command line, as in sluice run -c A.conf -c B.conf", "", "files cannot include others")
	case strings.HasPrefix(p.src.text[start:], "--"):
		p.report.mistake(pos, lineHint("--"), "", "line is not understood: %s", quoted(p.lineText(start)))
	case name != "" && rest == "":
		p.report.mistake(pos, name+": VALUE, or "+name+" {", "", "%s alone is not understood", quoted(name))
		if p.open == nil {
			p.skip = true // a "{" may follow
		}
	case name != "":
		p.report.mistake(pos, "a colon: "+name+": "+strings.TrimLeft(rest, "= "), "", "no colon after %s", quoted(name))
	default:
		p.report.mistake(pos, lineHint(strings.TrimSpace(p.lineText(start))), "", "line is not understood: %s", quoted(p.lineText(start)))
	}
}

// reopen handles a "{" on a line of its own: its attributes and its closing
// brace belong to a section that was reported already.
func (p *confParser) reopen() {
	if p.open == nil {
		p.skip = true
	}
}

func (p *confParser) lineText(start int) string {
	text := p.src.text[start:]
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i]
	}
	return text
}

// jsonMap parses the value of groups or openProperties, whose "{" is at offset
// start: JSON over several lines, or the form of older releases with unquoted
// names.
func (p *confParser) jsonMap(name string, pos Position, start int) (after int) {
	inside := p.src.text[start+1:]
	for {
		inside = strings.TrimLeft(inside, " \t\r\n\f\v")
		if !strings.HasPrefix(inside, "#") {
			break
		}
		if i := strings.IndexByte(inside, '\n'); i >= 0 {
			inside = inside[i:]
		} else {
			inside = ""
		}
	}
	if inside != "" && inside[0] != '"' && inside[0] != '}' {
		p.openMap(name, pos, start)
		return 0
	}
	j := jsonParser{src: p.src, report: p.report, next: start, end: len(p.src.text)}
	v, ok := j.value(0)
	if !ok {
		return p.afterBadJSON(j.next)
	}
	p.attribute(attr{name: name, pos: pos, value: v})
	end := strings.IndexByte(p.src.text[j.next:], '\n')
	if end < 0 {
		end = len(p.src.text)
	} else {
		end += j.next
	}
	rest := strings.TrimSpace(cutComment(strings.TrimSpace(p.src.text[j.next:end])))
	if rest == "}" { // "groups: {}}": be lenient with what follows on the line
		p.close(j.next)
	} else if rest != "" && rest != "," {
		p.report.mistake(p.src.at(j.next), "the end of the line after }", "", "%s after the value of %s", quoted(rest), name)
	}
	return end
}

// afterBadJSON returns where parsing goes on: after the next line that is a
// closing brace alone, which most likely ends the map.
func (p *confParser) afterBadJSON(from int) int {
	for from < len(p.src.text) {
		end := strings.IndexByte(p.src.text[from:], '\n')
		if end < 0 {
			break
		}
		line := strings.TrimSpace(p.src.text[from : from+end])
		from += end + 1
		if line == "}" {
			return from
		}
	}
	return len(p.src.text)
}

// cutWord splits text after the word that it begins with: letters, digits, "_"
// and "-". Maps may have names that begin with "$".
func cutWord(text string) (word, rest string) {
	i := 0
	for i < len(text) && text[i] == '$' {
		i++
	}
	for i < len(text) {
		c, size := utf8.DecodeRuneInString(text[i:])
		if c != '_' && c != '-' && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			break
		}
		i += size
	}
	return text[:i], text[i:]
}

// cutComment cuts text at the first "#".
func cutComment(text string) string {
	if i := strings.IndexByte(text, '#'); i >= 0 {
		text = text[:i]
	}
	return strings.TrimRight(text, " \t\r")
}

// unescape interprets a value as Qpid Dispatch does, which places it inside of
// a JSON string: a backslash begins an escape. bad is the offset of one that is
// not valid, or -1.
func unescape(text string) (plain string, bad int) {
	if !strings.Contains(text, `\`) {
		return text, -1
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			i++
			continue
		}
		s, size := jsonEscape(text[i:])
		if size == 0 {
			return text, i
		}
		b.WriteString(s)
		i += size
	}
	return b.String(), -1
}

// escapeAt returns the two characters at offset i.
func escapeAt(text string, i int) string {
	if i+1 >= len(text) {
		return text[i:]
	}
	_, size := utf8.DecodeRuneInString(text[i+1:])
	return text[i : i+1+size]
}
