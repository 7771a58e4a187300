// Package logging sets up the logs of the process: one zerolog logger for each
// module, with levels, output and format that can change while it runs.
//
//	Logger(SERVER) ─► gate of SERVER: level mask, flags ─► sink ─► stderr
//	Logger(POLICY) ─► gate of POLICY: level mask, flags ─┘   (shared by name)
//
// Modules and levels are those of Qpid Dispatch, so that log entities of an
// existing configuration keep their meaning. "notice" and "critical", which
// zerolog does not have, are written with [Notice] and [Critical].
//
// A sink never holds up who logs: it queues lines in memory, up to a limit, and
// a goroutine writes them. Messages that peers can provoke also have a
// [Throttle]. [Logs.Close] writes what is left.
//
// Loggers are values: pass them on, with fields for connection, session and
// link added once. A message that is not enabled costs an atomic load of the
// gate and no allocation. Code that must prepare something first asks
// [Logs.Enabled], which is that one load.
package logging
