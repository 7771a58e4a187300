package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"sluice/cmd/internal/management"
	"sluice/router/control/schema"
)

func manageCommand() *cli.Command {
	return &cli.Command{
		Name:         "manage",
		Usage:        "query, create, update and delete what a router is made of",
		ArgsUsage:    "OPERATION [NAME | NAME=VALUE]...",
		OnUsageError: usageError,
		Description: "Sends one operation to the management agent of the router at --url, or of another\n" +
			"through it, and prints the answer as JSON. Types need no prefix; address, linkRoute,\n" +
			"autoLink, link and node are known by these names. NAME alone is null.\n\n" +
			"Operations:\n" +
			"   query [TYPE] [NAME...]   entities of a type, or of all types; these attributes, or all\n" +
			"   read                     the entity with --name or --identity, or the only one of --type\n" +
			"   create NAME=VALUE...     an entity of --type\n" +
			"   update NAME=VALUE...     the entity with --name or --identity\n" +
			"   delete                   the same\n" +
			"   get-types, get-attributes, get-operations, get-annotations [TYPE]\n" +
			"   get-mgmt-nodes, get-schema, get-json-schema, get-log [limit=N]\n" +
			"   any other                sent as it is, with NAME=VALUE as properties, and --body\n\n" +
			"Examples:\n" +
			"   sluice manage query --type listener name port\n" +
			"   sluice manage create --type listener --name extra host=127.0.0.1 port=5673\n" +
			"   sluice manage delete --type listener --name extra\n" +
			"   sluice manage create --type address prefix=orders distribution=balanced\n" +
			"   sluice manage update --type log --identity log/SERVER enable=debug+\n" +
			"   sluice manage update --type connection --identity 7 adminStatus=deleted   # close it\n" +
			"   sluice manage create --stdin < addresses.json             # a map, or a list of maps\n" +
			"   sluice manage query --type connector --router B           # of another router",
		Flags: append(append([]cli.Flag{
			&cli.StringFlag{Name: "type", Usage: "entities of `TYPE`: listener, connector, address, link, connection, log …"},
			&cli.StringFlag{Name: "name", Usage: "the entity with `NAME`"},
			&cli.StringFlag{Name: "identity", Usage: "the entity with identity `ID`"},
			&cli.BoolFlag{Name: "stdin", Usage: "read attributes from stdin: a map in JSON, or a list of maps"},
			&cli.StringFlag{Name: "body", Usage: "for other operations: the body, in `JSON`"},
			&cli.StringFlag{Name: "properties", Usage: "for other operations: more properties, a map in `JSON`"},
			&cli.IntFlag{Name: "limit", Usage: "`N` rows or lines at most"},
			&cli.IntFlag{Name: "indent", Value: 2, Usage: "indent JSON by `N`; -1: one line"},
		}, routerFlags()...), connectFlags()...),
		Action: manageAction,
	}
}

// managing is one run of manage.
type managing struct {
	*agents
	operation           string
	arguments           []string
	typ, name, identity string
	stdin               bool
	body, properties    string
	limit               int
	routers, edges      []string
	in                  io.Reader
	out                 *jsonOutput
	stderr              io.Writer
	node                *management.Node
}

// operations are those with a meaning of their own here, and those that only
// have a name.
var operations = []string{
	"query", "read", "create", "update", "delete", "get-types", "get-attributes", "get-operations", "get-annotations",
	"get-mgmt-nodes", "get-schema", "get-json-schema", "get-log",
}

// do does the operation.
func (m *managing) do(ctx context.Context) error {
	switch m.operation {
	case "query":
		return m.query(ctx)
	case "read":
		return m.read(ctx)
	case "create", "update":
		return m.bulk(ctx, strings.ToUpper(m.operation))
	case "delete":
		return m.delete(ctx)
	case "get-types", "get-attributes", "get-operations", "get-annotations":
		return m.ofType(ctx)
	case "get-mgmt-nodes", "get-schema":
		return m.plain(ctx)
	}
	return m.other(ctx)
}

// free tells whether the operation may have properties of any kind.
func (m *managing) free() bool {
	return m.operation == "get-log" || m.operation == "get-json-schema" || !contains(operations, m.operation)
}

func manageAction(c *cli.Context) error {
	if c.NArg() == 0 {
		return usagef("manage needs an OPERATION, such as query; \"sluice manage --help\" lists them")
	}
	a, err := newAgents(c)
	if err != nil {
		return err
	}
	defer a.close()
	m := &managing{
		agents: a, operation: strings.ToLower(c.Args().First()), arguments: c.Args().Tail(),
		typ: management.FullType(c.String("type")), name: c.String("name"), identity: c.String("identity"),
		stdin: c.Bool("stdin"), body: c.String("body"), properties: c.String("properties"), limit: c.Int("limit"),
		routers: c.StringSlice("router"), edges: c.StringSlice("edge"),
		in: os.Stdin, out: &jsonOutput{w: c.App.Writer, indent: c.Int("indent")}, stderr: c.App.ErrWriter,
	}
	if err := m.typeFirst(); err != nil {
		return err
	}
	if err := m.check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return notAnswered(ctx, m.do(ctx))
}

// typeFirst takes the first argument of a query without --type for the type, if it
// is one. Each word that names neither a type nor an attribute of any is a slip.
func (m *managing) typeFirst() error {
	if m.operation != "query" || m.typ != "" || len(m.arguments) == 0 || strings.Contains(m.arguments[0], "=") {
		return nil
	}
	first := m.arguments[0]
	if schema.ByName(management.FullType(first)) != nil {
		m.typ, m.arguments = management.FullType(first), m.arguments[1:]
		return nil
	}
	var types []string
	for _, e := range schema.Entities() {
		types = append(types, e.Name, e.FileName())
		if e.Attribute(first) != nil {
			return nil
		}
	}
	return usagef("%q is neither a type nor an attribute of any type%s; \"sluice manage query --type TYPE NAME...\" asks for attributes of a type", first, didYouMean(first, types))
}

func (m *managing) check() error {
	switch takes := m.operation == "create" || m.operation == "update"; {
	case m.limit < 0:
		return usagef("--limit must not be negative")
	case len(m.routers)+len(m.edges) > 1:
		return usagef("manage asks one router; found %d", len(m.routers)+len(m.edges))
	case m.stdin && !takes:
		return usagef("--stdin is for create and update")
	case m.stdin && len(m.arguments) > 0:
		return usagef("attributes come from stdin or from the command line, not both")
	case !m.free() && (m.body != "" || m.properties != ""):
		return usagef("--body and --properties are for operations that %s is not one of", m.operation)
	}
	return nil
}

// connected connects, and finds the agent that is asked.
func (m *managing) connected(ctx context.Context) error {
	c, err := m.connect(ctx)
	if err != nil {
		return err
	}
	node := m.here(c)
	switch {
	case len(m.routers) > 0:
		node, err = c.Router(m.routers[0]), m.directory.Router(ctx, m.routers[0])
	case len(m.edges) > 0:
		node, err = c.Edge(m.edges[0]), m.directory.Edge(ctx, m.edges[0])
	}
	if err != nil {
		return err
	}
	m.node = node
	return nil
}

// call sends a request to the agent. What the router says of names that it does
// not know is completed by the nearest that it knows.
func (m *managing) call(ctx context.Context, r *management.Request) (*management.Reply, error) {
	if m.node == nil {
		if err := m.connected(ctx); err != nil {
			return nil, err
		}
	}
	reply, err := m.node.Call(ctx, r)
	if err != nil {
		return nil, m.suggest(ctx, r, err)
	}
	return reply, nil
}

func (m *managing) note(format string, args ...any) {
	fmt.Fprintf(m.stderr, "sluice: %s\n", management.Printable(fmt.Sprintf(format, args...)))
}
