package logging

import "fmt"

// Module names a part of the router that logs. Its levels are set by a log
// entity of the same name.
type Module uint8

const (
	Default Module = iota // gives its settings to modules without their own
	Router
	RouterCore
	RouterHello
	RouterLS
	RouterMA
	Message
	Server
	Agent
	AuthService
	Container
	ErrorModule
	Policy
	HTTP
	ConnMgr
	Python
	Protocol
	numModules
)

var moduleNames = [numModules]string{
	"DEFAULT", "ROUTER", "ROUTER_CORE", "ROUTER_HELLO", "ROUTER_LS", "ROUTER_MA", "MESSAGE", "SERVER", "AGENT",
	"AUTHSERVICE", "CONTAINER", "ERROR", "POLICY", "HTTP", "CONN_MGR", "PYTHON", "PROTOCOL",
}

// String returns the name of m as the module attribute spells it.
func (m Module) String() string {
	if m < numModules {
		return moduleNames[m]
	}
	return fmt.Sprintf("module %d", uint8(m))
}

// ModuleNamed returns the module with the given name.
func ModuleNamed(name string) (Module, bool) {
	for m, n := range moduleNames {
		if n == name {
			return Module(m), true
		}
	}
	return 0, false
}

// ModuleNames returns the names of all modules.
func ModuleNames() []string { return append([]string(nil), moduleNames[:]...) }
