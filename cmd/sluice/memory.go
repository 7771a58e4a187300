package main

import (
	"errors"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/rs/zerolog"

	"sluice/router/control/config"
	"sluice/router/control/schema"
)

// goShare is the part of the memory limit that the Go heap may use. The rest is
// for what the runtime does not count: kernel buffers, the binary, fragments.
const goShare = 0.9

// limitMemory tells the Go runtime and the router how much memory there is:
// router.memoryLimit, or else the limit of the container. GOMEMLIMIT in the
// environment stays in force for the runtime.
func limitMemory(log *zerolog.Logger, cfg *config.Config) {
	if cfg.Router.MemoryLimit == 0 {
		limit, err := memlimit.FromCgroup()
		switch {
		case errors.Is(err, memlimit.ErrNoLimit):
			return
		case err != nil:
			log.Debug().Err(err).Msg("the memory limit of the container is unknown")
			return
		}
		if limit == 0 || limit > 1<<62 {
			return
		}
		cfg.Router.MemoryLimit = int64(limit)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(float64(cfg.Router.MemoryLimit) * goShare))
	}
	log.Info().Str("limit", schema.FormatBytes(cfg.Router.MemoryLimit)).Msg("memory is limited")
}
