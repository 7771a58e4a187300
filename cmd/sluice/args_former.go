package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
)

// former are options of qdstat and qdmanage by what they are called here. A value
// is put after prefix.
var former = map[string]struct{ name, prefix string }{
	"-b":                             {"--url", ""},
	"--bus":                          {"--url", ""},
	"--ssl-certificate":              {"--cert", ""},
	"--ssl-key":                      {"--key", ""},
	"--ssl-trustfile":                {"--cacert", ""},
	"--ssl-password":                 {"--key-password", ""},
	"--ssl-password-file":            {"--key-password", "file:"},
	"--ssl-disable-peer-name-verify": {"--no-hostname", ""},
	"--sasl-mechanisms":              {"--sasl", ""},
	"--sasl-username":                {"--user", ""},
	"--sasl-password":                {"--password", ""},
	"--sasl-password-file":           {"--password", "file:"},
	"--all-routers":                  {"--all", ""},
	"--verbose":                      {"--wide", ""},
	"-v":                             {"--wide", ""},
}

// notHere are options of the programs before, by command, that have no counterpart.
var notHere = map[string]map[string]string{
	"stat": {
		"--linkroutes":   "there are no link routes",
		"--autolinks":    "there are no auto-links",
		"--vhosts":       "there are no policies",
		"--vhostgroups":  "there are no policies",
		"--vhoststats":   "there are no policies",
		"--policy":       "there are no policies",
		"-p":             "there are no policies",
		"--csv":          "there is no CSV; --json prints a line for each row",
		"--all-entities": "there is one VIEW at a time; \"sluice stat config\" shows all that is configured",
	},
	"run": {
		"-d":        "sluice run stays in the foreground; a unit of systemd (deploy/sluice.service), or & in a shell, puts it elsewhere",
		"--daemon":  "sluice run stays in the foreground; a unit of systemd (deploy/sluice.service), or & in a shell, puts it elsewhere",
		"-P":        "there is no file with the process id; what starts sluice run knows it",
		"--pidfile": "there is no file with the process id; what starts sluice run knows it",
		"-U":        "sluice run does not change its user; what starts it chooses (User= in a unit of systemd)",
		"--user":    "sluice run does not change its user; what starts it chooses (User= in a unit of systemd)",
		"-I":        "there are no files to include: leave it out",
		"--include": "there are no files to include: leave it out",
	},
}

// modern returns a command line in which options of qdrouterd, qdstat and qdmanage
// have the names that they have here, or says what is not there.
func modern(app *cli.App, args []string) ([]string, error) {
	if len(args) > 1 && (args[1] == "-c" || args[1] == "--config" || strings.HasPrefix(args[1], "--config=")) {
		args = slices.Insert(slices.Clone(args), 1, "run") // as qdrouterd -c FILE
	}
	if len(args) > 1 {
		if _, is := notHere["run"][args[1]]; is {
			args = slices.Insert(slices.Clone(args), 1, "run")
		}
	}
	if len(args) < 3 {
		return args, nil
	}
	command := app.Command(args[1])
	if command == nil {
		return args, nil
	}
	tools := command.Name == "stat" || command.Name == "manage"
	if !tools && command.Name != "run" {
		return args, nil
	}
	out, secure := slices.Clone(args[:2]), false
	for i := 2; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			out = append(out, args[i:]...)
			break
		}
		name, value, given := strings.Cut(arg, "=")
		if text := notHere[command.Name][name]; text != "" {
			return nil, usagef("%s: %s", name, text)
		}
		now, is := former[name]
		switch takes := tools && valued(command, name); {
		case !is || !tools || has(command, name):
			out = append(out, arg)
			if takes && !given && i+1 < len(args) { // a value that may look like an option
				i++
				out = append(out, seconds(command, name, args[i]))
			} else if takes && given {
				out[len(out)-1] = name + "=" + seconds(command, name, value)
			}
			continue
		case !valued(command, now.name):
			out = append(out, now.name)
		case !given && i+1 == len(args):
			return nil, usagef("%s needs a value", name)
		default:
			if !given {
				i++
				value = args[i]
			}
			if now.name == "--sasl" {
				value = mechanism(value)
			}
			out = append(out, now.name+"="+now.prefix+value)
		}
		secure = secure || strings.HasPrefix(name, "--ssl-")
	}
	if secure { // HOST:PORT is encrypted, as with those programs
		for i, arg := range out {
			if url, is := strings.CutPrefix(arg, "--url="); is && !strings.Contains(url, "://") {
				out[i] = "--url=amqps://" + url
			}
		}
	}
	return out, nil
}

// flagOf returns the option of a command with a name as it is typed.
func flagOf(c *cli.Command, name string) cli.Flag {
	for _, f := range c.Flags {
		for _, n := range f.Names() {
			if name == dashes(n) {
				return f
			}
		}
	}
	return nil
}

// has tells whether a command has an option with this name.
func has(c *cli.Command, name string) bool { return flagOf(c, name) != nil }

// valued tells whether an option has a value in the next argument, if not after "=".
func valued(c *cli.Command, name string) bool {
	switch flagOf(c, name).(type) {
	case nil, *cli.BoolFlag, *cli.GenericFlag:
		return false
	}
	return true
}

// seconds gives a number without a unit, where a duration is wanted, that of seconds.
func seconds(c *cli.Command, name, value string) string {
	if _, is := flagOf(c, name).(*cli.DurationFlag); is {
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return value + "s"
		}
	}
	return value
}

// mechanism chooses from a list of SASL mechanisms the strongest that there is here.
func mechanism(list string) string {
	given := strings.FieldsFunc(strings.ToLower(list), func(c rune) bool { return c == ' ' || c == ',' })
	for _, name := range []string{"external", "plain", "anonymous"} {
		if slices.Contains(given, name) {
			return name
		}
	}
	return list
}
