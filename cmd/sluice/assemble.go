package main

import (
	"context"

	"sluice/router"
	"sluice/router/control/config"
	"sluice/router/control/logging"
)

// process is what run does with a router.
type process interface {
	// Run blocks until ctx is done and the router has shut down in order.
	Run(ctx context.Context) error
	// Reload puts a new configuration in force and says what has changed by
	// that, and what needs a restart.
	Reload(*config.Config) (applied, restart []string, err error)
	// LogsChanged is told when levels of logs have changed.
	LogsChanged()
}

// assemble makes a router. Tests of signals replace it.
var assemble = func(cfg *config.Config, logs *logging.Logs) (process, error) {
	return router.New(router.Options{Config: cfg, Logs: logs, Version: versionText()})
}
