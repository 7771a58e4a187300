package harness

import "fmt"

// names are those of the routers of plans.
const names = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Interior returns interior routers named A, B, C, …
func Interior(n int) []Node {
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i].Name = names[i : i+1]
	}
	return nodes
}

// Line is a plan of routers in a row. Each but the first connects to the one
// before it: B-A, C-B, …
func Line(n int) Plan {
	p := Plan{Nodes: Interior(n)}
	for i := 1; i < n; i++ {
		p.Trunks = append(p.Trunks, Trunk{From: names[i : i+1], To: names[i-1 : i]})
	}
	return p
}

// Pair is a plan of two routers; B connects to A.
func Pair() Plan { return Line(2) }

// Ring is a plan of n routers in a circle: B-A, C-B, …, and the last to the
// first.
func Ring(n int) Plan {
	p := Line(n)
	p.Trunks = append(p.Trunks, Trunk{From: names[n-1 : n], To: names[:1]})
	return p
}

// Full is a plan of n routers, each connected to each: B-A, C-A, C-B, …
func Full(n int) Plan {
	p := Plan{Nodes: Interior(n)}
	for i := 1; i < n; i++ {
		for j := range i {
			p.Trunks = append(p.Trunks, Trunk{From: names[i : i+1], To: names[j : j+1]})
		}
	}
	return p
}

// Triangle is a plan of three routers, each connected to each.
func Triangle() Plan { return Full(3) }

// WithEdge adds an edge router with uplinks to some routers, in the order of
// preference.
func (p Plan) WithEdge(name string, uplinks ...string) Plan {
	p.Nodes = append(append([]Node(nil), p.Nodes...), Node{Name: name, Edge: true})
	p.Trunks = append([]Trunk(nil), p.Trunks...)
	for _, to := range uplinks {
		p.Trunks = append(p.Trunks, Trunk{From: name, To: to})
	}
	return p
}

// RingWithEdges is the plan of a ring of four with an edge router at two sides:
// E1 at A, E2 at C.
func RingWithEdges() Plan { return Ring(4).WithEdge("E1", "A").WithEdge("E2", "C") }

// Distribution is the entity that gives addresses a distribution.
func Distribution(prefix, distribution string) string {
	return fmt.Sprintf("address {\n prefix: %s\n distribution: %s\n}\n", prefix, distribution)
}
