package config

import (
	"crypto/rand"
	"slices"
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

	next Position // where the section ends that is being added; zero if with the file

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

// flawed tells whether there is a mistake in the section that is being added: what it
// does not say may be what was meant.
func (b *builder) flawed(e *entity) bool {
	return slices.ContainsFunc(b.mistakes, func(p Problem) bool {
		return p.Pos.File == e.pos.File && !before(p.Pos, e.pos) && (b.next.Line == 0 || before(p.Pos, b.next))
	})
}

func before(a, b Position) bool { return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column }

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
