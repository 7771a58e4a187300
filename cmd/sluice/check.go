package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/router/control/config"
	"sluice/router/control/schema"
)

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:         "check",
		Usage:        "find the mistakes in a configuration and say what it would run",
		ArgsUsage:    "FILE...",
		OnUsageError: usageError,
		Description: "Reads the files as run would, with all certificates and users, and starts nothing.\n" +
			"Mistakes and warnings go to stderr, one a line, with file, line and column; what\n" +
			"would run goes to stdout. Exit status 1 if there is a mistake.\n\n" +
			"Examples:\n" +
			"   sluice check /etc/qpid-dispatch/qdrouterd.conf\n" +
			"   sluice check base.conf site.yaml        # as: sluice run -c base.conf -c site.yaml\n" +
			"   sluice check --json router.conf | jq .problems\n" +
			"   sluice check --diff amqp://127.0.0.1:5672 router.conf   # what a reload would do there",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
			&cli.StringFlag{Name: "diff", Usage: "say what a reload of the files would change at the router that runs at `URL`: + comes, - goes, ~ changes, ! needs a restart, = stays as management has made it"},
		}, diffFlags()...),
		Action: check,
	}
}

func check(c *cli.Context) error {
	if c.NArg() == 0 {
		return usagef("check needs the name of a configuration file")
	}
	cfg, problems := config.Load(c.Args().Slice(), config.Options{})
	if cfg != nil {
		problems = cfg.Warnings
	}
	if c.String("diff") != "" && cfg != nil {
		if !c.Bool("json") {
			for _, p := range problems {
				fmt.Fprintln(c.App.ErrWriter, p)
			}
		}
		return checkDiff(c, cfg)
	}
	if c.Bool("json") {
		if err := writeCheckJSON(c.App.Writer, cfg, problems); err != nil {
			return err
		}
	} else {
		for _, p := range problems {
			fmt.Fprintln(c.App.ErrWriter, p)
		}
		if cfg != nil {
			summarize(c.App.Writer, cfg)
		}
	}
	if n := problems.Mistakes(); n > 0 {
		return &statusError{exitFailed, errors.New(plural(n, "mistake"))}
	}
	return nil
}

// checkReport is what check --json prints.
type checkReport struct {
	OK         bool            `json:"ok"`
	Problems   config.Problems `json:"problems"`
	Router     string          `json:"router,omitempty"`
	Listeners  []string        `json:"listeners,omitempty"`
	Connectors []string        `json:"connectors,omitempty"`
	Addresses  []string        `json:"addresses,omitempty"`
}

func writeCheckJSON(w io.Writer, cfg *config.Config, problems config.Problems) error {
	r := checkReport{OK: cfg != nil, Problems: orNone(problems)}
	if cfg != nil {
		r.Router = cfg.Router.ID
		for i := range cfg.Listeners {
			r.Listeners = append(r.Listeners, listenerLine(&cfg.Listeners[i]))
		}
		for i := range cfg.Connectors {
			r.Connectors = append(r.Connectors, connectorLine(&cfg.Connectors[i]))
		}
		for i := range cfg.Addresses {
			r.Addresses = append(r.Addresses, addressLine(&cfg.Addresses[i]))
		}
	}
	return writeJSON(w, r)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// orNone returns an empty list for none, which JSON shows as one.
func orNone(problems config.Problems) config.Problems {
	if problems == nil {
		return config.Problems{}
	}
	return problems
}

// summarize says in a few lines what cfg would run.
func summarize(w io.Writer, cfg *config.Config) {
	fmt.Fprintf(w, "router %s (%s)\n", cfg.Router.ID, cfg.Router.Mode)
	for i := range cfg.Listeners {
		fmt.Fprintf(w, "  listen on %s\n", listenerLine(&cfg.Listeners[i]))
	}
	for i := range cfg.Connectors {
		fmt.Fprintf(w, "  connect to %s\n", connectorLine(&cfg.Connectors[i]))
	}
	for i := range cfg.Addresses {
		fmt.Fprintf(w, "  address %s\n", addressLine(&cfg.Addresses[i]))
	}
	fmt.Fprintf(w, "  other addresses: %s\n", cfg.Router.DefaultDistribution)
	if s := cfg.NoEffect(); s != "" {
		fmt.Fprintf(w, "  %s\n", s)
	}
}

func listenerLine(l *config.Listener) string {
	what := []string{"AMQP"}
	if l.HTTP {
		what = []string{"HTTP"}
	}
	switch {
	case l.SSLProfile != "" && (l.RequireSSL || l.HTTP):
		what = append(what, "TLS by "+l.SSLProfile)
	case l.SSLProfile != "":
		what = append(what, "TLS by "+l.SSLProfile+" or plain")
	}
	if l.AuthenticatePeer {
		what = append(what, "authenticated")
	}
	if l.Role != config.RoleNormal {
		what = append(what, "role "+string(l.Role))
	}
	if !l.HTTP {
		what = append(what, "session "+schema.FormatBytes(l.SessionBytes), "link "+schema.FormatBytes(l.LinkBytes))
	}
	return l.Address() + ": " + strings.Join(what, ", ")
}

func connectorLine(c *config.Connector) string {
	what := []string{"AMQP"}
	if c.SSLProfile != "" {
		what = append(what, "TLS by "+c.SSLProfile)
	}
	if c.SASLUsername != "" {
		what = append(what, "user "+c.SASLUsername)
	}
	if c.Role != config.RoleNormal {
		what = append(what, "role "+string(c.Role))
	}
	return c.Address() + ": " + strings.Join(what, ", ")
}

func addressLine(a *config.Address) string {
	what := []string{string(a.Distribution)}
	if a.Redeliver {
		what = append(what, "redeliver")
	}
	if a.UnsettledTimeout > 0 {
		what = append(what, "unsettled for at most "+a.UnsettledTimeout.String())
	}
	if a.MulticastPatience > 0 {
		what = append(what, "patience "+a.MulticastPatience.Round(time.Second).String())
	}
	return a.Match.String() + ": " + strings.Join(what, ", ")
}
