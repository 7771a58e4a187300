package transport

import (
	"fmt"

	"sluice/amqp"
)

// The type of an error says what ends: the connection, a session or a link.
// All three carry what goes on the wire.

// A ConnError ends the connection.
type ConnError struct{ Wire *amqp.Error }

// A SessionError ends one session.
type SessionError struct{ Wire *amqp.Error }

// A LinkError detaches one link.
type LinkError struct{ Wire *amqp.Error }

func (e *ConnError) Error() string    { return e.Wire.Error() }
func (e *SessionError) Error() string { return e.Wire.Error() }
func (e *LinkError) Error() string    { return e.Wire.Error() }

func connErrorf(c amqp.Condition, format string, args ...any) error {
	return &ConnError{&amqp.Error{Condition: c, Description: fmt.Sprintf(format, args...)}}
}

func sessionErrorf(c amqp.Condition, format string, args ...any) error {
	return &SessionError{&amqp.Error{Condition: c, Description: fmt.Sprintf(format, args...)}}
}

// LinkErrorf makes an error that detaches the link whose handler returns it.
func LinkErrorf(c amqp.Condition, format string, args ...any) error {
	return &LinkError{&amqp.Error{Condition: c, Description: fmt.Sprintf(format, args...)}}
}
