package config

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sluice/router/control/schema"
)

// What people write who know other programs, other releases, or another syntax,
// and what is to be told them.

// formerSections are sections of older releases, and what is there in their place.
var formerSections = map[string]string{
	"container": "router", "fixedAddress": "address", "fixed-address": "address",
	"linkRoutePattern": "linkRoute", "link-route-pattern": "linkRoute", "waypoint": "autoLink",
}

// formerAttributes are attributes of older releases, behind their section, and
// what is there in their place.
var formerAttributes = map[string]string{
	"listener.addr": "host", "connector.addr": "host", "listener.address": "host", "connector.address": "host",
	"router.routerId": "id", "router.containerName": "id", "router.name": "id",
	"address.fanout": "distribution: multicast", "address.bias": "distribution: closest, or balanced",
	"listener.certDb": "sslProfile", "listener.certFile": "sslProfile", "listener.keyFile": "sslProfile", "listener.privateKeyFile": "sslProfile",
	"connector.certDb": "sslProfile", "connector.certFile": "sslProfile", "connector.keyFile": "sslProfile", "connector.privateKeyFile": "sslProfile",
	"listener.allowNoSasl": "authenticatePeer", "listener.requirePeerAuth": "authenticatePeer",
}

// unknownSection reports a section that there is not. If its name is only
// misspelled, the section that was meant is returned.
func unknownSection(s section, r *reporter) *schema.Entity {
	known := schema.FileNames()
	near := schema.Nearest(s.name, known)
	if former := formerSections[s.name]; former != "" {
		near = former
	}
	r.mistake(s.pos, "one of "+strings.Join(known, ", "), near, "unknown section %s", quoted(s.name))
	if near != "" && schema.Distance(s.name, near) <= 2 {
		return schema.ByFileName(near)
	}
	return nil
}

// unknownAttribute reports an attribute that a section does not have.
func unknownAttribute(a attr, e *schema.Entity, r *reporter) {
	known := e.Settable()
	expected, near := "one of "+strings.Join(known, ", "), schema.Nearest(a.name, known)
	if former := formerAttributes[e.FileName()+"."+schema.CamelCase(a.name)]; former != "" {
		near = former
	} else if owners := ownersOf(a.name); owners != nil && (near == "" || schema.Distance(a.name, near) > 1) {
		expected, near = "it in "+either(owners), ""
	}
	r.mistake(a.pos, expected, near, "unknown attribute %s of %s", quoted(a.name), e.FileName())
}

// ownersOf are the sections that have an attribute with a name.
func ownersOf(name string) (owners []string) {
	for _, section := range schema.FileNames() {
		if a := schema.ByFileName(section).Attribute(name); a != nil && a.Settable() {
			owners = append(owners, section)
		}
	}
	return owners
}

func either(list []string) string {
	if len(list) > 1 {
		return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
	}
	return list[0]
}

// A syntax is one of those that files may have.
type syntax string

const (
	confSyntax syntax = ".conf"
	yamlSyntax syntax = ".yaml"
	jsonSyntax syntax = ".json"
)

var (
	likeConf = regexp.MustCompile(`^[\w-]+\s*\{`)
	likeYAML = regexp.MustCompile(`^(---|- [\[{\w]|[\w.-]+:\s*(\{.*|#.*)?$)`)
	likeJSON = regexp.MustCompile(`^(\{\s*("|#|$)|\[\s*([\[{#]|$))`)
)

// looks is the syntax that the first line of a text has that says something, and
// its offset; empty if it may be any.
func looks(text string) (syntax, int) {
	for at := 0; at < len(text); {
		line := text[at:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		switch t := strings.TrimSpace(line); {
		case t == "" || t[0] == '#':
		case likeConf.MatchString(t):
			return confSyntax, at
		case likeJSON.MatchString(t):
			return jsonSyntax, at
		case likeYAML.MatchString(t):
			return yamlSyntax, at
		default:
			return "", at
		}
		at += len(line) + 1
	}
	return "", 0
}

// syntaxOf is the syntax of a text: that which the file's name says, or that which
// it obviously has, and then the name is a mistake. YAML may be JSON.
func syntaxOf(src *source, named syntax, r *reporter) syntax {
	is, at := looks(src.text)
	if is == "" || is == named || named == yamlSyntax && is == jsonSyntax {
		return named
	}
	what := map[syntax]string{confSyntax: "in the syntax of qdrouterd.conf", yamlSyntax: "in YAML", jsonSyntax: "in JSON"}[is]
	r.mistake(src.at(at), "a file name that ends in "+string(is), "", "the file is %s, and its name does not end so", what)
	return is
}

// yamlHints are what helps with messages of the YAML parser.
var yamlHints = []struct{ part, expected string }{
	{"'\t'", "blanks to indent with: YAML takes no tabs"},
	{"mapping value is not allowed", "quotes around a value that has a colon and a blank in it"},
	{"value is not allowed in this context", "lines of one section to be indented alike"},
	{"could not find end character", "a closing quote"},
	{"sequence", "- before each entry of a list, indented alike"},
}

func yamlHint(message string) string {
	for _, h := range yamlHints {
		if strings.Contains(message, h.part) {
			return h.expected
		}
	}
	return "valid YAML: NAME: VALUE lines, those of one section indented alike"
}

// badLines are what lines begin with that belong to other syntaxes.
var badLines = []struct {
	like     *regexp.Regexp
	expected string
}{
	{regexp.MustCompile(`^(//|;|/\*|\*/|\*|--|%|')`), "comments to begin with #"},
	{regexp.MustCompile(`^<`), "sections and attributes: name {, name: value and }"},
}

// iniSection is the head of a section in other programs.
var iniSection = regexp.MustCompile(`^\[\s*([\w-]+)\s*\]$`)

// lineHint says what a line should be that is understood in no way.
func lineHint(line string) string {
	if m := iniSection.FindStringSubmatch(line); m != nil {
		return m[1] + " {, and } behind its attributes"
	}
	for _, b := range badLines {
		if b.like.MatchString(line) {
			return b.expected
		}
	}
	return "name: value, name { or }"
}

// warnOfPunctuation warns of what is meant as punctuation and is part of a value.
func (r *reporter) warnOfPunctuation(pos Position, name, text string) {
	switch n := len(text); {
	case n >= 2 && text[0] == '\'' && text[n-1] == '\'':
		r.warn(pos, "the single quotes are part of %s %s; double quotes would not be", name, text)
	case strings.HasSuffix(text, ";"):
		r.warn(pos, "the ; is part of %s %s; a line ends without it", name, text)
	}
}

var variable = regexp.MustCompile(`\$\{?\w+\}?|%\w+%|\{\{.*\}\}`)

// notReplaced adds to what is expected that variables are none here.
func notReplaced(expected, text string) string {
	if v := variable.FindString(text); v != "" {
		return expected + "; " + v + " is not replaced by anything"
	}
	return expected
}

// apart says how host and port are given one by one, if text has both.
func apart(text string) string {
	const plain = "a host name or IP address; the port is an attribute of its own"
	rest := text
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		rest = u.Host
	}
	host, port, err := net.SplitHostPort(rest)
	switch {
	case err == nil && host != "" && port != "":
		return "host: " + host + " and, in a line of its own, port: " + port
	case rest != text && !strings.Contains(rest, ":"):
		return "host: " + rest
	}
	return plain
}

// fileExpected says what helps with a file that cannot be read.
func fileExpected(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return "the path of a file that this user may read"
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "the working directory"
	}
	return "the path of a file that this user may read; it is looked for in " + dir
}

// profileExpected are what is expected of attributes of an sslProfile.
var profileExpected = map[string]string{
	"ciphers":  "names that OpenSSL has for cipher suites or groups of them, such as HIGH:!aNULL or ECDHE-RSA-AES256-GCM-SHA384",
	"password": passwordExpected,
}

const passwordExpected = "env:NAME of a variable that is set, file:PATH of a file with the password, or pass:TEXT"

// expectedOf says what helps with a mistake in an attribute of an sslProfile.
func expectedOf(e *entity, attribute string, err error) string {
	if strings.Contains(err.Error(), "expected ") {
		return "" // it says so
	}
	if expected := profileExpected[attribute]; expected != "" {
		return expected
	}
	if slices.Contains([]string{"caCertFile", "certFile", "privateKeyFile", "uidNameMappingFile"}, attribute) {
		if os.IsNotExist(unwrapped(err)) || os.IsPermission(unwrapped(err)) {
			return fileExpected(e.text(attribute))
		}
		return map[string]string{
			"caCertFile":         "certificates of authorities in PEM form",
			"certFile":           "a certificate in PEM form, with those of its chain behind it, and its key in privateKeyFile",
			"privateKeyFile":     "the key of certFile in PEM form, and its password if it has one",
			"uidNameMappingFile": `JSON such as {"C=US,CN=a": "alice"}`,
		}[attribute]
	}
	return ""
}

// unwrapped is the innermost error.
func unwrapped(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		inner := u.Unwrap()
		if inner == nil {
			return err
		}
		err = inner
	}
}
