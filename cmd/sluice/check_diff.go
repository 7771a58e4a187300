package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"sluice/cmd/internal/management"
	"sluice/router/control/config"
	"sluice/router/control/schema"
)

// diffSections are what a running router tells of its configuration, by the
// names in files.
var diffSections = []string{"router", "sslProfile", "listener", "connector", "address", "log"}

// undiffed are attributes that a router does not tell, or tells only in other words
// than a file: a difference in them says nothing.
var undiffed = []string{"saslPassword", "password", "passwordFile", "ingressPhase", "egressPhase", "workerThreads", "openProperties"}

// checkDiff prints what a reload of the files would do to the router at url.
func checkDiff(c *cli.Context, cfg *config.Config) error {
	options, err := connection(c)
	if err != nil {
		return err
	}
	options.URL = c.String("diff")
	a := &agents{options: options, timeout: management.DefaultTimeout}
	defer a.close()
	text, managed, err := runningConfig(c.Context, a)
	if err != nil {
		return notAnswered(c.Context, err)
	}
	running, problems := config.LoadText("running.json", text, config.Options{ID: cfg.Router.ID, Elsewhere: true})
	if running == nil {
		return fmt.Errorf("the configuration of the running router is not understood: %v", problems)
	}
	lines := planned(running, cfg, managed)
	if lines == nil {
		lines = []planLine{}
	}
	if c.Bool("json") {
		return writeJSON(c.App.Writer, diffReport{Problems: orNone(cfg.Warnings), Changes: lines})
	}
	printPlan(c.App.Writer, lines)
	return nil
}

// diffReport is what check --diff --json prints.
type diffReport struct {
	Problems config.Problems `json:"problems"`
	Changes  []planLine      `json:"changes"`
}

// runningConfig writes the configuration of the router down as a file in JSON, and
// returns what management has made (+), changed (~) and removed (-) of it.
func runningConfig(ctx context.Context, a *agents) (text string, managed []string, err error) {
	client, err := a.connect(ctx)
	if err != nil {
		return "", nil, err
	}
	var doc []any
	for _, section := range diffSections {
		entity := schema.ByFileName(section)
		q := management.Query{Type: entity.FullName()}
		for page, err := range q.Run(ctx, a.here(client)) {
			if err != nil {
				return "", nil, err
			}
			for _, row := range page.Rows {
				if at := page.Column("managed"); section == "router" && at >= 0 {
					list, _ := row[at].([]any)
					for _, e := range list {
						managed = append(managed, fmt.Sprint(e))
					}
				}
				if given := settings(entity, page.Attributes, row); given != nil {
					doc = append(doc, []any{section, given})
				}
			}
		}
	}
	b, err := json.Marshal(doc)
	return string(b), managed, err
}

// settings are the attributes of an entity that a file would give; nil if it says
// nothing.
func settings(e *schema.Entity, names []string, row []any) map[string]any {
	given := map[string]any{}
	for i, name := range names {
		at := e.Attribute(name)
		if at == nil || !at.Settable() || at.Hidden || at.Deprecated || i >= len(row) || row[i] == nil || slices.Contains(undiffed, name) {
			continue
		}
		v := management.Plain(row[i])
		text := fmt.Sprint(v)
		generated := name == "name" && strings.HasPrefix(text, strings.TrimPrefix(e.FileName(), "router.config.")+"/")
		empty := text == "" || !at.HasDefault && (text == "0" || text == "-1" || text == "false")
		if generated || empty || at.HasDefault && text == at.Default {
			continue
		}
		given[name] = v
	}
	if e.Name == "log" && len(given) <= 1 {
		return nil // a module about which nothing was said
	}
	return given
}

// A planLine is one thing that a reload would do.
type planLine struct {
	Sign string `json:"sign"` // + comes, - goes, ~ changes, ! needs a restart, = stays as management has it
	What string `json:"what"` // such as listener extra
	Text string `json:"text,omitempty"`
}

// planned says what leads from one configuration to another. What management has
// made or removed stays so.
func planned(running, cfg *config.Config, managed []string) (lines []planLine) {
	add := func(sign, what, text string) { lines = append(lines, planLine{sign, what, text}) }
	for _, change := range config.Changes(running, cfg) {
		change.Attributes = slices.DeleteFunc(change.Attributes, func(name string) bool { return slices.Contains(undiffed, name) })
		what := strings.TrimSpace(change.Section + " " + change.Name)
		switch rest, needsRestart := change.Restart(); {
		case change.Added && contains(managed, "- "+what):
			add("=", what, "removed over management; a reload makes it only if the file says something else of it than when it was last read")
		case change.Added:
			add("+", what, "")
		case change.Attributes == nil && contains(managed, "+ "+what):
			add("=", what, "made over management; a reload leaves it, and the end of the process removes it")
		case change.Attributes == nil && change.Section == "address" && drift(managed, what) != nil:
			add("=", what, "made over management instead of another; a reload leaves it, and the end of the process removes it")
		case change.Attributes == nil:
			add("-", what, "")
		case len(change.Attributes) == 0:
		case within(change.Attributes, drift(managed, what)):
			add("=", what, strings.Join(change.Attributes, ", ")+": changed over management; a reload changes it back only if the file says something else of it than when it was last read")
		case change.Section == "router":
			live := slices.DeleteFunc(slices.Clone(change.Attributes), func(name string) bool { return slices.Contains(rest.Attributes, name) })
			if len(live) > 0 {
				add("~", what, strings.Join(live, ", "))
			}
			if needsRestart {
				add("!", what, strings.Join(rest.Attributes, ", ")+": needs a restart")
			}
		case change.Section == "address" || change.Section == "log":
			add("~", what, strings.Join(change.Attributes, ", "))
		default:
			add("~", what, strings.Join(change.Attributes, ", ")+": it is made again")
		}
	}
	return lines
}

// drift returns the attributes of an entity of files that management has changed.
func drift(managed []string, what string) []string {
	for _, line := range managed {
		if attributes, is := strings.CutPrefix(line, "~ "+what+": "); is {
			return strings.Split(attributes, ", ")
		}
	}
	return nil
}

// within tells whether all of a list are in another.
func within(list, of []string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(of, s) })
}

// printPlan prints it.
func printPlan(w io.Writer, lines []planLine) {
	if len(lines) == 0 {
		fmt.Fprintln(w, "nothing would change")
	}
	for _, l := range lines {
		text := l.What
		if l.Text != "" {
			text += ": " + l.Text
		}
		fmt.Fprintln(w, l.Sign, text)
	}
}

// diffFlags are those that say how to reach the running router.
func diffFlags() []cli.Flag {
	return slices.DeleteFunc(connectFlags(), func(f cli.Flag) bool { return slices.Contains(f.Names(), "url") })
}
