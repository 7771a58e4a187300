package main

import (
	"github.com/urfave/cli/v2"

	"sluice/router/control/config"
)

// loadConfig loads the files, or the default configuration if there are none.
// id is the router id where the files give none; empty: generate one.
func loadConfig(files []string, id string, o config.Overrides) (*config.Config, config.Problems) {
	opts := config.Options{ID: id, Overrides: o}
	if len(files) == 0 {
		return config.LoadDefault(opts)
	}
	return config.Load(files, opts)
}

// overrideFlags are the flags that change a configuration.
func overrideFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "listen", Usage: "listen for AMQP on `HOST:PORT` instead (repeatable)"},
		&cli.StringFlag{Name: "http", Usage: "listen for HTTP on `HOST:PORT` instead; none: nowhere"},
		&cli.StringFlag{Name: "id", Usage: "use `ID` as the router id"},
		&cli.StringFlag{Name: "log-level", Usage: "log `LEVELS` of all modules, such as debug+ or info,error"},
	}
}

func overridesOf(c *cli.Context) config.Overrides {
	return config.Overrides{
		Listen: c.StringSlice("listen"), HTTP: c.String("http"), ID: c.String("id"), LogLevel: c.String("log-level"),
	}
}
