package main

import (
	"errors"
	"fmt"

	"sluice/cmd/internal/client"
)

// Exit statuses. They are part of the interface: scripts test them.
const (
	exitOK         = 0
	exitFailed     = 1 // the command failed; for check: there are mistakes
	exitUsage      = 2 // the command line is wrong
	exitConnection = 3 // no connection, or it was lost
	exitMessages   = 4 // messages were lost, not accepted, out of order, or late
)

// statusError is an error with the exit status that it leads to. An empty text
// means that everything was said already.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *statusError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, args...)}
}

func messagesf(format string, args ...any) error {
	return &statusError{exitMessages, fmt.Errorf(format, args...)}
}

// quietly ends with a status and without another word.
func quietly(status int) error { return &statusError{status: status} }

// lost is a connection, session or link that ended before its time.
func lost(err error) error { return &statusError{exitConnection, client.Explain(err)} }

func statusOf(err error) int {
	var s *statusError
	if errors.As(err, &s) {
		return s.status
	}
	var c *client.Error
	if errors.As(err, &c) {
		if c.Usage {
			return exitUsage
		}
		return exitConnection
	}
	return exitFailed
}
