package schema

// Prefix begins the full names of entity types.
const Prefix = "org.apache.qpid.dispatch."

// Kind says where entities of a type come from.
type Kind string

const (
	Abstract    Kind = "abstract"    // only inherited from
	File        Kind = "file"        // may stand in a configuration file
	Nested      Kind = "nested"      // stands inside another entity in a file
	Operational Kind = "operational" // made by the router while it runs
)

// Support says whether sluice acts on an entity type or attribute.
type Support string

const (
	Yes   Support = "yes"   // it has its effect
	Own   Support = "own"   // the same, and it is sluice's own
	Later Support = "later" // recognised and checked, but it has no effect yet
	Never Support = "never" // recognised; Doc says why it has no effect and what to use
	Mesh  Support = "mesh"  // has its effect in networks of routers, which are not there yet
	None  Support = "-"     // the entity says it all, or it is read-only
)

// Type is the type of an attribute.
type Type string

const (
	String     Type = "string"
	Path       Type = "path"
	EntityID   Type = "entityId"
	TypeName   Type = "type"
	Integer    Type = "integer"
	Bytes      Type = "bytes" // an integer that may have a suffix: k, M, G, T, Ki, Mi, Gi, Ti
	Boolean    Type = "boolean"
	Enum       Type = "enum"
	Map        Type = "map"
	List       Type = "list"
	Properties Type = "properties" // a map with ASCII keys
	CoreOnly   Type = "(core only)"
)

// Entity describes an entity type.
type Entity struct {
	Name        string // without Prefix: listener, router.config.address
	Extends     string
	Kind        Kind
	Support     Support
	Singleton   bool
	Referential bool // others refer to it by name
	Deprecated  bool
	Operations  []string
	Doc         string
	Attributes  []*Attribute // inherited ones last

	byName map[string]*Attribute // older spellings too
}

// FullName returns the name with its prefix.
func (e *Entity) FullName() string { return Prefix + e.Name }

// FileName returns the name that e has in a configuration file.
func (e *Entity) FileName() string {
	if e.Kind == Nested {
		return "group" // of a vhost; there is no other
	}
	for short, long := range fileNames {
		if long == e.Name {
			return short
		}
	}
	return e.Name
}

// Attribute returns the attribute with the given name, which may be an older
// spelling, or nil.
func (e *Entity) Attribute(name string) *Attribute { return e.byName[name] }

// Settable returns the names of the attributes that a file may give, in the
// order of the table and without older spellings.
func (e *Entity) Settable() []string {
	var names []string
	for _, a := range e.Attributes {
		if a.Settable() {
			names = append(names, a.Name)
		}
	}
	return names
}

// Attribute describes an attribute of an entity type.
type Attribute struct {
	Entity     string
	Name       string
	Type       Type
	Default    string
	HasDefault bool
	Required   bool
	Unique     bool
	Create     bool     // may be given when the entity is made
	Update     bool     // may be changed later
	Enum       []string // the permitted values, for type Enum
	OldNames   []string // deprecated spellings
	Deprecated bool
	Hidden     bool // must not be shown: a password
	Graph      bool // a value that changes all the time
	DefinedIn  string
	CoreColumn int    // position in answers of the core agent, or -1
	CoreType   string // AMQP type there
	Support    Support
	Min, Max   int64 // permitted range, for types Integer and Bytes
	Doc        string
}

// Own reports whether the attribute is sluice's own.
func (a *Attribute) Own() bool { return a.Support == Own }

// Settable reports whether a file may give the attribute. The name is given,
// identity and type are always derived.
func (a *Attribute) Settable() bool {
	if a.Type == CoreOnly || a.Name == "identity" || a.Name == "type" {
		return false
	}
	// log.module may be neither created nor updated, but must be given;
	// nested and deprecated types have only such attributes.
	return a.Create || a.Update || a.Required || a.Entity == "console" || a.Entity == "vhostUserGroupSettings" ||
		a.Entity == "vhost" && a.Name == "maxMessageSize"
}

// fileNames are the names of entity types in files that differ from their own.
var fileNames = map[string]string{
	"address":   "router.config.address",
	"linkRoute": "router.config.linkRoute",
	"autoLink":  "router.config.autoLink",
	"exchange":  "router.config.exchange",
	"binding":   "router.config.binding",
}

// Entities returns all entity types in the order of the table.
func Entities() []*Entity { return tables.entities }

// ByName returns the entity type with the given name, with or without Prefix,
// or nil.
func ByName(name string) *Entity {
	if len(name) > len(Prefix) && name[:len(Prefix)] == Prefix {
		name = name[len(Prefix):]
	}
	return tables.byName[name]
}

// ByFileName returns the entity type that a section of a file means, or nil.
// Both the short names of files and those of the model are understood.
func ByFileName(name string) *Entity {
	if long, ok := fileNames[name]; ok {
		name = long
	}
	e := ByName(name)
	if e == nil || e.Kind != File {
		return nil
	}
	return e
}

// FileNames returns the names of all sections that a file may have and that are
// good for something.
func FileNames() []string {
	var names []string
	for _, e := range tables.entities {
		if e.Kind == File && e.Support != Never {
			names = append(names, e.FileName())
		}
	}
	return names
}
