package config

import (
	"crypto/rand"
	"time"

	"sluice/router/control/schema"
)

// builder turns checked entities into a Config.
type builder struct {
	*reporter
	config *Config
	files  []string            // in the order of the command line
	names  map[string]Position // "entity name" of every name seen
	router *entity             // the router entity, once seen
	once   map[string]Position // singletons seen

	defaultID string // see Options.ID
	elsewhere bool   // see Options.Elsewhere

	generated bool // the router's id was made up

	profiles []reference // uses of sslProfiles
	joins    []join      // roles that join routers
}

// add adds an entity to the Config.
func (b *builder) add(e *entity) {
	if e.schema.Singleton {
		if first, twice := b.once[e.schema.Name]; twice {
			b.mistake(e.pos, "one "+e.schema.FileName(), "", "%s was already given on %s", e.schema.FileName(), refer(e.pos, first))
			return
		}
		if b.once == nil {
			b.once = map[string]Position{}
		}
		b.once[e.schema.Name] = e.pos
	}
	b.checkName(e)
	switch e.schema.Name {
	case "router":
		b.addRouter(e)
	case "listener":
		b.addListener(e)
	case "connector":
		b.addConnector(e)
	case "sslProfile":
		b.addSSLProfile(e)
	case "router.config.address":
		b.addAddress(e)
	case "log":
		b.addLog(e)
	case "vhost":
		b.checkGroups(e)
	}
}

// finish adds what every Config has.
func (b *builder) finish() {
	if b.router == nil {
		b.addRouter(&entity{schema: schema.ByName("router"), given: map[string]*given{}})
	}
}

// checkName reports a name that an entity of the same type has already.
func (b *builder) checkName(e *entity) {
	name := e.text("name")
	if name == "" {
		return
	}
	key := e.schema.Name + " " + name
	if first, twice := b.names[key]; twice {
		pos := e.posOf("name")
		b.mistake(pos, "a name of its own", "", "%s %s was already given on %s", e.schema.FileName(), quoted(name), refer(pos, first))
		return
	}
	b.names[key] = e.posOf("name")
}

// seconds returns an attribute that is a number of seconds.
func seconds(e *entity, name string) time.Duration {
	return time.Duration(e.num(name, 0)) * time.Second
}

// oneOf returns the value of an enum attribute, as T.
func oneOf[T ~string](e *entity, name string) T { return T(e.text(name)) }

// randomSuffix returns what makes a generated id unlikely to be taken.
func randomSuffix() string { return rand.Text()[:15] }
