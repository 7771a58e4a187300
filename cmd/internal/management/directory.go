package management

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/router/control/schema"
)

// An Unknown error says that there is no router with an id, as far as the router
// at the other end knows.
type Unknown struct {
	Kind  string // router, edge router
	ID    string
	Known []string // some of those that there are
	Hint  string   // what to do instead, if that can be said
}

func (u *Unknown) Error() string {
	text := fmt.Sprintf("there is no %s %s", u.Kind, u.ID)
	switch known := u.Known; {
	case len(known) > maxNamed:
		text += fmt.Sprintf("; known: %s and %d more", strings.Join(known[:maxNamed], ", "), len(known)-maxNamed)
	case len(known) > 0:
		text += "; known: " + strings.Join(known, ", ")
	default:
		text += "; none is known"
	}
	// An id of a letter or two is near to every other.
	if near := schema.Nearest(u.ID, u.Known); near != "" && u.Hint == "" && len(u.ID) > 2 {
		return text + "; did you mean " + near + "?"
	}
	if u.Hint != "" {
		text += "; " + u.Hint
	}
	return text
}

const (
	// maxNamed is how many routers an error names.
	maxNamed = 10
	// edgePrefix begins the keys of the addresses of edge routers.
	edgePrefix = "H"
)

// A Directory knows which routers there are: it asks the router at the other
// end, which an edge router asks of the interior router that it is connected to.
// Routers that do not say are believed to know all.
type Directory struct {
	client *Client
	here   Caller

	looked   bool
	err      error // no answer
	id, mode string
	knows    Caller   // who knows the network
	routers  []string // interior routers, or the one that is alone
}

// Directory returns the directory of the router at the other end.
func (c *Client) Directory(here Caller) *Directory { return &Directory{client: c, here: here} }

// look asks who is at the other end, and what it knows. It asks once.
func (d *Directory) look(ctx context.Context) error {
	if d.looked {
		return d.err
	}
	d.looked, d.knows = true, d.here
	row, err := first(ctx, d.here, "router", func(map[string]any) bool { return true }, "id", "mode")
	if err != nil || row == nil {
		var none *NoAnswer
		if errors.As(err, &none) {
			d.err = err
		}
		d.knows = nil
		return d.err
	}
	d.id, _ = row["id"].(string)
	d.mode, _ = row["mode"].(string)
	if d.mode == "edge" {
		d.knows = nil
		up, err := first(ctx, d.here, "connection", func(c map[string]any) bool {
			return c["role"] == "edge" && c["dir"] == "out" && c["active"] != false
		}, "container", "role", "dir", "active")
		if id, _ := up["container"].(string); err == nil && id != "" {
			d.knows = d.client.Router(id)
		}
	}
	if d.knows == nil {
		return nil
	}
	if d.routers, err = Routers(ctx, d.knows); err != nil {
		d.knows = nil // it does not say
		return nil
	}
	if len(d.routers) == 0 {
		d.routers = []string{d.id}
	}
	return nil
}

// Router returns an Unknown error if there is no interior router with an id.
func (d *Directory) Router(ctx context.Context, id string) error {
	if err := d.look(ctx); err != nil || d.knows == nil || id == d.id || slices.Contains(d.routers, id) {
		return err
	}
	u := &Unknown{Kind: "router", ID: id, Known: d.routers}
	if is, err := d.hasEdge(ctx, id); is && err == nil {
		u.Hint = fmt.Sprintf("%s is an edge router: use --edge %s", id, id)
	}
	return u
}

// Edge returns an Unknown error if there is no edge router with an id.
func (d *Directory) Edge(ctx context.Context, id string) error {
	if err := d.look(ctx); err != nil || d.knows == nil || id == d.id && d.mode == "edge" {
		return err
	}
	is, err := d.hasEdge(ctx, id)
	if is || err != nil {
		return nil // or it does not say
	}
	u := &Unknown{Kind: "edge router", ID: id}
	if slices.Contains(d.routers, id) {
		u.Hint = fmt.Sprintf("%s is no edge router: use --router %s", id, id)
	}
	q := Query{Type: schema.Prefix + "router.address", Attributes: []string{"key"}, Limit: DefaultPage}
	for page, err := range q.Run(ctx, d.knows) {
		if err != nil {
			break
		}
		for _, o := range page.Objects() {
			key, _ := o.Map()["key"].(string)
			if edge, is := strings.CutPrefix(key, edgePrefix); is {
				u.Known = append(u.Known, edge)
			}
		}
	}
	return u
}

// hasEdge asks whether the network has an edge router with an id: each has an
// address.
func (d *Directory) hasEdge(ctx context.Context, id string) (bool, error) {
	_, err := d.knows.Call(ctx, &Request{Operation: "READ", Type: schema.Prefix + "router.address", Identity: edgePrefix + id})
	var refused *StatusError
	if errors.As(err, &refused) && refused.Code == 404 {
		return false, nil
	}
	return err == nil, err
}

// first returns the first entity of a type that is meant, or nil.
func first(ctx context.Context, c Caller, typ string, meant func(map[string]any) bool, attributes ...string) (map[string]any, error) {
	for page, err := range (Query{Type: schema.Prefix + typ, Attributes: attributes}).Run(ctx, c) {
		if err != nil {
			return nil, err
		}
		for _, o := range page.Objects() {
			if m := o.Map(); meant(m) {
				return m, nil
			}
		}
	}
	return nil, nil
}
