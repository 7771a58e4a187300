package address

// Class says what kind of thing an address names. Its value is the first
// letter of the key, which routers also exchange among themselves.
type Class byte

const (
	Mobile      Class = 'M' // reachable wherever its destinations are attached
	Local       Class = 'L' // inside this router
	Topological Class = 'T' // inside every router of the network
	Router      Class = 'R' // everything inside one other router
	Area        Class = 'A' // everything inside another area (never routed)
	Edge        Class = 'H' // everything inside an edge router behind this one
)

// String returns the word for c, for logs.
func (c Class) String() string {
	switch c {
	case Mobile:
		return "mobile"
	case Local:
		return "local"
	case Topological:
		return "topological"
	case Router:
		return "router"
	case Area:
		return "area"
	case Edge:
		return "edge"
	case 0:
		return "none"
	}
	return "class " + string(rune(c))
}

// Phases of mobile addresses. Ordinary addresses use PhaseDefault; waypoints
// use several digits; PhaseFallback is the address of last resort.
const (
	PhaseDefault  byte = '0'
	PhaseFallback byte = 'F'
)

// Uplink is where an edge router sends everything that it cannot resolve.
var Uplink = Address{Class: Local, Text: "_edge"}

// Address is a parsed address. It is comparable and may be used as a map key.
// The zero Address names nothing.
type Address struct {
	Class Class
	Phase byte   // '0' to '9' or 'F' for Mobile, otherwise 0
	Text  string // what follows class and phase in the key; borrowed from Parse's argument
}

// IsZero reports whether a is the zero Address.
func (a Address) IsZero() bool { return a == Address{} }

// Key returns the key: class, phase if mobile, text.
func (a Address) Key() string {
	return string(a.AppendKey(make([]byte, 0, 2+len(a.Text))))
}

// AppendKey appends the key of a to b.
func (a Address) AppendKey(b []byte) []byte {
	if a.Class == 0 {
		return b
	}
	b = append(b, byte(a.Class))
	if a.Phase != 0 {
		b = append(b, a.Phase)
	}
	return append(b, a.Text...)
}

// String returns the key, for logs.
func (a Address) String() string { return a.Key() }

// WithPhase returns a in the given phase if it is mobile, otherwise a itself.
func (a Address) WithPhase(phase byte) Address {
	if a.Class == Mobile {
		a.Phase = phase
	}
	return a
}

// WithSpace returns a inside the address space of a tenant, which is usually a
// vhost name. Only mobile addresses belong to tenants.
func (a Address) WithSpace(space string) Address {
	if a.Class == Mobile && space != "" {
		a.Text = space + "/" + a.Text
	}
	return a
}

// ParseKey is the inverse of [Address.Key]. It reports false for text that is
// not a key that this package makes.
func ParseKey(key string) (Address, bool) {
	if key == "" {
		return Address{}, false
	}
	switch c := Class(key[0]); c {
	case Mobile:
		if len(key) < 2 || !validPhase(key[1]) {
			return Address{}, false
		}
		return Address{Class: c, Phase: key[1], Text: key[2:]}, true
	case Local, Topological, Router, Area, Edge:
		return Address{Class: c, Text: key[1:]}, true
	}
	return Address{}, false
}

func validPhase(b byte) bool { return b >= '0' && b <= '9' || b == PhaseFallback }
