package amqp

import "fmt"

// Error is the error type of the spec (§2.8.14): what a close, end, detach or rejected outcome carries.
type Error struct {
	Condition   Condition
	Description string // empty when absent
	Info        []byte // the encoded info map as it is on the wire; nil when absent
}

func (e *Error) Error() string {
	if e.Description == "" {
		return string(e.Condition)
	}
	return string(e.Condition) + ": " + e.Description
}

// Errorf returns an Error with the formatted description.
func Errorf(c Condition, format string, args ...any) *Error {
	return &Error{Condition: c, Description: fmt.Sprintf(format, args...)}
}
