package config

import (
	"fmt"
	"math"
	"strings"

	"sluice/router/control/schema"
)

// entity is a section whose names and values the schema has accepted.
type entity struct {
	schema *schema.Entity
	pos    Position
	given  map[string]*given // by current name
}

// given is an attribute that the file gives.
type given struct {
	attr  *schema.Attribute
	pos   Position // of the name
	value value
	bad   bool // a mistake was reported; reading it gives the default

	text string
	num  int64
	yes  bool
}

// checkSection checks a section against the schema. The result is nil if there
// is no such entity.
func checkSection(s section, r *reporter) *entity {
	e := schema.ByFileName(s.name)
	if e == nil {
		e = schema.ByFileName(schema.CamelCase(s.name))
	}
	if e == nil {
		if op := schema.ByName(s.name); op != nil && op.Kind == schema.Operational {
			r.mistake(s.pos, "one of "+strings.Join(schema.FileNames(), ", "), "", "%s cannot be configured: the router makes such entities itself", s.name)
			return nil
		}
		if e = unknownSection(s, r); e == nil {
			return nil
		}
	}
	if s.none {
		return nil
	}
	ent := &entity{schema: e, pos: s.pos, given: map[string]*given{}}
	checkAttributes(ent, e, s.attrs, r)
	switch e.Support {
	case schema.Later:
		r.noEffect(s.pos, e.FileName(), policyMeaning(ent))
	case schema.Never:
		r.warn(s.pos, "%s has no effect. %s", e.FileName(), e.Doc)
	}
	return ent
}

func checkAttributes(ent *entity, e *schema.Entity, attrs []attr, r *reporter) {
	spelled := map[string]attr{} // by current name, as the file spells it
	for _, a := range attrs {
		sa := e.Attribute(a.name)
		if sa == nil {
			sa = e.Attribute(schema.CamelCase(a.name))
		}
		switch {
		case sa == nil:
			unknownAttribute(a, e, r)
			continue
		case sa.Name == "identity" || sa.Name == "type":
			r.mistake(a.pos, "no "+sa.Name, "", "%s cannot be given: the router makes it", sa.Name)
			continue
		case !sa.Settable():
			r.warn(a.pos, "%s of %s is read-only: it has no effect here", sa.Name, e.FileName())
			continue
		}
		if other, twice := spelled[sa.Name]; twice {
			if schema.CamelCase(other.name) != schema.CamelCase(a.name) {
				r.mistake(a.pos, "one of them", "", "both %s (line %d) and %s are given; they are the same attribute",
					other.name, other.pos.Line, a.name)
				continue
			}
			r.warn(a.pos, "%s was already given on line %d; this one counts", sa.Name, other.pos.Line)
		}
		spelled[sa.Name] = a
		if isOldName(sa, a.name) {
			r.warn(a.pos, "attribute %s of %s is deprecated; use %s instead", a.name, e.FileName(), sa.Name)
		}
		g := &given{attr: sa, pos: a.pos, value: a.value}
		if a.value.kind == nullValue { // the same as not given
			delete(ent.given, sa.Name)
			continue
		}
		g.bad = !g.parse(r)
		ent.given[sa.Name] = g
		if !g.bad {
			g.warnNoEffect(e.FileName(), r)
		}
	}
	for _, a := range e.Attributes {
		// The type is required of every entity, but it is the section's name.
		if a.Required && a.Name != "type" && ent.given[a.Name] == nil {
			r.mistake(ent.pos, a.Name+": "+placeholder(a), "", "%s lacks the required attribute %s", e.FileName(), a.Name)
		}
	}
}

func isOldName(a *schema.Attribute, name string) bool {
	camel := schema.CamelCase(name)
	for _, old := range a.OldNames {
		if old == name || old == camel {
			return true
		}
	}
	return false
}

// placeholder stands for a value of a in a message.
func placeholder(a *schema.Attribute) string {
	if a.Type == schema.Enum {
		return strings.Join(a.Enum, " | ")
	}
	return strings.ToUpper(string(a.Type))
}

// parse turns the value into what the attribute's type demands. It reports a
// mistake and false if that cannot be done.
func (g *given) parse(r *reporter) bool {
	a, v := g.attr, g.value
	name := a.Name
	if a.Type == schema.Map || a.Type == schema.Properties {
		if v.kind != mapValue {
			r.mistake(v.pos, "a map: {NAME: VALUE, …}", "", "%s is %s", name, v.kind)
			return false
		}
		return a.Type == schema.Map || g.checkProperties(r)
	}
	if v.kind == mapValue || v.kind == listValue && a.Type != schema.List {
		r.mistake(v.pos, typeWords(a), "", "%s is %s", name, v.kind)
		return false
	}
	g.text = v.text
	switch a.Type {
	case schema.Integer:
		n, ok := parseInteger(v.text)
		if !ok {
			r.mistake(v.pos, notReplaced(typeWords(a), v.text), "", "%s of %s is no integer", quoted(v.text), name)
			return false
		}
		return g.inRange(n, r)
	case schema.Bytes:
		n, err := schema.ParseBytes(v.text)
		if err != nil {
			r.mistake(v.pos, typeWords(a), "", "%s of %s", err, name)
			return false
		}
		return g.inRange(n, r)
	case schema.Boolean:
		yes, ok := schema.ParseBoolean(v.text)
		if n, isInt := parseInteger(v.text); v.kind == numberValue && isInt {
			yes, ok = n != 0, true
		}
		if !ok {
			near := schema.Nearest(v.text, []string{"yes", "no", "true", "false", "on", "off"})
			if schema.Distance(v.text, near) > 1 {
				near = ""
			}
			r.mistake(v.pos, notReplaced("yes or no", v.text), near, "%s of %s is no boolean", quoted(v.text), name)
			return false
		}
		g.yes = yes
	case schema.Enum:
		return g.parseEnum(r)
	}
	return true
}

func (g *given) parseEnum(r *reporter) bool {
	v := g.value
	// YAML and JSON tools write the tag "no" as false.
	if v.kind == booleanValue && v.text == "false" {
		g.text = "no"
	}
	for _, tag := range g.attr.Enum {
		if tag == g.text {
			return true
		}
	}
	if n, ok := parseInteger(v.text); ok && n >= 0 && n < int64(len(g.attr.Enum)) {
		g.text = g.attr.Enum[n]
		return true
	}
	r.mistake(v.pos, "one of "+strings.Join(g.attr.Enum, ", "), schema.Nearest(v.text, g.attr.Enum),
		"%s is no valid %s", quoted(v.text), g.attr.Name)
	return false
}

func (g *given) inRange(n int64, r *reporter) bool {
	if n < g.attr.Min || n > g.attr.Max {
		r.mistake(g.value.pos, typeWords(g.attr), "", "%s of %s is out of range", quoted(g.value.text), g.attr.Name)
		return false
	}
	g.num = n
	return true
}

// typeWords says what values an attribute takes.
func typeWords(a *schema.Attribute) string {
	switch a.Type {
	case schema.Integer:
		words := "an integer" + rangeWords(a, func(n int64) string { return fmt.Sprint(n) })
		if strings.HasSuffix(a.Name, "Seconds") {
			words += ", in seconds and without a unit"
		}
		return words
	case schema.Bytes:
		return "bytes, such as 65536, 64Ki or 1Gi," + rangeWords(a, schema.FormatBytes)
	case schema.Boolean:
		return "yes or no"
	case schema.Enum:
		return "one of " + strings.Join(a.Enum, ", ")
	case schema.List:
		return "a list"
	}
	return "text"
}

func rangeWords(a *schema.Attribute, format func(int64) string) string {
	switch {
	case a.Min != math.MinInt64 && a.Max != math.MaxInt64:
		return fmt.Sprintf(" from %s to %s", format(a.Min), format(a.Max))
	case a.Min != math.MinInt64:
		return fmt.Sprintf(" of at least %s", format(a.Min))
	}
	return ""
}

// checkProperties checks the keys of a map of AMQP properties.
func (g *given) checkProperties(r *reporter) bool {
	ok := true
	for _, p := range g.value.attrs {
		for i := 0; i < len(p.name); i++ {
			if p.name[i] >= 0x80 {
				r.mistake(p.pos, "ASCII characters", "", "key %s of %s", quoted(p.name), g.attr.Name)
				ok = false
				break
			}
		}
		if reservedProperty(p.name) {
			r.mistake(p.pos, "another key", "", "key %s of %s is reserved for the router", quoted(p.name), g.attr.Name)
			ok = false
		}
	}
	return ok
}

// reservedProperty reports whether the router itself gives the property of the
// open frame a meaning.
func reservedProperty(key string) bool {
	switch key {
	case "product", "version", "failover-server-list", "network-host", "port", "scheme", "hostname":
		return true
	}
	return strings.HasPrefix(key, "qd.") || strings.HasPrefix(key, "x-opt-qd.")
}

// warnNoEffect warns of an attribute that is set to something other than its
// default but has no effect.
func (g *given) warnNoEffect(section string, r *reporter) {
	if g.isDefault() {
		return
	}
	switch g.attr.Support {
	case schema.Later:
		r.noEffect(g.pos, section+"."+g.attr.Name, "")
	case schema.Never:
		r.warn(g.pos, "%s has no effect: %s", g.attr.Name, g.attr.Doc)
	}
}

// isDefault reports whether the value is the same as none at all.
func (g *given) isDefault() bool {
	switch g.attr.Type {
	case schema.Boolean:
		yes, _ := schema.ParseBoolean(g.attr.Default)
		return g.yes == yes
	case schema.Integer, schema.Bytes:
		n, err := schema.ParseBytes(g.attr.Default)
		return err == nil && n == g.num
	case schema.Map, schema.Properties:
		return len(g.value.attrs) == 0
	}
	return g.text == g.attr.Default
}

// The getters return the value of an attribute, or its default. They panic for
// attributes that the schema lacks, which is a bug that any test finds.

func (e *entity) attr(name string) *schema.Attribute {
	a := e.schema.Attribute(name)
	if a == nil {
		panic("BUG: the schema has no " + e.schema.Name + "." + name)
	}
	return a
}

// get returns the attribute if it was given and is good.
func (e *entity) get(name string) *given {
	e.attr(name)
	if g := e.given[name]; g != nil && !g.bad {
		return g
	}
	return nil
}

// posOf returns where the value of an attribute stands, or the entity if it
// was not given.
func (e *entity) posOf(name string) Position {
	if g := e.given[name]; g != nil {
		return g.value.pos
	}
	return e.pos
}

func (e *entity) text(name string) string {
	if g := e.get(name); g != nil {
		return g.text
	}
	return e.attr(name).Default
}

func (e *entity) yes(name string) bool {
	if g := e.get(name); g != nil {
		return g.yes
	}
	yes, _ := schema.ParseBoolean(e.attr(name).Default)
	return yes
}

// num returns an integer or a number of bytes; otherwise is the value if the
// attribute has no default.
func (e *entity) num(name string, otherwise int64) int64 {
	if g := e.get(name); g != nil {
		return g.num
	}
	if a := e.attr(name); a.HasDefault {
		n, err := schema.ParseBytes(a.Default)
		if err != nil {
			panic("BUG: the schema's default of " + name + ": " + err.Error())
		}
		return n
	}
	return otherwise
}
