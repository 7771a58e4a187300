package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst moves the flags of a command before its other arguments, because
// cli stops looking for flags at the first of those, and "sluice send queue
// --count 3" is what people write. After "--" everything is an argument.
func flagsFirst(app *cli.App, args []string) []string {
	if len(args) > 1 && args[1] == "help" { // "sluice help send"
		args = slices.Concat(args[:1], args[2:min(len(args), 3)], []string{"--help"})
	}
	if len(args) < 3 {
		return args
	}
	command := app.Command(args[1])
	if command == nil {
		return args
	}
	takesValue, mayTake := map[string]bool{}, map[string]bool{}
	for _, f := range command.Flags {
		_, isBool := f.(*cli.BoolFlag)
		_, isOptional := f.(*cli.GenericFlag)
		for _, name := range f.Names() {
			takesValue[name] = !isBool && !isOptional
			mayTake[name] = isOptional
		}
	}
	var flags, rest []string
	for i := 2; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			rest = append(rest, args[i+1:]...)
			break
		}
		name := strings.TrimLeft(arg, "-")
		if name == arg || name == "" { // no flag; "-" alone is an argument
			rest = append(rest, arg)
			continue
		}
		if name == "help" || arg == "-h" { // whatever else there is
			return []string{args[0], args[1], "--help"}
		}
		flags = append(flags, arg)
		switch short := name[:1]; {
		case mayTake[name]:
			if i+1 < len(args) && startsWithDigit(args[i+1]) {
				i++
				flags[len(flags)-1] += "=" + args[i]
			}
		case takesValue[name] && i+1 < len(args):
			i++
			flags = append(flags, args[i])
		case takesValue[name]: // and has none, which cli must see
			return append([]string{args[0], args[1]}, flags...)
		case !strings.HasPrefix(arg, "--") && len(name) > 1 && name[1] != '=' && takesValue[short] && !known(takesValue, name): // -n3
			flags = append(flags[:len(flags)-1], "-"+short, name[1:])
		}
	}
	out := append([]string{args[0], args[1]}, flags...)
	if len(rest) > 0 {
		out = append(append(out, "--"), rest...)
	}
	return out
}

// known reports whether name, which may have a value after "=", is a flag.
func known(flags map[string]bool, name string) bool {
	name, _, _ = strings.Cut(name, "=")
	_, is := flags[name]
	return is
}

// startsWithDigit tells whether an argument is the value of the flag before it,
// which may have one.
func startsWithDigit(arg string) bool { return arg != "" && '0' <= arg[0] && arg[0] <= '9' }
