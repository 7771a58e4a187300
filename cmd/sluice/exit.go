package main

import (
	"context"
	"errors"
	"fmt"

	"sluice/cmd/internal/client"
)

// Exit statuses. They are part of the interface: scripts test them.
const (
	exitOK         = 0
	exitFailed     = 1 // the command failed otherwise; for check: there are mistakes
	exitUsage      = 2 // the command line is wrong
	exitConnection = 3 // no connection, or it was lost
	exitMessages   = 4 // a link or messages were refused; messages were lost, out of order, or late; a router did not answer
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

// failed is what ended a connection, session or link before its time.
func failed(f *client.Failure) error {
	status := map[client.Kind]int{client.Lost: exitConnection, client.Refused: exitMessages}[f.Kind]
	if status == 0 {
		status = exitFailed
	}
	return &statusError{status, f}
}

// notAttached says why there is no link, unless the user has had enough.
func notAttached(ctx context.Context, err error, address string) error {
	if ctx.Err() != nil {
		return messagesf("interrupted before there was a link to %q", address)
	}
	return failed(client.ExplainAttach(err, address))
}

// plural returns "1 message" and "2 messages".
func plural[N int | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

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
