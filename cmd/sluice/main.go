package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"sluice/router/control/schema"
)

func main() { os.Exit(sluice(os.Args, os.Stdout, os.Stderr)) }

// sluice runs a command line and returns the exit status.
func sluice(args []string, stdout, stderr io.Writer) int {
	app := newApp(stdout, stderr)
	args, err := modern(app, args)
	if err == nil {
		err = app.RunContext(context.Background(), flagsFirst(app, args))
	}
	if err == nil {
		return exitOK
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(stderr, "sluice: %s\n", text)
	}
	return statusOf(err)
}

func newApp(stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:  "sluice",
		Usage: "AMQP 1.0 message router",
		Description: "Exit status: 0 all went well, 1 the command failed, 2 wrong usage, 3 no connection,\n" +
			"4 a link or messages were refused, lost or late, or a router did not answer.\n" +
			"\"sluice COMMAND --help\" has examples.",
		Writer:          stdout,
		ErrWriter:       stderr,
		HideVersion:     true,
		HideHelpCommand: true,
		ExitErrHandler:  func(*cli.Context, error) {}, // main does it
		OnUsageError:    usageError,
		Commands: []*cli.Command{
			runCommand(), checkCommand(), sendCommand(), receiveCommand(), benchCommand(),
			statCommand(), manageCommand(), versionCommand(),
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return unknownCommand(c.App, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, c := range app.Commands {
		c.HideHelpCommand = true // help and h may be addresses
	}
	return app
}

func unknownCommand(app *cli.App, name string) error {
	var names []string
	for _, c := range app.Commands {
		names = append(names, c.Name)
	}
	if near := schema.Nearest(name, names); near != "" {
		return usagef("unknown command %q; did you mean %s?", name, near)
	}
	return usagef("unknown command %q; expected one of %s", name, strings.Join(names, ", "))
}

// usageError replaces the default, which prints the whole help after every
// slip.
func usageError(c *cli.Context, err error, _ bool) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		name = strings.TrimLeft(name, "-")
		var known []string
		for _, f := range flagsOf(c) {
			known = append(known, f.Names()...)
		}
		if near := schema.Nearest(name, known); near != "" {
			return usagef("unknown option %s; did you mean %s?", dashes(name), dashes(near))
		}
		return usagef("unknown option %s; see \"sluice %s --help\"", dashes(name), c.Command.Name)
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return usagef("%s needs a value: %s", dashes(strings.TrimLeft(name, "-")), valueWords(c, strings.TrimLeft(name, "-")))
	}
	if m := invalidValue.FindStringSubmatch(text); m != nil {
		return usagef("%s %s: expected %s", dashes(m[2]), m[1], valueWords(c, m[2]))
	}
	return usagef("%s", text)
}

// invalidValue is what package flag says of a value that it cannot parse.
var invalidValue = regexp.MustCompile(`^invalid (?:boolean )?value "(.*)" for (?:flag )?-([-\w]+): `)

// dashes returns the name of an option as it is typed.
func dashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// valueWords says what an option takes.
func valueWords(c *cli.Context, name string) string {
	for _, f := range flagsOf(c) {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		switch f.(type) {
		case *cli.DurationFlag:
			return "a duration such as 5s or 1m30s"
		case *cli.IntFlag:
			return "an integer"
		case *cli.Float64Flag:
			return "a number"
		case *cli.GenericFlag:
			return "seconds, or a duration such as 500ms"
		case *cli.BoolFlag:
			return "no value, or true or false after ="
		}
	}
	return "text"
}

func flagsOf(c *cli.Context) []cli.Flag {
	if c.Command != nil && len(c.Command.Flags) > 0 {
		return c.Command.Flags
	}
	return c.App.Flags
}
