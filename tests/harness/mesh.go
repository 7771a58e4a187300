package harness

import (
	"fmt"
	"strings"
	"testing"
)

// A Plan says which routers there are and how they are connected.
type Plan struct {
	// Nodes are started in this order. A router should come after those that
	// it connects to, which are then there at its first attempt.
	Nodes  []Node
	Trunks []Trunk
	// Entities are added to the configuration of every router.
	Entities string
	// Listener is attributes of the listeners for clients, one a line.
	Listener string
	// Between is attributes of the listeners for routers, one a line.
	Between string
	// Proxied puts a Proxy into every trunk.
	Proxied bool
	Options []Option
}

// A Node is a router of a Plan.
type Node struct {
	Name     string
	ID       string // of the router; "": the name
	Edge     bool
	Entities string
}

// A Trunk is a connection from a router to an interior one. From an edge router
// it is an uplink.
type Trunk struct {
	From, To string
	Name     string // of the connector; "": From-To
	Cost     int    // 0: 1
	Proxied  bool
}

func (k Trunk) name() string {
	if k.Name != "" {
		return k.Name
	}
	return k.From + "-" + k.To
}

// A Mesh is a set of routers that run as processes, each with ports of its own
// that it keeps when it is started again.
type Mesh struct {
	t       testing.TB
	plan    Plan
	nodes   map[string]*node
	proxies map[string]*Proxy // by name of the trunk
}

type node struct {
	Node
	clients, routers, edges int // ports
	*Binary
}

// StartMesh starts the routers of a plan; they may not have found each other
// when it returns.
func StartMesh(t testing.TB, p Plan) *Mesh {
	t.Helper()
	m := Prepare(t, p)
	for _, n := range p.Nodes {
		m.Start(n.Name)
	}
	return m
}

// Prepare makes what the routers of a plan need without starting any.
func Prepare(t testing.TB, p Plan) *Mesh {
	t.Helper()
	m := &Mesh{t: t, plan: p, nodes: map[string]*node{}, proxies: map[string]*Proxy{}}
	for _, n := range p.Nodes {
		if n.ID == "" {
			n.ID = n.Name
		}
		x := &node{Node: n, clients: FreePort(t)}
		if !n.Edge {
			x.routers, x.edges = FreePort(t), FreePort(t)
		}
		m.nodes[n.Name] = x
	}
	for _, k := range p.Trunks {
		if p.Proxied || k.Proxied {
			m.proxies[k.name()] = StartProxy(t, loopback(m.port(k)))
		}
	}
	return m
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// port is where a trunk leads.
func (m *Mesh) port(k Trunk) int {
	if m.nodes[k.From].Edge {
		return m.nodes[k.To].edges
	}
	return m.nodes[k.To].routers
}

// Config is the configuration of a router.
func (m *Mesh) Config(name string) string {
	n := m.nodes[name]
	mode := "interior"
	if n.Edge {
		mode = "edge"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "router {\n mode: %s\n id: %s\n}\n", mode, n.ID)
	fmt.Fprintf(&b, "listener {\n host: 127.0.0.1\n port: %d\n%s\n}\n", n.clients, m.plan.Listener)
	fmt.Fprint(&b, "listener {\n host: 127.0.0.1\n port: 0\n http: yes\n}\n")
	if !n.Edge {
		fmt.Fprintf(&b, "listener {\n role: inter-router\n host: 127.0.0.1\n port: %d\n%s\n}\n", n.routers, m.plan.Between)
		if m.edges() {
			fmt.Fprintf(&b, "listener {\n role: edge\n host: 127.0.0.1\n port: %d\n%s\n}\n", n.edges, m.plan.Between)
		}
	}
	for _, k := range m.plan.Trunks {
		if k.From != name {
			continue
		}
		role := "inter-router"
		if n.Edge {
			role = "edge"
		}
		at := loopback(m.port(k))
		if p := m.proxies[k.name()]; p != nil {
			at = p.Addr()
		}
		host, port, _ := strings.Cut(at, ":")
		fmt.Fprintf(&b, "connector {\n name: %s\n role: %s\n host: %s\n port: %s\n cost: %d\n}\n", k.name(), role, host, port, max(k.Cost, 1))
	}
	return b.String() + m.plan.Entities + "\n" + n.Entities
}

func (m *Mesh) edges() bool {
	for _, n := range m.plan.Nodes {
		if n.Edge {
			return true
		}
	}
	return false
}

// Start starts a router, for the first time or again.
func (m *Mesh) Start(name string) *Binary {
	m.t.Helper()
	m.nodes[name].Binary = Start(m.t, m.Config(name), m.plan.Options...)
	return m.nodes[name].Binary
}

// Router is the process that runs under a name now.
func (m *Mesh) Router(name string) *Binary { return m.nodes[name].Binary }

// Names are the names of all routers, in the order of the plan.
func (m *Mesh) Names() []string {
	var names []string
	for _, n := range m.plan.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// Only is the mesh as if it had these routers alone. It shares them.
func (m *Mesh) Only(names ...string) *Mesh {
	part := *m
	part.plan.Nodes = nil
	part.nodes = map[string]*node{}
	for _, name := range names {
		part.plan.Nodes = append(part.plan.Nodes, m.nodes[name].Node)
		part.nodes[name] = m.nodes[name]
	}
	part.plan.Trunks = nil
	for _, k := range m.plan.Trunks {
		if part.nodes[k.From] != nil && part.nodes[k.To] != nil {
			part.plan.Trunks = append(part.plan.Trunks, k)
		}
	}
	return &part
}

// Addr is where clients of a router connect.
func (m *Mesh) Addr(name string) string { return loopback(m.nodes[name].clients) }

// Between is where other routers connect to one.
func (m *Mesh) Between(name string) string { return loopback(m.nodes[name].routers) }

// Proxy is the proxy in a trunk, known by the name of its connector.
func (m *Mesh) Proxy(trunk string) *Proxy {
	m.t.Helper()
	p := m.proxies[trunk]
	if p == nil {
		m.t.Fatalf("no proxy in %s", trunk)
	}
	return p
}

// Ends are the names of trunks that touch a router.
func (m *Mesh) Ends(name string) []string {
	var list []string
	for _, k := range m.plan.Trunks {
		if k.From == name || k.To == name {
			list = append(list, k.name())
		}
	}
	return list
}
