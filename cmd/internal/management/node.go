package management

import (
	"context"
	"fmt"
	"strings"
)

// Local is the address of the agent of the router at the other end.
const Local = "$management"

// A Node is a router that can be asked.
type Node struct {
	Name    string // for people: the router, router A
	Address string
	client  *Client
}

// Node returns the node with an address.
func (c *Client) Node(name, address string) *Node { return &Node{name, address, c} }

// Router returns the router with an id, which may be anywhere in the network.
func (c *Client) Router(id string) *Node {
	return c.Node("router "+id, "_topo/0/"+id+"/"+Local)
}

// Edge returns the edge router with an id.
func (c *Client) Edge(id string) *Node {
	return c.Node("edge router "+id, "_edge/"+id+"/"+Local)
}

// Call sends a request and returns the reply. A request that has failed is a
// [StatusError]; no answer in time is a [NoAnswer].
func (n *Node) Call(ctx context.Context, r *Request) (*Reply, error) { return n.client.call(ctx, n, r) }

// A Caller is what a request can be sent to: a Node.
type Caller interface {
	Call(ctx context.Context, r *Request) (*Reply, error)
}

// Routers returns the ids of all interior routers of the network; none if the
// router is alone.
func Routers(ctx context.Context, c Caller) ([]string, error) {
	r, err := c.Call(ctx, &Request{Operation: "GET-MGMT-NODES"})
	if err != nil {
		return nil, err
	}
	list, ok := r.Body.([]any)
	if !ok && r.Body != nil {
		return nil, fmt.Errorf("GET-MGMT-NODES was answered with a %T; expected a list", r.Body)
	}
	var ids []string
	for _, e := range list {
		address, _ := e.(string)
		_, id, found := strings.Cut(address, "_topo/0/")
		id, ends := strings.CutSuffix(id, "/"+Local)
		if found && ends && id != "" {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
