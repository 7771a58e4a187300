package management

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/router/control/config"
	"sluice/router/control/logging"
	"sluice/router/control/schema"
)

// attributes are what a CREATE or UPDATE gives, by current name, with values as
// JSON has them.
type attributes map[string]any

// given reads the attributes of a request's body. Names and values are checked
// against the schema as far as that can be done one by one.
func given(e *schema.Entity, body encoding.Map) (attributes, error) {
	list := make(attributes, len(body))
	spelled := make(map[string]string)
	for _, m := range body {
		name, ok := text(m.Key)
		if !ok {
			return nil, badRequest("Keys of attributes must be strings")
		}
		a := e.Attribute(name)
		if a != nil && a.Type == schema.CoreOnly {
			a = current(e, name)
		}
		if a == nil {
			return nil, badRequest("Unknown attribute '%s' for '%s'%s", brief(name), e.FullName(), nearest(name, e))
		}
		if other, twice := spelled[a.Name]; twice {
			return nil, badRequest("Both '%s' and '%s' cannot be specified for entity '%s'", brief(other), brief(name), e.FileName())
		}
		spelled[a.Name] = name
		v, err := coerce(a, m.Value)
		if err != nil {
			return nil, err
		}
		list[a.Name] = v
	}
	return list, nil
}

// current returns the attribute that is meant by a name which only one of the two
// agents of the existing family has.
func current(e *schema.Entity, name string) *schema.Attribute {
	if e.Name == "router.config.address" && name == "fallback" {
		return e.Attribute("enableFallback")
	}
	return nil
}

func nearest(name string, e *schema.Entity) string {
	if s := schema.Nearest(name, e.Settable()); s != "" {
		return fmt.Sprintf("; did you mean '%s'?", s)
	}
	return ""
}

// coerce turns a value into what the attribute's type demands, as configuration
// files do.
func coerce(a *schema.Attribute, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	n, isNumber := encoding.Integer(v)
	s, isText := text(v)
	b, isBool := v.(bool)
	switch a.Type {
	case schema.Boolean:
		switch {
		case isBool:
			return b, nil
		case isNumber:
			return n != 0, nil
		case isText:
			if yes, ok := schema.ParseBoolean(s); ok {
				return yes, nil
			}
		}
		return nil, badRequest("Invalid Boolean value '%v'", brief(fmt.Sprint(v)))
	case schema.Integer, schema.Bytes:
		switch {
		case isNumber:
			return n, nil
		case isText && a.Type == schema.Bytes:
			return s, nil // config knows suffixes
		case isText:
			if n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64); err == nil {
				return n, nil
			}
		}
		return nil, badRequest("invalid literal for int() with base 10: '%s'", brief(fmt.Sprint(v)))
	case schema.Enum:
		if isBool {
			s, isText = map[bool]string{true: "yes", false: "no"}[b], true
		}
		if isNumber && n >= 0 && n < int64(len(a.Enum)) {
			return a.Enum[n], nil
		}
		for _, tag := range a.Enum {
			if isText && s == tag {
				return s, nil
			}
		}
		return nil, badRequest("Invalid value for enum%s: '%s'", quotedList(a.Enum), brief(fmt.Sprint(v)))
	case schema.Map, schema.Properties, schema.List:
		return plain(v)
	}
	switch {
	case isText:
		return s, nil
	case isNumber:
		return strconv.FormatInt(n, 10), nil
	case isBool:
		return strconv.FormatBool(b), nil
	}
	return nil, badRequest("'%s' must be a string", a.Name)
}

// plain turns a value into one that JSON has.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, float64, float32:
		return v, nil
	case amqp.Symbol:
		return string(v), nil
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			var err error
			if list[i], err = plain(e); err != nil {
				return nil, err
			}
		}
		return list, nil
	case encoding.Map:
		m := make(map[string]any, len(v))
		for _, e := range v {
			key, ok := text(e.Key)
			if !ok {
				return nil, badRequest("Property keys must be ASCII encoded")
			}
			p, err := plain(e.Value)
			if err != nil {
				return nil, err
			}
			m[key] = p
		}
		return m, nil
	}
	if n, ok := encoding.Integer(v); ok {
		return n, nil
	}
	return nil, badRequest("values of type %T cannot be configured", v)
}

// creatable refuses what may not be given when an entity is made, and takes name
// and type, which the request has as properties too.
func creatable(e *schema.Entity, a attributes, name string) (string, error) {
	for n := range a {
		if n == "name" || n == "type" {
			continue
		}
		if attr := e.Attribute(n); attr != nil && !attr.Create && !attr.Own() || n == "identity" {
			return "", badRequest("Cannot set attribute '%s' in CREATE", n)
		}
	}
	if v, ok := a["name"].(string); ok {
		if name != "" && v != name {
			return "", badRequest("Conflicting values for 'name'")
		}
		name = v
	}
	if v, ok := a["type"].(string); ok && schema.ByName(v) != e {
		return "", badRequest("Conflicting values for 'type'")
	}
	delete(a, "type")
	delete(a, "name")
	for n, v := range a {
		if v == nil {
			delete(a, n)
		}
	}
	for _, attr := range e.Attributes {
		if attr.Required && attr.Name != "type" && a[attr.Name] == nil {
			return "", badRequest("Missing required attribute '%s'", attr.Name)
		}
	}
	if name != "" {
		a["name"] = name
	}
	return name, nil
}

// A section is an entity as configuration files have it.
type section struct {
	name       string
	attributes attributes
}

// load has package config check sections, and returns what they mean. The
// router section is that of this router. Warnings about the last section, which
// is what is to be made, are logged and kept for the reply.
func (d *Desk) load(sections ...section) (*config.Config, error) {
	self := d.router.Self()
	doc := [][2]any{{"router", map[string]any{"id": self.ID, "mode": self.Mode}}}
	for _, s := range sections {
		doc = append(doc, [2]any{s.name, s.attributes})
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	c, problems := config.LoadText("request.json", string(b), config.Options{})
	for _, p := range problems {
		if !p.Warning {
			return nil, badRequest("%s", problem(p))
		}
	}
	last, err := json.Marshal(doc[len(doc)-1])
	if err != nil {
		return nil, badRequest("%v", err)
	}
	log := d.router.Logs().Logger(logging.Agent)
	for _, p := range c.Warnings {
		if p.Pos.Column <= len(b)-len(last)-1 { // of another section
			continue
		}
		text := problem(p)
		d.remarks = append(d.remarks, text)
		log.Warn().Str("entity", sections[len(sections)-1].name).Msg("CREATE: " + text)
	}
	return c, nil
}

// problem says what is wrong without the place, which is in no file.
func problem(p config.Problem) string {
	p.Pos = config.Position{}
	return strings.TrimPrefix(strings.TrimPrefix(p.String(), "configuration: "), map[bool]string{false: "error: ", true: "warning: "}[p.Warning])
}

func quotedList(list []string) string { return "['" + strings.Join(list, "', '") + "']" }
