package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/cmd/internal/client"
	"sluice/cmd/internal/management"
	"sluice/cmd/internal/stat"
)

func statCommand() *cli.Command {
	var views strings.Builder
	for _, v := range stat.Views {
		fmt.Fprintf(&views, "   %-17s %s\n", v.Name, v.About)
	}
	return &cli.Command{
		Name:         "stat",
		Usage:        "show what a router has: connections, links, addresses, memory, log",
		ArgsUsage:    "[VIEW [PATTERN]]",
		OnUsageError: usageError,
		Description: "Asks the router at --url, or others through it, and prints a table that fits the\n" +
			"terminal. A PATTERN chooses by name: a part of it, or all of it with * and ?.\n" +
			"With --watch, counters have their rate since the last look beside them.\n" +
			"Exit status 4 if a router did not answer; the others are shown.\n\n" +
			"Views:\n" + views.String() + "\n" +
			"Examples:\n" +
			"   sluice stat                              # the router as a whole\n" +
			"   sluice stat links --stuck                # what waits, for what, for whom, and how long\n" +
			"   sluice stat connections --sort in --limit 10\n" +
			"   sluice stat addresses 'orders.*' --watch 1\n" +
			"   sluice stat nodes --router B             # the mesh as B sees it\n" +
			"   sluice stat general --all                # each router of the mesh\n" +
			"   sluice stat log --watch --all            # follow all logs\n" +
			"   sluice stat links --json | jq 'select(.deliveriesStuck > 0)'",
		Flags: append(append([]cli.Flag{
			&cli.BoolFlag{Name: "stuck", Usage: "with links: those that wait, with what each stage holds and whom they wait for"},
			&cli.BoolFlag{Name: "wide", Aliases: []string{"w"}, Usage: "all columns, and nothing cut off"},
			&cli.StringFlag{Name: "sort", Usage: "sort by `COLUMN`, numbers from the largest"},
			&cli.BoolFlag{Name: "reverse", Usage: "the other way round"},
			&cli.StringFlag{Name: "filter", Usage: "show those whose names match `PATTERN`"},
			&cli.IntFlag{Name: "limit", Usage: "show `N` rows at most"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON, one object a line, with all attributes"},
			&cli.GenericFlag{Name: "watch", Value: &interval{}, Usage: "look again every `SECONDS` (default 2)"},
			&cli.BoolFlag{Name: "all", Usage: "ask all routers of the mesh"},
		}, statAliases()...), append(routerFlags(), connectFlags()...)...),
		Action: statAction,
	}
}

// statAliases are what qdstat calls the views.
func statAliases() []cli.Flag {
	var flags []cli.Flag
	for _, v := range []struct{ name, short string }{
		{"general", "g"}, {"connections", "c"}, {"links", "l"}, {"addresses", "a"}, {"nodes", "n"}, {"edges", "e"}, {"memory", "m"}, {"log", ""},
	} {
		f := &cli.BoolFlag{Name: v.name, Usage: "the same as VIEW " + v.name, Hidden: true}
		if v.short != "" {
			f.Aliases = []string{v.short}
		}
		flags = append(flags, f)
	}
	return flags
}

// interval is the value of --watch, which may be left out.
type interval struct{ d time.Duration }

// IsBoolFlag lets the flag stand without a value.
func (i *interval) IsBoolFlag() bool { return true }
func (i *interval) String() string   { return "" }

func (i *interval) Set(s string) error {
	d, err := parseInterval(s)
	if err != nil {
		return err
	}
	i.d = d
	return nil
}

func parseInterval(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if n, numErr := strconv.ParseFloat(s, 64); numErr == nil {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	switch {
	case s == "true": // there was no value
		return stat.DefaultInterval, nil
	case err != nil:
		return 0, errors.New("expected seconds, or a duration")
	case d < stat.MinInterval || d > 24*time.Hour:
		return 0, fmt.Errorf("expected from %v to a day", stat.MinInterval)
	}
	return d, nil
}

// statOptions returns what to show.
func statOptions(c *cli.Context) (o stat.Options, err error) {
	args := c.Args().Slice()
	for _, f := range statAliases() {
		if name := f.Names()[0]; c.Bool(name) {
			args = append([]string{name}, args...)
		}
	}
	if len(args) == 0 {
		args = []string{"general"}
	}
	v, near := stat.Find(args[0])
	switch {
	case v == nil && near != "":
		return o, usagef("there is no view %q; did you mean %s?", args[0], near)
	case v == nil:
		return o, usagef("there is no view %q; \"sluice stat --help\" lists them", args[0])
	case len(args) > 2:
		return o, usagef("stat needs a VIEW and a PATTERN at most, found %q, too", args[2])
	case c.Bool("stuck") && v.Name != "links":
		return o, usagef("--stuck is of links: sluice stat links --stuck")
	case c.Bool("stuck"):
		v = stat.Stuck
	}
	o = stat.Options{
		View: v, Wide: c.Bool("wide"), JSON: c.Bool("json"), Sort: c.String("sort"), Reverse: c.Bool("reverse"),
		Filter: c.String("filter"), Limit: c.Int("limit"),
		Named: c.Bool("all") || len(c.StringSlice("router"))+len(c.StringSlice("edge")) > 1,
	}
	if len(args) == 2 {
		if o.Filter != "" {
			return o, usagef("there are two patterns, %q and %q", o.Filter, args[1])
		}
		o.Filter = args[1]
	}
	if o.Limit < 0 {
		return o, usagef("--limit must not be negative")
	}
	if c.Bool("all") && len(c.StringSlice("router")) > 0 {
		return o, usagef("--all and --router exclude each other")
	}
	if err := o.Check(); err != nil {
		return o, usagef("%w", err)
	}
	return o, nil
}

func statAction(c *cli.Context) error {
	o, err := statOptions(c)
	if err != nil {
		return err
	}
	a, err := newAgents(c)
	if err != nil {
		return err
	}
	defer a.close()
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s := &statRun{agents: a, routers: c.StringSlice("router"), edges: c.StringSlice("edge"), all: c.Bool("all"), stderr: c.App.ErrWriter}
	width, _, terminal := screen(c.App.Writer)
	if every := c.Generic("watch").(*interval).d; every > 0 {
		w := &stat.Watch{Options: o, Interval: every, Out: c.App.Writer, Routers: s.find, Lost: s.lost, Note: s.note}
		if terminal {
			w.Screen = func() (int, int) {
				width, height, _ := screen(c.App.Writer)
				return width, height
			}
		}
		return notAnswered(ctx, w.Run(ctx))
	}
	o.Width = width
	routers, err := s.find(ctx)
	if err != nil {
		return notAnswered(ctx, err)
	}
	look := &stat.Look{Options: o, Out: c.App.Writer}
	if err := look.Run(ctx, routers); err != nil {
		return notAnswered(ctx, err)
	}
	for _, n := range look.Notes {
		s.note(n)
	}
	for _, err := range look.Failed {
		s.note(err.Error())
	}
	if len(look.Failed) > 0 {
		return quietly(exitMessages)
	}
	return nil
}

// statRun finds the routers that are to be asked.
type statRun struct {
	*agents
	routers, edges []string
	all            bool
	stderr         io.Writer
	connected      bool // at least once
}

func (s *statRun) note(text string) {
	fmt.Fprintf(s.stderr, "sluice: %s\n", management.Printable(text))
}

// find returns the routers that are to be asked.
func (s *statRun) find(ctx context.Context) ([]stat.Router, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	ids := s.routers
	if s.all {
		if ids, err = management.Routers(ctx, s.here(c)); err != nil {
			return nil, err
		}
	}
	var list []stat.Router
	for _, id := range ids {
		var err error
		if !s.all {
			err = s.directory.Router(ctx, id)
		}
		list = append(list, stat.Router{ID: id, Node: orMissing(c.Router(id), err)})
	}
	for _, id := range s.edges {
		list = append(list, stat.Router{ID: id, Node: orMissing(c.Edge(id), s.directory.Edge(ctx, id))})
	}
	if len(ids) == 0 && (len(s.edges) == 0 || s.all) {
		id, err := s.id(ctx, c)
		if err != nil {
			return nil, err
		}
		list = append([]stat.Router{{ID: id, Node: s.here(c)}}, list...)
	}
	s.connected = true
	return list, nil
}

// orMissing returns a node, or if there is none what says so: others are shown.
func orMissing(n *management.Node, err error) management.Caller {
	if err != nil {
		return missing{err}
	}
	return n
}

// missing is a router that there is not.
type missing struct{ err error }

func (m missing) Call(context.Context, *management.Request) (*management.Reply, error) {
	return nil, m.err
}

// lost tells whether a watch goes on after an error: once there was a connection,
// it does.
func (s *statRun) lost(err error) bool {
	var refused *management.StatusError
	var none *management.NoAnswer
	var unknown *management.Unknown
	var bad *client.Error
	switch {
	case !s.connected, errors.As(err, &bad) && bad.Usage:
		return false
	case errors.As(err, &refused):
		return false
	case errors.As(err, &none), errors.As(err, &unknown):
		return true
	}
	s.close()
	return true
}
