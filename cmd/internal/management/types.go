package management

import (
	"strings"

	"sluice/router/control/schema"
)

// shortTypes are the names that the tools of Qpid Dispatch have for some types.
var shortTypes = map[string]string{"link": "router.link", "node": "router.node"}

// FullType returns the full name of an entity type, of which the prefix may be
// missing, or which may be the name of a section of a configuration file. A name
// that is not known is completed if it has no dot; the router has the last word.
func FullType(name string) string {
	if full := shortTypes[name]; full != "" {
		name = full
	}
	e := schema.ByName(name)
	if e == nil {
		e = schema.ByFileName(name)
	}
	switch {
	case e != nil:
		return e.FullName()
	case name == "" || strings.Contains(name, "."):
		return name
	}
	return schema.Prefix + name
}

// ShortType returns the name of a type without its prefix.
func ShortType(name string) string { return strings.TrimPrefix(name, schema.Prefix) }
