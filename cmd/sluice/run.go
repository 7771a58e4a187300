package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"sluice/router/control/config"
	"sluice/router/control/files"
	"sluice/router/control/logging"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name:         "run",
		Usage:        "run a router",
		OnUsageError: usageError,
		Description: "Without --config: a standalone router named after the host, for this machine only,\n" +
			"with AMQP on 127.0.0.1:5672 and HTTP (health, metrics) on 127.0.0.1:8672.\n\n" +
			"A configuration with any mistake does not start; all of them are printed. The log\n" +
			"line \"router ready\" says that all listeners are open; /readyz answers 200 from then\n" +
			"on, and on a router with connectors to others once it has found them, or after ten\n" +
			"seconds.\n\n" +
			"SIGTERM and SIGINT shut down in order, a second one at once. SIGHUP reloads the\n" +
			"configuration and certificates; changed certificate files are noticed without it.\n\n" +
			"Examples:\n" +
			"   sluice run\n" +
			"   sluice run --listen 0.0.0.0:5672 --id gateway\n" +
			"   sluice run -c /etc/qpid-dispatch/qdrouterd.conf\n" +
			"   sluice run -c base.conf -c site.yaml --log-level debug+ --log-format json",
		Flags: append([]cli.Flag{
			&cli.StringSliceFlag{Name: "config", Aliases: []string{"c"}, Usage: "read `FILE` (.conf, .yaml or .json; repeatable)"},
			&cli.StringFlag{Name: "log-format", Value: "console", Usage: "console or json"},
			&cli.StringFlag{Name: "pprof", Usage: "serve Go profiles on `HOST:PORT`, which must be on loopback"},
		}, overrideFlags()...),
		Action: run,
	}
}

func run(c *cli.Context) error {
	// The reader of the log may go away: its lines are lost then, and the router
	// stays. The default of other commands, which is to end, is right for them.
	signal.Ignore(syscall.SIGPIPE)
	if c.NArg() > 0 {
		return usagef("run takes no arguments, found %q; a configuration is given with -c FILE", c.Args().First())
	}
	format, err := logFormat(c.String("log-format"))
	if err != nil {
		return err
	}
	names, overrides := c.StringSlice("config"), overridesOf(c)
	cfg, problems := loadConfig(names, "", overrides)
	if len(problems) > 0 {
		for _, p := range problems {
			fmt.Fprintln(c.App.ErrWriter, p)
		}
		return &statusError{exitFailed, fmt.Errorf("not started: %s in the configuration", plural(problems.Mistakes(), "mistake"))}
	}
	logs := logging.New(logging.Options{
		Format: format, UTC: cfg.Router.TimestampsInUTC, Color: isTerminal(c.App.ErrWriter),
		Stderr: c.App.ErrWriter, Stdout: c.App.Writer, Levels: cfg.LogLevels,
	})
	defer logs.Close()
	if err := logs.Apply(cfg.LogSettings()); err != nil {
		return err
	}
	log := logs.Logger(logging.Router)
	warnAbout(&log, cfg)
	limitMemory(&log, cfg)

	ctx, stop := context.WithCancel(c.Context)
	defer stop()
	if addr := c.String("pprof"); addr != "" {
		if err := serveProfiles(ctx, addr, &log); err != nil {
			return err
		}
	}
	router, err := assemble(cfg, logs)
	if err != nil {
		return err
	}
	sumUp(&log, cfg)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	done := make(chan error, 1)
	go func() { done <- router.Run(ctx) }()
	stopping, current := false, cfg
	for {
		select {
		case err := <-done:
			return err
		case s := <-signals:
			switch {
			case s == syscall.SIGHUP:
				current = reload(names, current, overrides, router, logs)
			case stopping:
				log.Warn().Stringer("signal", s).Msg("second signal: ending at once")
				return quietly(128 + int(s.(syscall.Signal)))
			default:
				logging.Notice(&log).Stringer("signal", s).Stringer("deadline", cfg.Router.ShutdownTimeout).Msg("shutting down")
				stopping = true
				stop()
			}
		}
	}
}

// reload loads the configuration again, and returns what is in force then. With
// a mistake in it everything stays as it is.
func reload(names []string, old *config.Config, overrides config.Overrides, router process, logs *logging.Logs) *config.Config {
	log := logs.Logger(logging.Router)
	for _, name := range names {
		// A pipe that a shell has made has been read already: nothing would come.
		if err := files.Regular(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			log.Error().Err(err).Msg("configuration not reloaded: the old one stays in force")
			return old
		}
	}
	cfg, problems := loadConfig(names, old.Router.ID, overrides)
	if len(problems) > 0 {
		for _, p := range problems {
			if p.Warning {
				warn(&log, p)
			} else {
				log.Error().Msg(p.String())
			}
		}
		log.Error().Int("mistakes", problems.Mistakes()).Msg("configuration not reloaded: the old one stays in force")
		return old
	}
	warnAbout(&log, cfg)
	limitMemory(&log, cfg)
	applied, restart, err := router.Reload(cfg)
	if err != nil {
		log.Error().Err(err).Msg("configuration not reloaded: the old one is in force again")
		return old
	}
	settings, said := logChanges(old, cfg)
	if err := logs.Reload(settings); err != nil {
		log.Error().Err(err).Msg("log settings not reloaded")
	} else {
		applied = append(applied, said...)
		router.LogsChanged()
	}
	for _, unchanged := range restart {
		log.Warn().Msg("needs a restart: " + unchanged)
	}
	sumUp(&log, cfg)
	if applied == nil {
		applied = []string{"nothing has changed"}
		if restart != nil {
			applied = []string{"nothing else has changed"}
		}
	}
	logging.Notice(&log).Msg("configuration reloaded: " + strings.Join(applied, "; "))
	return cfg
}

// logChanges are the settings that a configuration gives to modules of which another
// has said something else, and what to say of that.
func logChanges(old, now *config.Config) (settings []logging.Setting, said []string) {
	for _, c := range config.Changes(old, now) {
		if c.Section != "log" {
			continue
		}
		s := logging.Setting{}
		s.Module, _ = logging.ModuleNamed(c.Name)
		for _, given := range now.LogSettings() {
			if given.Module == s.Module {
				s = given
			}
		}
		settings, said = append(settings, s), append(said, c.String())
	}
	return settings, said
}

func warnAbout(log *zerolog.Logger, cfg *config.Config) {
	for _, p := range cfg.Warnings {
		warn(log, p)
	}
}

func warn(log *zerolog.Logger, p config.Problem) {
	log.Warn().Msg(strings.TrimPrefix(strings.Replace(p.String(), ": warning: ", ": ", 1), "warning: "))
}

// sumUp says at the end what of the configuration has no effect.
func sumUp(log *zerolog.Logger, cfg *config.Config) {
	if s := cfg.NoEffect(); s != "" {
		log.Warn().Msg(s)
	}
}

func logFormat(name string) (logging.Format, error) {
	switch name {
	case "console":
		return logging.Console, nil
	case "json":
		return logging.JSON, nil
	}
	return 0, usagef("--log-format %s is not known; expected console or json", name)
}

// isTerminal reports whether w is a terminal that shows colours.
func isTerminal(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && onTerminal(w)
}

func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
